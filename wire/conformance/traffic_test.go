package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func bothWays(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	const n = 500
	for i := range n {
		send(t, g.Session, wiretest.Message(t, "a", "b", fmt.Sprint(i)))
	}
	inOrder(t, h.Await(t, n))
	for i := range n {
		send(t, h.Session(t, 0), wiretest.Message(t, "b", "a", fmt.Sprint(i)))
	}
	inOrder(t, g.Await(t, n))
}

func inOrder(t testing.TB, got []*performatives.Message) {
	t.Helper()
	for i, m := range got {
		if wiretest.Text(m) != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, wiretest.Text(m))
		}
	}
}

func allFields(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	want := wiretest.Of(t, performatives.Envelope{
		Sender: "a", Receiver: "b", Performative: performatives.ActInform, ConversationID: "c", InReplyTo: "r", Priority: performatives.Urgent,
		Payload: performatives.Raw(`{"text":"ünïcode 𝄞 \u0000 \" \\ \n","n":9007199254740993}`),
	})
	send(t, g.Session, want)
	got := h.Await(t, 1)[0]
	same := cmp.Options{
		cmpopts.IgnoreFields(performatives.Envelope{}, "Shape", "Timestamp"),
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b performatives.Content) bool { return a.Equal(b) }),
	}
	if diff := cmp.Diff(want.Envelope(), got.Envelope(), same); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
}

// manyRequests checks that concurrent requests on one connection get their own replies.
func manyRequests(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	h.Answer = echo(t)
	g := connect(t, tr, h.addr, nil)
	n := wiretest.Many(10_000)
	want := make(map[performatives.ConversationID]string, n)
	for i := range n {
		m := wiretest.Ask(t, "a", "b", fmt.Sprint(i))
		want[m.ConversationID()] = wiretest.Text(m)
		send(t, g.Session, m)
	}
	for _, m := range g.Await(t, n) {
		if want[m.ConversationID()] != wiretest.Text(m) {
			t.Fatalf("%s was answered %q, want %q", m.ConversationID(), wiretest.Text(m), want[m.ConversationID()])
		}
		delete(want, m.ConversationID())
	}
	if len(want) > 0 {
		t.Errorf("%d requests have no answer", len(want))
	}
}

// frame is the frame limit of the tests with long frames: more than 16 bits can count.
const frame = 256 << 10

func longFrames(t *testing.T, tr transport) {
	limit := func(o *wire.Options) { o.Limits.Frame = frame }
	h := serve(t, tr, limit)
	h.Answer = echo(t)
	g := connect(t, tr, h.addr, limit)
	for _, n := range []int{0, 1, 125, 126, 127, 4 << 10, 64 << 10, frame - 1<<10} {
		send(t, g.Session, wiretest.Ask(t, "a", "b", wiretest.Long(n)))
	}
	for i, m := range g.Await(t, 8) {
		if got, want := len(wiretest.Text(m)), len(wiretest.Text(h.Received()[i])); got != want {
			t.Errorf("answer %d has %d bytes, want %d", i, got, want)
		}
	}
}

// tooLong checks that a frame over the limit is refused by the sender's session if it knows
// the limit, and otherwise by the receiver's.
func tooLong(t *testing.T, tr transport) {
	h := serve(t, tr, func(o *wire.Options) { o.Limits.Frame = frame })
	limited := connect(t, tr, h.addr, func(o *wire.Options) { o.Limits.Frame = frame })
	send(t, limited.Session, wiretest.Message(t, "a", "b", wiretest.Long(2*frame)))
	limited.AwaitUndelivered(t, 1)
	send(t, limited.Session, wiretest.Message(t, "a", "b", "short"))
	if got := h.Await(t, 1); wiretest.Text(got[0]) != "short" {
		t.Errorf("the long message arrived")
	}

	unlimited := connect(t, tr, h.addr, nil)
	send(t, unlimited.Session, wiretest.Message(t, "a", "b", wiretest.Long(2*frame)))
	if err := h.AwaitEnd(t, 1)[0]; err == nil {
		t.Error("the session goes on after a frame that is too long")
	}
	unlimited.AwaitEnd(t, 1)
	send(t, limited.Session, wiretest.Message(t, "a", "b", "still there"))
	h.Await(t, 2)
}

func tooLongUnauthenticated(t *testing.T, tr transport) {
	h := serve(t, tr, func(o *wire.Options) {
		o.Anonymous, o.Auth, o.Limits.Unauthenticated = false, oneToken("secret"), 1000
	})
	unauthenticated := connect(t, tr, h.addr, nil)
	send(t, unauthenticated.Session, wiretest.Message(t, "a", "b", wiretest.Long(2000)))
	h.AwaitEnd(t, 1)

	authenticated := connect(t, tr, h.addr, func(o *wire.Options) { o.Token = func() string { return "secret" } })
	send(t, authenticated.Session, wiretest.Message(t, "a", "b", "here I am"))
	h.Await(t, 1)
	send(t, authenticated.Session, wiretest.Message(t, "a", "b", wiretest.Long(2000)))
	h.Await(t, 2)
}

func unencodable(t *testing.T, tr transport) {
	h := serve(t, tr, nil)
	g := connect(t, tr, h.addr, nil)
	var bad any = func() {} // JSON cannot encode a function
	m := wiretest.Of(t, performatives.Envelope{
		Sender: "a", Receiver: "b", Performative: performatives.ActQueryIf, Ontology: "unwritable",
		Payload: performatives.QueryIf{Condition: performatives.ContentOf(bad)},
	})
	send(t, g.Session, m)
	g.AwaitUndelivered(t, 1)
	send(t, g.Session, wiretest.Message(t, "a", "b", "the next"))
	h.Await(t, 1)
}

func tooMany(t *testing.T, tr transport) {
	oneTooMany(t, tr, func(o *wire.Options) { o.MaxConnections = 1 })
}

func tooManyOfHost(t *testing.T, tr transport) {
	oneTooMany(t, tr, func(o *wire.Options) { o.MaxPerHost = 1 })
}

// oneTooMany checks that a server with one slot refuses a second session without affecting
// the first.
func oneTooMany(t *testing.T, tr transport, change func(*wire.Options)) {
	h := serve(t, tr, change)
	first := connect(t, tr, h.addr, nil)
	send(t, first.Session, wiretest.Message(t, "a", "b", "first"))
	h.Await(t, 1)
	refused(t, tr, h.addr)
	send(t, first.Session, wiretest.Message(t, "a", "b", "still there"))
	h.Await(t, 2)
	first.stop(t)
	h.AwaitEnd(t, 1)
}

// refused checks that a further connection is refused when it is opened or immediately
// afterwards.
func refused(t *testing.T, tr transport, addr string) {
	t.Helper()
	conn, err := tr.dial(t.Context(), addr, wire.Limits{})
	if err != nil {
		return
	}
	var r wiretest.Recorder
	s, err := wire.Connect(conn, wire.Options{Handler: &r, Dialects: []wire.Dialect{wiretest.Dialect{}}})
	if err != nil {
		t.Fatal(err)
	}
	var told *wire.PeerError
	if err := r.AwaitEnd(t, 1)[0]; err == nil {
		t.Error("a connection over the limit ended in order")
	} else if errors.As(err, &told) && told.Refusal == nil {
		t.Errorf("the refusal has no text: %v", err)
	}
	<-s.Done()
}
