package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

const (
	maxHeaderBytes = 32 << 10         // of a request, including a token
	headerTime     = 10 * time.Second // for reading a request and for writing its answer
)

// Listener accepts connections for a server on a port. Its methods are safe for concurrent
// use.
type Listener struct {
	handler        *handler
	network        net.Listener
	http           *http.Server
	serving        chan struct{} // closed when the HTTP server has stopped accepting
	withoutSession sync.WaitGroup
	handshakes     sockets.Connections // those without a session
}

// Listen starts to accept connections for server. The server's MaxConnections bounds the
// number of sessions and, separately, the number of connections without a session. Up to 128
// connections beyond the second bound get the answer 503, further ones are closed without an
// answer. The caller must stop the listener.
func Listen(server *wire.Server, o Options) (*Listener, error) {
	h, err := newHandler(server, o)
	if err != nil {
		return nil, err
	}
	if o.Addr == "" {
		return nil, errors.New("ws: Options.Addr is empty: want host:port")
	}
	network, err := sockets.Listen(o.Addr, server.Options().Logger)
	if err != nil {
		return nil, fmt.Errorf("ws: %w", err)
	}
	return serve(h, network), nil
}

// serve accepts connections from network.
func serve(h *handler, network net.Listener) *Listener {
	o := h.server.Options()
	requestTime := min(headerTime, o.Limits.FrameTime)
	l := &Listener{handler: h, network: network, serving: make(chan struct{})}
	l.handshakes.Most = o.MaxConnections
	l.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: requestTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      headerTime + o.AuthTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         l.connState,
		ConnContext:       l.handshakes.Context,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	l.http.SetKeepAlivesEnabled(false) // a refused peer must connect again, so that each attempt counts against AcceptRate
	if h.opts.TLS != nil {
		network = tls.NewListener(network, onlyHTTP1(h.opts.TLS))
	}
	go func() {
		defer close(l.serving)
		_ = l.http.Serve(network) // returns ErrServerClosed or the error of the port
	}()
	return l
}

// onlyHTTP1 returns a configuration without HTTP/2, because HTTP/2 connections cannot be
// upgraded.
func onlyHTTP1(c *tls.Config) *tls.Config { return sockets.Harden(c, "http/1.1") }

// connState counts the connections without a session.
func (l *Listener) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.withoutSession.Add(1)
	case http.StateHijacked, http.StateClosed:
		defer l.withoutSession.Done()
	case http.StateActive, http.StateIdle:
	}
	l.handshakes.State(c, state)
}

// Addr returns the address of the port.
func (l *Listener) Addr() net.Addr { return l.network.Addr() }

// URL returns the URL for [Dial] on this host.
func (l *Listener) URL() string {
	scheme := "ws"
	if l.handler.opts.TLS != nil {
		scheme = "wss"
	}
	host := l.Addr().String()
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		host = fmt.Sprintf("localhost:%d", a.Port)
	}
	return scheme + "://" + host + l.handler.opts.Path
}

// Stop stops accepting and closes the connections without a session. It blocks until all
// goroutines of the listener have ended; when ctx ends first, it returns the cause. Sessions
// continue: [wire.Server.Stop] ends them, before or after. Stop is idempotent.
func (l *Listener) Stop(ctx context.Context) error {
	_ = l.http.Close() // the error is that of the port or of a connection, and does not matter
	if err := sockets.Join(ctx, l.join); err != nil {
		return fmt.Errorf("ws: stop: %w", err)
	}
	return nil
}

// join waits for the goroutines of the listener.
func (l *Listener) join() {
	<-l.serving
	_ = l.http.Close() // closes connections accepted since Stop
	l.withoutSession.Wait()
	l.handler.pending.Wait()
}
