package tcp_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestListenOptions(t *testing.T) {
	server := serve(t, tcp.Options{}, nil)
	for name, tt := range map[string]struct {
		o    tcp.Options
		want string
	}{
		"no address":     {tcp.Options{}, "Options.Addr is empty"},
		"a taken one":    {tcp.Options{Addr: server.addr}, "tcp: listen"},
		"no port":        {tcp.Options{Addr: "127.0.0.1"}, "missing port"},
		"no certificate": {tcp.Options{Addr: "127.0.0.1:0", TLS: &tls.Config{}}, "Options.TLS has no certificate"},
	} {
		l, err := tcp.Listen(server.Server, tt.o)
		if err == nil {
			stop(t, l.Stop)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := tcp.Listen(nil, tcp.Options{Addr: "127.0.0.1:0"}); err == nil {
		t.Error("Listen accepts a nil server")
	}
}

func TestDialAddresses(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	for addr, want := range map[string]string{
		h.addr:                     "",
		"tcp://" + h.addr:          "",
		"ws://" + h.addr:           "neither tcp:// nor tcps://",
		"tcp://" + h.addr + "/mcp": "unknown port",
		"localhost":                "the address is not host:port",
		"tcp://:8444":              "the address is not host:port",
		"":                         "the address is not host:port",
	} {
		conn, err := tcp.Dial(t.Context(), addr, tcp.DialOptions{})
		if err == nil {
			_ = conn.Close()
		}
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) && want != "" {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
	}
	if _, err := tcp.Dial(t.Context(), "tcp://"+h.addr, tcp.DialOptions{TLS: &tls.Config{}}); err == nil || !strings.Contains(err.Error(), "want tcps://") {
		t.Errorf("tcp:// with TLS: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tcp.Dial(canceled, h.addr, tcp.DialOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// A refused peer receives the reason.
func TestRefusedConnections(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) {
		o.MaxConnections = 3
		o.AcceptRate = wire.Rate{Messages: 2, Window: time.Hour}
	})
	besides(t, h)
	rawDial(t, h)
	h.Session(t, 1)
	third := rawDial(t, h)
	typ, p := third.read7()
	var said wire.ErrorObject
	if err := json.Unmarshal(p, &said); typ != 4 || err != nil || said.Code != "RATE_LIMIT_EXCEEDED" || said.Details == nil || said.Details.Limit != 2 || said.Details.RetryAfter == 0 {
		t.Errorf("type %d: %s", typ, p)
	}
	full := serve(t, tcp.Options{}, func(o *wire.Options) { o.MaxConnections = 1 })
	besides(t, full)
	rawDial(t, full).refused("SERVICE_UNAVAILABLE", "too many connections")
	crowded := serve(t, tcp.Options{}, func(o *wire.Options) { o.MaxPerHost = 1 })
	besides(t, crowded)
	rawDial(t, crowded).refused("SERVICE_UNAVAILABLE", "too many connections from the same host")
}

// A listener whose server has stopped refuses new connections with a reason.
func TestStopOrder(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	g := join(t, h.addr, tcp.DialOptions{}, wiretest.Dialect{})
	g.request(t, 1, "hello")
	stop(t, h.Stop)
	if err := g.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
	rawDial(t, h).refused("SERVICE_UNAVAILABLE", "the server is stopping")
	stop(t, h.listener.Stop)
	stop(t, h.listener.Stop)
}

// Sessions continue when their listener stops.
func TestListenerStopKeepsSessions(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	g := join(t, h.addr, tcp.DialOptions{}, wiretest.Dialect{})
	g.request(t, 1, "before")
	stop(t, h.listener.Stop)
	g.request(t, 1, "after")
}

// A silent peer occupies one handshake slot until its time limit and no session, and Stop
// does not wait for it.
func TestSilentHandshake(t *testing.T) {
	pki := newPKI(t)
	h := serve(t, tcp.Options{TLS: pki.server()}, func(o *wire.Options) { o.MaxConnections = 1 })
	silent := rawDial(t, h)
	silent.write([]byte{0x16, 0x03, 0x01})
	for refused := false; !refused; { // until the silent connection has been accepted
		conn, err := tcp.Dial(t.Context(), "tcps://"+h.addr, tcp.DialOptions{TLS: pki.client()})
		if refused = err != nil && len(h.Sessions()) == 0; err == nil {
			_ = conn.Close()
		}
	}
	stop(t, h.listener.Stop)
	silent.ends()
}

// A connection ends when its handshake exceeds the time limit.
func TestSlowHandshake(t *testing.T) {
	pki := newPKI(t)
	h := serve(t, tcp.Options{TLS: pki.server()}, func(o *wire.Options) { o.AuthTime = 20 * time.Millisecond })
	r := rawDial(t, h)
	r.ends()
	patient := serve(t, tcp.Options{TLS: pki.server()}, nil)
	g := join(t, patient.addr, tcp.DialOptions{TLS: pki.client()}, wiretest.Dialect{})
	g.request(t, 1, "hello")
}

// blockingAuth is an authenticator that blocks until ctx ends.
type blockingAuth struct{}

// Authenticate waits for the end of ctx.
func (blockingAuth) Authenticate(ctx context.Context, _ wire.Credentials) (wire.Identity, error) {
	<-ctx.Done()
	return wire.Identity{}, ctx.Err()
}

func TestSlowAuthentication(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Anonymous, o.Auth, o.AuthTime = false, blockingAuth{}, 20*time.Millisecond })
	rawDial(t, h).refused("UNAUTHORIZED", performatives.CodeUnauthorized.Traits().Text)
}

// No goroutine is left when listeners start and stop while peers connect and disconnect.
func TestStartStop(t *testing.T) {
	pki := newPKI(t)
	for i := range 10 {
		o, d := tcp.Options{}, tcp.DialOptions{Versioned: i%3 == 0}
		if i%2 == 0 {
			o.TLS, d.TLS = pki.mutual(), pki.known()
		}
		h := serve(t, o, nil)
		var running sync.WaitGroup
		for j := range 8 {
			running.Go(func() { visit(t, h.addr, d, j) })
		}
		if i%4 < 2 {
			h.Session(t, 0)
		}
		running.Go(func() { stop(t, h.listener.Stop) })
		running.Go(func() { stop(t, h.Stop) })
		running.Wait()
		if n := h.Counts().Open; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	}
}

// visit tries to connect, sends n messages and disconnects.
func visit(t *testing.T, addr string, d tcp.DialOptions, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	conn, err := tcp.Dial(ctx, addr, d)
	if err != nil {
		return
	}
	if n%4 == 0 {
		_ = conn.Close()
		return
	}
	s, err := wire.Connect(conn, wire.Options{Handler: &wiretest.Recorder{}, Dialects: []wire.Dialect{wiretest.Dialect{}}})
	if err != nil {
		return
	}
	for range n {
		_ = s.Send(wiretest.Ask(t, "a", "b", "hello"))
	}
	_ = s.Stop(ctx)
}
