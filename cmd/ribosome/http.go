package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/runtime/observe/console"
	"github.com/ribosome-agents/ribosome/runtime/observe/telemetry"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// The bounds of the operator's interface.
const (
	httpHeaderTime  = 10 * time.Second // for the header of a request
	httpAnswerTime  = time.Minute      // for an answer; a stream of events extends it, and a cancellation takes 30 s of it at most
	httpIdleTime    = 2 * time.Minute
	httpHeaderBytes = 64 << 10
)

// observers are what watches a node for its operator.
type observers struct {
	recorder  *observe.Recorder
	telemetry *telemetry.Telemetry
	server    atomic.Pointer[wire.Server] // nil until the node has it
	metrics   http.Handler
	exports   *exports // nil without --otlp
}

// observe begins to record, to count and to trace what happens on the node, as the flags say.
func (p *endpoint) observe(ctx context.Context, c *nodeCmd) (err error) {
	if c.HTTP == "" && c.OTLP == "" {
		return nil
	}
	w := &observers{}
	if w.exports, err = c.otlpFlags.open(ctx, c.Name, p.log); err != nil {
		return err
	}
	p.observers = w // also after an error below: close ends the parts that have begun
	o := telemetry.Options{Sessions: w.sessions}
	if w.exports != nil {
		o.Tracers = w.exports.provider
		if c.OTLPContent {
			o.FailureText = observe.NewMask(c.masks()).Text
		}
	}
	if o.Meters, err = w.measure(p.log, c.HTTP != ""); err != nil {
		return err
	}
	if w.telemetry, err = telemetry.New(p.node, o); err != nil || c.HTTP == "" {
		return err
	}
	w.recorder, err = observe.New(p.node, observe.Options{Conversations: c.RecordConversations, Bytes: int(c.RecordBytes), Mask: c.masks()})
	return err
}

// sessions returns how many sessions are open.
func (w *observers) sessions() int {
	if server := w.server.Load(); server != nil {
		return server.Counts().Open
	}
	return 0
}

// measure returns the provider of the metrics: for scrapes, for a collector, or for both.
func (w *observers) measure(log *slog.Logger, scraped bool) (metric.MeterProvider, error) {
	var options []sdkmetric.Option
	if w.exports != nil {
		options = w.exports.measured()
	}
	if scraped {
		registry := prometheus.NewRegistry()
		exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutTargetInfo(), otelprometheus.WithoutScopeInfo())
		if err != nil {
			return nil, err
		}
		options = append(options, sdkmetric.WithReader(exporter))
		w.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)})
	}
	provider := sdkmetric.NewMeterProvider(options...)
	if w.exports != nil {
		return provider, w.exports.count(provider.Meter("github.com/ribosome-agents/ribosome/cmd/ribosome"))
	}
	return provider, nil
}

// close ends the observation, and returns a text about each kind of telemetry of which a part was
// not exported. On nil it does nothing.
func (w *observers) close(ctx context.Context) (lost []string) {
	if w == nil {
		return nil
	}
	if w.recorder != nil {
		w.recorder.Close()
	}
	if w.telemetry != nil {
		w.telemetry.Close()
	}
	if w.exports != nil {
		lost = w.exports.close(ctx)
	}
	return lost
}

// operatorHTTP is the listener of the operator's interface.
type operatorHTTP struct {
	socket net.Listener
	server *http.Server
	cancel func()        // ends the streams and the requests that wait
	done   chan struct{} // closed when the server has ended
}

// openHTTP opens the listener of the operator's interface. The node stops when ctx ends: then it is
// not ready any more.
func (c *nodeCmd) openHTTP(ctx context.Context, p *endpoint, addr string, config *tls.Config) (acceptor, error) {
	permits, err := c.permits()
	if err != nil {
		return nil, err
	}
	var agents []string // where they connect
	for _, l := range p.listeners {
		agents = append(agents, l.url)
	}
	handler, err := api.New(api.Options{
		Listeners: agents,
		Node:      p.node, Recorder: p.observers.recorder, Metrics: p.observers.metrics, Console: console.New(), Auth: p.server.Options().Auth,
		Permits: permits, Draining: func() bool { return p.draining(ctx) }, Peers: p.otherNodes, Drain: p.peers.Drain, Approvals: p.approvals, Logger: p.log, PeerTLS: peerTLS(config),
	})
	if err != nil {
		return nil, err
	}
	socket := p.operators
	if socket == nil {
		if socket, err = net.Listen("tcp", addr); err != nil {
			return nil, err
		}
	}
	waiting, end := context.WithCancel(context.WithoutCancel(ctx))
	cancel := func() {
		end()
		handler.Close()
	}
	o := &operatorHTTP{socket, &http.Server{
		Handler: handler, TLSConfig: config, ReadHeaderTimeout: httpHeaderTime, WriteTimeout: httpAnswerTime, IdleTimeout: httpIdleTime,
		MaxHeaderBytes: httpHeaderBytes, ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return waiting },
	}, cancel, make(chan struct{})}
	api.Limit(o.server, c.MaxHTTP)
	go func() {
		defer close(o.done)
		serve := o.server.Serve
		if config != nil {
			serve = func(l net.Listener) error { return o.server.ServeTLS(l, "", "") } // the certificate is in config
		}
		if err := serve(socket); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the operator's interface has ended", "err", err)
		}
	}()
	return o, nil
}

// peerTLS returns what checks the certificates of other nodes: the authorities of --client-ca, or
// those of the system.
func peerTLS(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	return &tls.Config{RootCAs: config.ClientCAs, MinVersion: config.MinVersion}
}

// otherNodes returns the other nodes of the cluster, with the addresses that they announce.
func (p *endpoint) otherNodes() (all []api.Peer) {
	for _, m := range p.node.Members() {
		if m.Name != p.node.Name() {
			all = append(all, api.Peer{Node: m.Name, URL: m.Labels[httpLabel]})
		}
	}
	return all
}

// permits returns a function that reports whether an operator has a right by the rules of --rules.
// Without rules it returns nil, which gives all rights to each authenticated operator. With
// --no-auth it returns nil, too.
func (c *nodeCmd) permits() (func(wire.Identity, auth.Right) bool, error) {
	switch {
	case c.readOnly():
		return func(_ wire.Identity, right auth.Right) bool { return right == auth.RightRead }, nil
	case c.NoAuth:
		return nil, nil
	}
	rules, err := c.rules()
	if rules == nil || err != nil {
		return nil, err
	}
	return rules.Operator()
}

// draining reports whether the node is about to stop, or hands over its agents.
func (p *endpoint) draining(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-p.peers.Drained():
		return true
	default:
	}
	for _, m := range p.node.Members() {
		if m.Name == p.node.Name() {
			return m.Leaving
		}
	}
	return false
}

// Addr returns the address of the listener.
func (o *operatorHTTP) Addr() net.Addr { return o.socket.Addr() }

// Stop ends the streams and the requests that wait, and lets the others be answered until ctx ends.
func (o *operatorHTTP) Stop(ctx context.Context) error {
	o.cancel()
	err := o.server.Shutdown(ctx)
	if err != nil {
		_ = o.server.Close() // err is the reason
	}
	<-o.done
	return err
}
