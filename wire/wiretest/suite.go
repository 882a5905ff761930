package wiretest

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Transport is a transport under test.
type Transport struct {
	// Listen accepts connections for server until the end of the test (by t.Cleanup), and
	// returns the address for Dial.
	Listen func(t testing.TB, server *wire.Server) (addr string)
	// Dial opens a connection.
	Dial func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error)
	// NoCloseFrame means that the transport has no close frame: closing the connection is its
	// only way to end.
	NoCloseFrame bool
}

// Run checks everything that sessions rely on, as subtests.
func Run(t *testing.T, tr Transport) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Transport)
	}{
		{"both ways, in order", bothWays},
		{"all fields of a message", allFields},
		{"many concurrent requests", manyRequests},
		{"frames as long as the limit", longFrames},
		{"a frame beyond the limit", tooLong},
		{"a long frame before authentication", tooLongUnauthenticated},
		{"server stops", serverStops},
		{"client stops", clientStops},
		{"client closes without a close frame", clientCloses},
		{"server ends a session", sessionStops},
		{"keep-alive", keepAlive},
		{"a silent peer", silentPeer},
		{"silent unauthenticated connections", silentConnections},
		{"a peer that does not read", neverReads},
		{"an unencodable message is returned", unencodable},
		{"too many connections", tooMany},
		{"too many connections from one host", tooManyOfHost},
		{"every message has one outcome", outcomes},
		{"repeated start and stop", stress},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, tr) })
	}
}

// host is a server with its listener.
type host struct {
	*wire.Server
	Recorder
	addr string
}

// serve starts a server, which is anonymous unless change configures it otherwise.
func serve(t *testing.T, tr Transport, change func(*wire.Options)) *host {
	t.Helper()
	h := &host{}
	o := wire.Options{Handler: &h.Recorder, Dialects: []wire.Dialect{Dialect{}}, Anonymous: true}
	if change != nil {
		change(&o)
	}
	var err error
	if h.Server, err = wire.NewServer(o); err != nil {
		t.Fatal(err)
	}
	h.addr = tr.Listen(t, h.Server)
	t.Cleanup(func() { h.stop(t) })
	return h
}

func (h *host) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Errorf("the server did not stop: %v", err)
	}
}

// client is a session with its recorder.
type client struct {
	*wire.Session
	Recorder
}

// dial opens a connection.
func dial(t *testing.T, tr Transport, addr string, l wire.Limits) wire.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	conn, err := tr.Dial(ctx, addr, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connect opens a session.
func connect(t *testing.T, tr Transport, addr string, change func(*wire.Options)) *client {
	t.Helper()
	g := &client{}
	o := wire.Options{Handler: &g.Recorder, Dialects: []wire.Dialect{Dialect{}}}
	if change != nil {
		change(&o)
	}
	var err error
	if g.Session, err = wire.Connect(dial(t, tr, addr, o.Limits), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.stop(t) })
	return g
}

func (g *client) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := g.Session.Stop(ctx); err != nil {
		t.Errorf("the session did not stop: %v", err)
	}
}

func send(t testing.TB, s *wire.Session, m *performatives.Message) {
	t.Helper()
	if err := s.Send(m); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// echo returns a Recorder.Answer that replies with the payload of the message.
func echo(t testing.TB) func(*wire.Session, *performatives.Message) error {
	return func(s *wire.Session, m *performatives.Message) error {
		return s.Send(Of(t, performatives.Envelope{
			Sender: m.Receiver(), Receiver: m.Sender(), ConversationID: m.ConversationID(), InReplyTo: string(m.ID()),
			Performative: performatives.ActInform, Payload: m.Payload(),
		}))
	}
}

// wantEnd checks the error of a session. nil means an end in order.
func wantEnd(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the session ended with %v; want %v", got, want)
	}
}
