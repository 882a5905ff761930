package wiretest

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Transport is what [Run] tests.
type Transport struct {
	// Listen takes connections for the server until the test ends, and returns what Dial
	// needs to reach it. It stops by t.Cleanup.
	Listen func(t testing.TB, server *wire.Server) (addr string)
	// Dial opens a connection.
	Dial func(ctx context.Context, addr string, l wire.Limits) (wire.Conn, error)
	// Unlimited means that the transport cannot change the limit of frames while a
	// connection is open.
	Unlimited bool
	// Wordless means that to hang up is the transport's one way to close.
	Wordless bool
}

// Run holds a transport to what sessions rely on.
func Run(t *testing.T, tr Transport) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Transport)
	}{
		{"both ways, in order", bothWays},
		{"everything that a message holds", everything},
		{"many requests at a time", manyRequests},
		{"frames as long as the limit", longFrames},
		{"a frame beyond the limit", tooLong},
		{"a long frame before anybody has authenticated", tooLongUnauthenticated},
		{"server stops", serverStops},
		{"client stops", clientStops},
		{"client hangs up", clientHangsUp},
		{"server ends a session", sessionStops},
		{"keep-alive", keepAlive},
		{"a silent peer", silentPeer},
		{"strangers who say nothing", silentStrangers},
		{"a peer that does not read", neverReads},
		{"a full outbox disconnects", fullDisconnects},
		{"what cannot be written comes back", unwritable},
		{"too many connections", tooMany},
		{"too many connections of one host", tooManyOfHost},
		{"every message has one fate", fates},
		{"start and stop, again and again", stress},
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

// serve starts a server that lets everyone in, unless change says otherwise.
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Errorf("the server did not stop: %v", err)
	}
}

// guest is a client with its session.
type guest struct {
	*wire.Session
	Recorder
}

// dial opens a connection.
func dial(t *testing.T, tr Transport, addr string, l wire.Limits) wire.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := tr.Dial(ctx, addr, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connect opens a session.
func connect(t *testing.T, tr Transport, addr string, change func(*wire.Options)) *guest {
	t.Helper()
	g := &guest{}
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

func (g *guest) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// echo answers each message with its own text.
func echo(t testing.TB) func(*wire.Session, *performatives.Message) error {
	return func(s *wire.Session, m *performatives.Message) error {
		return s.Send(Of(t, performatives.Envelope{
			Sender: m.Receiver(), Receiver: m.Sender(), ConversationID: m.ConversationID(), InReplyTo: string(m.ID()),
			Performative: performatives.ActInform, Payload: m.Payload(),
		}))
	}
}

// wantEnd checks why a session ended; nil means in order.
func wantEnd(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the session ended with %v; want %v", got, want)
	}
}
