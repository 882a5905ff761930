package tcp_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// listen starts a listener, which stops at the end of the test.
func listen(t testing.TB, s *wire.Server, o tcp.Options) *tcp.Listener {
	t.Helper()
	o.Addr = "127.0.0.1:0"
	l, err := tcp.Listen(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, l.Stop) })
	return l
}

// stop calls a Stop method with a time limit.
func stop(t testing.TB, fn func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	if err := fn(ctx); err != nil {
		t.Error(err)
	}
}

// host is a server with its listener, which echoes each message.
type host struct {
	*wire.Server
	wiretest.Recorder
	listener *tcp.Listener
	addr     string
}

// serve starts a server, which is anonymous unless change configures it otherwise.
func serve(t testing.TB, o tcp.Options, change func(*wire.Options)) *host {
	t.Helper()
	h := &host{}
	h.Answer = echo
	wo := wire.Options{Handler: &h.Recorder, Dialects: []wire.Dialect{wiretest.Dialect{}}, Anonymous: true}
	if change != nil {
		change(&wo)
	}
	var err error
	if h.Server, err = wire.NewServer(wo); err != nil {
		t.Fatal(err)
	}
	h.listener = listen(t, h.Server, o)
	h.addr = h.listener.Addr().String()
	t.Cleanup(func() { stop(t, h.Stop) })
	return h
}

// echo answers a message with its own payload.
func echo(s *wire.Session, m *performatives.Message) error {
	answer, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), Timestamp: time.Now(), Sender: m.Receiver(), Receiver: m.Sender(),
		InReplyTo: string(m.ID()), Performative: performatives.ActInform, Payload: m.Payload(),
	})
	if err != nil {
		return err
	}
	return s.Send(answer)
}

// client is a session with a host.
type client struct {
	*wire.Session
	wiretest.Recorder
}

// join opens a session.
func join(t testing.TB, addr string, d tcp.DialOptions, dialect wire.Dialect) *client {
	t.Helper()
	g := &client{}
	o := wire.Options{Handler: &g.Recorder, Dialects: []wire.Dialect{dialect}, Limits: d.Limits}
	var err error
	if g.Session, err = wire.Connect(dial(t, addr, d), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g.Stop) })
	return g
}

func dial(t testing.TB, addr string, d tcp.DialOptions) wire.Conn {
	t.Helper()
	conn, err := tcp.Dial(t.Context(), addr, d)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// request sends n messages, waits for the echoes, and checks their order.
func (g *client) request(t testing.TB, n int, text string) {
	t.Helper()
	before := len(g.Received())
	for i := range n {
		if err := g.Send(wiretest.Ask(t, "a", "b", fmt.Sprint(i, text))); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range g.Await(t, before+n)[before:] {
		if got, want := wiretest.Text(m), fmt.Sprint(i, text); got != want {
			t.Fatalf("answer %d has %d bytes, which differ from the %d bytes of the request", i, len(got), len(want))
		}
	}
}
