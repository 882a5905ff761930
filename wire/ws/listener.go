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
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

const (
	maxHeaderBytes = 32 << 10         // of a request, a token included
	headerTime     = 10 * time.Second // for a request, and for its answer
)

// Listener takes connections for a server on a port of its own.
type Listener struct {
	handler    *handler
	network    net.Listener
	http       *http.Server
	serving    chan struct{} // closed when no connection is accepted any more
	stop       sync.Once
	done       chan struct{} // closed when nothing is left
	strangers  sync.WaitGroup
	handshakes atomic.Int64 // connections that are no session yet
}

// Listen begins to take connections for server. Their number is bounded by the server's
// MaxConnections, and that of those that have not become sessions yet by as much again.
// Its owner must stop it.
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

// serve takes connections from network.
func serve(h *handler, network net.Listener) *Listener {
	o := h.server.Options()
	patience := min(headerTime, o.Limits.FrameTime)
	l := &Listener{handler: h, network: network, serving: make(chan struct{}), done: make(chan struct{})}
	l.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: patience,
		ReadTimeout:       patience,
		WriteTimeout:      headerTime + o.AuthTime,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         l.connState,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	l.http.SetKeepAlivesEnabled(false) // who is refused connects anew, and is counted
	if h.opts.TLS != nil {
		network = tls.NewListener(network, onlyHTTP1(h.opts.TLS))
	}
	go func() {
		defer close(l.serving)
		_ = l.http.Serve(network) // ErrServerClosed, or the port is gone
	}()
	return l
}

// onlyHTTP1 returns a configuration for connections that can be upgraded.
func onlyHTTP1(c *tls.Config) *tls.Config {
	c = sockets.Harden(c)
	c.NextProtos = []string{"http/1.1"}
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return onlyHTTP1(chosen), nil
		}
	}
	return c
}

// connState counts the connections that are no session yet.
func (l *Listener) connState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.strangers.Add(1)
		if l.handshakes.Add(1) > int64(l.handler.server.Options().MaxConnections) {
			_ = c.Close() // the HTTP server finds out
		}
	case http.StateHijacked, http.StateClosed:
		l.handshakes.Add(-1)
		l.strangers.Done()
	case http.StateActive, http.StateIdle:
	}
}

// Addr returns the address that connections are taken on.
func (l *Listener) Addr() net.Addr { return l.network.Addr() }

// URL returns what [Dial] needs to connect from this host.
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

// Stop takes no connection more, ends those that are no session yet, and returns when
// nothing of the listener is left, or with the cause when ctx ends first. Sessions go on:
// they end by [wire.Server.Stop], before or after. Stopping again is harmless.
func (l *Listener) Stop(ctx context.Context) error {
	l.stop.Do(func() {
		_ = l.http.Close() // of the port; that of a connection is no matter
		go l.join()
	})
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ws: stop: %w", context.Cause(ctx))
	}
}

// join waits for what the listener has started.
func (l *Listener) join() {
	<-l.serving
	_ = l.http.Close() // what was accepted meanwhile
	l.strangers.Wait()
	l.handler.pending.Wait()
	close(l.done)
}
