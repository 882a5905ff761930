package ws

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) {
	if runClients() {
		return
	}
	leakcheck.Main(m)
}

// host is a server with a listener.
type host struct {
	*wire.Server
	*Listener
	wiretest.Recorder
}

// serverOptions returns the options of an anonymous server that echoes.
func (h *host) serverOptions(t testing.TB) wire.Options {
	h.Answer = func(s *wire.Session, m *message) error { return s.Send(reply(t, m)) }
	return wire.Options{Handler: &h.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}, Anonymous: true}
}

// start starts a server, which stops at the end of the test.
func start(t testing.TB, o Options, change func(*wire.Options)) *host {
	t.Helper()
	h := &host{}
	so := h.serverOptions(t)
	if change != nil {
		change(&so)
	}
	var err error
	if h.Server, err = wire.NewServer(so); err != nil {
		t.Fatal(err)
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if h.Listener, err = Listen(h.Server, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.stop(t) })
	return h
}

func (h *host) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := h.Server.Stop(ctx); err != nil {
		t.Errorf("the server did not stop: %v", err)
	}
	if err := h.Listener.Stop(ctx); err != nil {
		t.Errorf("the listener did not stop: %v", err)
	}
}

// client is a wire session with the recorder of its messages.
type client struct {
	*wire.Session
	wiretest.Recorder
}

// dialSession opens a session, which stops at the end of the test.
func dialSession(t testing.TB, url string, o DialOptions) *client {
	t.Helper()
	conn, err := Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, conn)
}

func connect(t testing.TB, conn wire.Conn) *client {
	t.Helper()
	g := &client{}
	var err error
	g.Session, err = wire.Connect(conn, wire.Options{Handler: &g.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := g.Stop(ctx); err != nil {
			t.Errorf("the session did not stop: %v", err)
		}
	})
	return g
}

// request sends a request and waits until n replies in all have arrived.
func (g *client) request(t testing.TB, text string, n int) {
	t.Helper()
	if err := g.Send(wiretest.Ask(t, "a", "b", text)); err != nil {
		t.Fatal(err)
	}
	if got := wiretest.Text(g.Await(t, n)[n-1]); got != text {
		t.Errorf("the answer has %d bytes, want %d", len(got), len(text))
	}
}
