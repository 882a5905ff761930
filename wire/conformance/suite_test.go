package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// transport is a transport under test.
type transport struct {
	// listen accepts connections for server until the end of the test (by t.Cleanup), and
	// returns the address for dial.
	listen func(t testing.TB, server *wire.Server) (addr string)
	// dial opens a connection.
	dial func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error)
	// noCloseFrame means that the transport has no close frame: closing the connection is its
	// only way to end.
	noCloseFrame bool
}

// run checks everything that sessions rely on, as subtests.
func run(t *testing.T, tr transport) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, transport)
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
	wiretest.Recorder
	addr string
}

// serve starts a server, which is anonymous unless change configures it otherwise.
func serve(t *testing.T, tr transport, change func(*wire.Options)) *host {
	t.Helper()
	h := &host{}
	o := wire.Options{Handler: &h.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}, Anonymous: true}
	if change != nil {
		change(&o)
	}
	var err error
	if h.Server, err = wire.NewServer(o); err != nil {
		t.Fatal(err)
	}
	h.addr = tr.listen(t, h.Server)
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
	wiretest.Recorder
}

// dial opens a connection.
func dial(t *testing.T, tr transport, addr string, l wire.Limits) wire.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	conn, err := tr.dial(ctx, addr, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connect opens a session.
func connect(t *testing.T, tr transport, addr string, change func(*wire.Options)) *client {
	t.Helper()
	g := &client{}
	o := wire.Options{Handler: &g.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}}
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
		return s.Send(wiretest.Of(t, performatives.Envelope{
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
