package ws

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// Listener.Stop does not end the sessions.
func TestListenerStopsFirst(t *testing.T) {
	h := start(t, Options{}, nil)
	g := dialSession(t, h.URL(), DialOptions{})
	g.request(t, "before", 1)
	s := dialRaw(t, h)
	s.send(t, []byte("GET /mcp HTTP/1.1\r\n"))
	for range 2 {
		if err := h.Listener.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.r.ReadByte(); err == nil {
		t.Error("a connection without a session outlives the listener")
	}
	if _, err := Dial(t.Context(), h.URL(), DialOptions{}); err == nil {
		t.Error("a stopped listener accepts connections")
	}
	g.request(t, "after", 2)
}

// Stop with an ended context returns an error, and a second Stop completes.
func TestStopWithEndedContext(t *testing.T) {
	h := start(t, Options{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Listener.Stop(ctx)
	if err := h.Listener.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPaths(t *testing.T) {
	h := start(t, Options{Path: "/ws/"}, nil)
	g := dialSession(t, h.URL()+"crm", DialOptions{})
	g.request(t, "hello", 1)
	if p := h.Session(t, 0).Peer(); p.Path != "/ws/crm" {
		t.Errorf("the path is %q", p.Path)
	}
	_, err := Dial(t.Context(), strings.TrimSuffix(h.URL(), "/ws/"), DialOptions{})
	wantRefused(t, err, 404, "agent_not_found", "path")
}

func TestURL(t *testing.T) {
	h := start(t, Options{Addr: ":0"}, nil)
	if !strings.HasPrefix(h.URL(), "ws://localhost:") || !strings.HasSuffix(h.URL(), "/mcp") {
		t.Errorf("the URL is %s", h.URL())
	}
	dialSession(t, h.URL(), DialOptions{}).request(t, "hello", 1)
}

// Handler works on an HTTP server of the caller.
func TestHandler(t *testing.T) {
	h := &host{}
	server, err := wire.NewServer(h.serverOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(Handler(server, Options{}))
	defer listener.Close()
	g := dialSession(t, "ws"+strings.TrimPrefix(listener.URL, "http")+"/mcp", DialOptions{})
	g.request(t, "hello", 1)
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	g.AwaitEnd(t, 1)
}

// With LateAuth, a connection without credentials may authenticate by its first message.
func TestLateAuth(t *testing.T) {
	h := start(t, Options{LateAuth: true}, guarded)
	conn, err := Dial(t.Context(), h.URL(), DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	g := &client{}
	g.Session, err = wire.Connect(conn, wire.Options{
		Handler: &g.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}, Token: func() string { return "secret" },
	})
	if err != nil {
		t.Fatal(err)
	}
	g.request(t, "hello", 1)
	_, err = Dial(t.Context(), h.URL(), DialOptions{Token: "nonsense"})
	wantRefused(t, err, 401, "unauthorized", "wrong")
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// half disconnects in the middle of a handshake.
func half(h *host, bytes int) {
	if c, err := net.Dial("tcp", h.Addr().String()); err == nil {
		_, _ = c.Write([]byte(handshake)[:bytes])
		_ = c.Close()
	}
}

// No goroutine is left after any order of stopping server, listener and sessions.
func TestStartStop(t *testing.T) {
	for i := range 20 {
		h := start(t, Options{}, nil)
		var running sync.WaitGroup
		for j := range 6 {
			running.Go(func() {
				if j%3 == 0 {
					half(h, 20*j)
					return
				}
				conn, err := Dial(context.Background(), h.URL(), DialOptions{})
				if err != nil {
					return // the listener has stopped already
				}
				s, err := wire.Connect(conn, wire.Options{Handler: &wiretest.Recorder{}, Dialects: []wire.Dialect{wiretest.Dialect{}}})
				if err != nil {
					t.Error(err)
					return
				}
				_ = s.Send(wiretest.Ask(t, "a", "b", "hello"))
				if j%2 == 0 {
					_ = conn.Close()
				}
				_ = s.Stop(context.Background())
			})
		}
		stops := []func(context.Context) error{h.Server.Stop, h.Listener.Stop}
		for k := range stops {
			stop := stops[(i+k)%2]
			running.Go(func() {
				if err := stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			if i%4 < 2 { // one after the other, else concurrently
				running.Wait()
			}
		}
		running.Wait()
	}
}
