package link

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// pipe is one end of a stream in memory.
type pipe struct {
	name string // of the node at the other end; empty: it has not authenticated
	in   <-chan []byte
	out  chan<- []byte
	over chan struct{}
	once *sync.Once
	last []byte // that Recv has returned
}

// newPipe returns the ends of a stream of node a to node b. In each direction, it takes so many
// frames before they are read.
func newPipe(a, b string, buffer int) (atA, atB *pipe) {
	toA, toB, over, once := make(chan []byte, buffer), make(chan []byte, buffer), make(chan struct{}), new(sync.Once)
	return &pipe{b, toA, toB, over, once, nil}, &pipe{a, toB, toA, over, once, nil}
}

func (p *pipe) Memory(capacity int) []byte { return make([]byte, 0, capacity) }

func (p *pipe) Send(parts ...[]byte) error {
	select {
	case <-p.over:
		return io.ErrClosedPipe
	case p.out <- slices.Concat(parts...):
		return nil
	}
}

// Recv destroys the frame before, which is valid until now. Frames that were not read when the
// stream ends are lost, as with gRPC.
func (p *pipe) Recv() ([]byte, error) {
	clear(p.last)
	select {
	case <-p.over:
		return nil, io.EOF
	default:
	}
	select {
	case <-p.over:
		return nil, io.EOF
	case frame := <-p.in:
		p.last = bytes.Clone(frame)
		return p.last, nil
	}
}

func (p *pipe) CheckName(node string) error {
	if p.name != "" && p.name != node {
		return fmt.Errorf("the peer is %s, not %s", p.name, node)
	}
	return nil
}

func (p *pipe) Close() { p.once.Do(func() { close(p.over) }) }

// recorder notes what the owner of links is told.
type recorder struct {
	mu        sync.Mutex
	events    []string // without messages
	controls  [][]byte // the texts, which are the handler's
	received  []*performatives.Message
	returned  []Returned
	hold      chan struct{} // Received waits for it, unless it is nil
	onReceive func(*performatives.Message)
	pause     func(*performatives.Message) time.Duration // nil: none
	count     atomic.Int64
	await     int64
	reached   chan struct{} // closed when await messages were received or returned
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Connected(peer cluster.Incarnation, differ []string) {
	r.note("connected %s %v", peer.Name, differ)
}

func (r *recorder) Control(peer cluster.Incarnation, text []byte) {
	r.note("control %s %s", peer.Name, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.controls = append(r.controls, text)
}

func (r *recorder) Lost(peer cluster.Incarnation) { r.note("lost %s", peer.Name) }

func (r *recorder) Received(_ cluster.Incarnation, m *performatives.Message) (pause time.Duration) {
	if r.pause != nil {
		pause = r.pause(m)
	}
	if r.hold != nil {
		<-r.hold
	}
	r.mu.Lock()
	r.received = append(r.received, m)
	r.mu.Unlock()
	if r.onReceive != nil {
		r.onReceive(m)
	}
	r.counted()
	return pause
}

func (r *recorder) Undelivered(_ cluster.Incarnation, m *performatives.Message, why *performatives.Refusal) {
	r.mu.Lock()
	r.returned = append(r.returned, Returned{m, why.Code == performatives.CodeDisconnected})
	r.mu.Unlock()
	r.counted()
}

func (r *recorder) counted() {
	if n := r.count.Add(1); r.reached != nil && n == r.await {
		close(r.reached)
	}
}

// seen returns the events until now, and forgets them.
func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.events = nil }()
	return r.events
}

func (r *recorder) messages() (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.received {
		texts = append(texts, string(m.ConversationID()))
	}
	return texts
}

func (r *recorder) undelivered() (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.returned {
		texts = append(texts, fmt.Sprintf("%s %v", m.Message.ConversationID(), m.Sent))
	}
	return texts
}

// network connects nodes in memory.
type network struct {
	mu      sync.Mutex
	links   map[string]*Links
	streams []*pipe
	dialled int
	down    bool
	buffer  int    // of streams, in frames
	name    string // by which dialling nodes authenticate; empty: their own
	other   string // by which dialled nodes authenticate; empty: their own
	serving sync.WaitGroup
}

func (n *network) dial(from string) func(context.Context, cluster.Member) (Stream, error) {
	return func(_ context.Context, m cluster.Member) (Stream, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.dialled++
		to := n.links[m.Name]
		if n.down || to == nil {
			return nil, errors.New("the network is down")
		}
		caller := stdcmp.Or(n.name, from)
		near, far := newPipe(caller, stdcmp.Or(n.other, m.Name), n.buffer)
		n.streams = append(n.streams, near)
		n.serving.Go(func() { _ = to.Accept(far) })
		return near, nil
	}
}

// cut breaks all streams, and lets no others come as long as down.
func (n *network) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, s := range n.streams {
		s.Close()
	}
	n.streams = nil
}

func (n *network) dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dialled
}

type stamper struct{}

func (stamper) Stamp() performatives.Stamp {
	return performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}
}

// newLinks returns the links of a node.
func (n *network) newLinks(t testing.TB, self cluster.Incarnation, change func(*LinksOptions)) (*Links, *recorder) {
	t.Helper()
	r := &recorder{}
	o := LinksOptions{Self: self, Handler: r, Dial: n.dial(self.Name), Dialect: grpc.Dialect{}, Stamper: stamper{}}
	if change != nil {
		change(&o)
	}
	ls, err := NewLinks(o)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.links[self.Name] = ls
	return ls, r
}

// both returns the links of the nodes a and b, which know each other. They are stopped by the test.
func (n *network) both(t testing.TB, change func(*LinksOptions)) (a, b *Links, atA, atB *recorder) {
	t.Helper()
	n.links = make(map[string]*Links)
	a, atA = n.newLinks(t, nodeA, change)
	b, atB = n.newLinks(t, nodeB, change)
	b.Add(cluster.Member{Incarnation: nodeA}) // first: a dials at once, and b refuses whom it does not know
	a.Add(cluster.Member{Incarnation: nodeB})
	return a, b, atA, atB
}

// busy is both, and b has acknowledged the first of so many messages of a, numbered from 0, and is
// busy with it until atB.hold is closed.
func (n *network) busy(t testing.TB, messages int, change func(*LinksOptions)) (a, b *Links, atA, atB *recorder) {
	t.Helper()
	a, b, atA, atB = n.both(t, change)
	atB.hold = make(chan struct{})
	synctest.Wait()
	for i := range messages {
		mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
		settle()
	}
	return a, b, atA, atB
}

// A message has the deadline, the origin and the time of its arrival for the node that it has come
// to.
func TestLocal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := numbered(t, 1, performatives.Normal).With(func(e *performatives.Envelope) {
			e.Timestamp, e.ReplyBy = time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		origin := performatives.Origin{Principal: "Ada"}
		got := Inbound{Ahead: time.Hour, Origin: origin}.Local(m)
		if now := time.Now(); !got.Arrived().Equal(now) || !got.ReplyBy().Equal(now.Add(59*time.Minute)) || got.Origin() != origin {
			t.Errorf("arrived at %v, to be answered by %v, of %+v; it is %v", got.Arrived(), got.ReplyBy(), got.Origin(), now)
		}
	})
}

// finish stops links, and waits for the streams.
func (n *network) finish(t testing.TB, all ...*Links) {
	t.Helper()
	for _, ls := range all {
		ctx, cancel := context.WithCancel(context.Background())
		if err := ls.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		cancel()
	}
	n.cut(true)
	n.serving.Wait()
}

// settle waits until nothing happens any more, also no acknowledgement that has waited for a frame
// to go with.
func settle() {
	time.Sleep(2 * ackTime)
	synctest.Wait()
}

// numbered returns a message that is known by a number.
func numbered(t testing.TB, number int, p performatives.Priority) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), Performative: performatives.ActInform, Sender: "x", Receiver: "y",
		ConversationID: performatives.ConversationID(strconv.Itoa(number)), Priority: p, Timestamp: time.Now(), Payload: performatives.Raw{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mustSend(t testing.TB, ls *Links, to cluster.Incarnation, m *performatives.Message) {
	t.Helper()
	if err := ls.Send(to, m); err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal)) // before there is a stream
		synctest.Wait()
		equal(t, "at a", atA.seen(), []string{"connected b []"})
		equal(t, "at b", atB.seen(), []string{"connected a []"})
		mustSend(t, b, nodeA, numbered(t, 2, performatives.Normal))
		if !a.Control(nodeB, []byte("x")) || !b.Control(nodeA, []byte("y")) {
			t.Error("a control is not taken")
		}
		synctest.Wait()
		equal(t, "controls at a", atA.seen(), []string{"control b y"})
		equal(t, "controls at b", atB.seen(), []string{"control a x"})
		if !b.Control(nodeA, []byte("z")) { // over the frame of the one before
			t.Fatal("the control is not taken")
		}
		synctest.Wait()
		if got := bytes.Join(atA.controls, nil); string(got) != "yz" {
			t.Errorf("the texts have become %q", got)
		}
		equal(t, "controls at a", atA.seen(), []string{"control b z"})
		equal(t, "messages at a", atA.messages(), []string{"2"})
		equal(t, "messages at b", atB.messages(), []string{"1"})
		a.Add(cluster.Member{Incarnation: nodeB}) // nothing
		synctest.Wait()
		if got := n.dials(); got != 1 {
			t.Errorf("dialled %d times", got)
		}
		n.finish(t, a, b)
		n.finish(t, a, b) // again
		equal(t, "returned at a", atA.undelivered(), nil)
		equal(t, "returned at b", atB.undelivered(), nil)
		a.Add(cluster.Member{Incarnation: nodeB})
		if err := a.Send(nodeB, numbered(t, 3, performatives.Normal)); codeOf(err) != performatives.CodeStopped {
			t.Errorf("after Stop: %v", err)
		}
		if a.Control(nodeB, nil) {
			t.Error("a control is taken after Stop")
		}
	})
}

func TestLinksDeadlinesAndPrincipals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, _, atB := n.both(t, nil)
		m, err := numbered(t, 1, performatives.Normal).With(func(e *performatives.Envelope) { e.ReplyBy = time.Now().Add(time.Minute) })
		if err != nil {
			t.Fatal(err)
		}
		m.Authenticate("eve")
		mustSend(t, a, nodeB, m)
		mustSend(t, a, nodeB, numbered(t, 2, performatives.Normal))
		synctest.Wait()
		if got := atB.received[0]; !got.ReplyBy().Equal(m.ReplyBy()) || got.Principal() != "eve" {
			t.Errorf("reply by %v, principal %q", got.ReplyBy(), got.Principal())
		}
		if got := atB.received[1]; !got.ReplyBy().IsZero() || got.Principal() != "" {
			t.Errorf("reply by %v, principal %q", got.ReplyBy(), got.Principal())
		}
		e := b.find(nodeA)
		e.deliver([]Inbound{{Data: mustEncode(t, b, m), Ahead: time.Hour}})
		if got := atB.received[2]; !got.ReplyBy().Equal(m.ReplyBy().Add(time.Hour)) {
			t.Errorf("with the clock an hour ahead: reply by %v, want an hour after %v", got.ReplyBy(), m.ReplyBy())
		}
		n.finish(t, a, b)
	})
}

func mustEncode(t testing.TB, ls *Links, m *performatives.Message) []byte {
	t.Helper()
	data, err := ls.codec.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is sent while there is no stream, and what a broken stream lost, arrives over the next one.
func TestLinksReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		var want []string
		for i := range 50 {
			mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
			want = append(want, strconv.Itoa(i))
			if i%3 == 0 {
				n.cut(false)
			}
			if i%2 == 0 {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			}
		}
		time.Sleep(5 * time.Second)
		equal(t, "at a", atA.messages(), want)
		equal(t, "at b", atB.messages(), want)
		n.finish(t, a, b)
		for _, r := range []*recorder{atA, atB} {
			if slices.ContainsFunc(r.seen(), func(e string) bool { return e[:4] == "lost" }) || len(r.undelivered()) > 0 {
				t.Errorf("lost, or returned %v", r.undelivered())
			}
		}
	})
}

// A link that is down for too long loses the agents of the other node, once. It comes up again for
// new ones.
func TestLinksTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, func(o *LinksOptions) { o.Timeout = time.Minute })
		synctest.Wait()
		up := func(want bool) {
			t.Helper()
			if a, b := a.States()[nodeB] == nil, b.States()[nodeA] == nil; a != want || b != want {
				t.Errorf("up are %t and %t, want %t", a, b, want)
			}
		}
		up(true)
		n.cut(true)
		time.Sleep(50 * time.Second)
		up(false)
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal))
		synctest.Wait()
		equal(t, "too early", atA.undelivered(), nil)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		equal(t, "returned", atA.undelivered(), []string{"1 false"})
		equal(t, "at a", atA.seen(), []string{"connected b []", "lost b"})
		equal(t, "at b", atB.seen(), []string{"connected a []", "lost a"})
		mustSend(t, a, nodeB, numbered(t, 2, performatives.Normal))
		n.cut(false)
		time.Sleep(10 * time.Second)
		equal(t, "at a, later", atA.seen(), []string{"connected b []"})
		equal(t, "at b, later", atB.seen(), []string{"connected a []"})
		equal(t, "messages", atB.messages(), []string{"2"})
		time.Sleep(time.Hour) // a link that is up is not lost
		equal(t, "at a, much later", atA.seen(), nil)
		up(true)
		n.finish(t, a, b)
	})
}

// A node that can never be reached fills the log of another one less and less.
func TestLinksNeverOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{down: true}
		var log bytes.Buffer
		a, b, _, _ := n.both(t, func(o *LinksOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		time.Sleep(time.Hour)
		synctest.Wait()
		lines := strings.Count(log.String(), "no link to a node")
		if dials := n.dials(); dials < 1000 || lines < 5 || lines > 15 {
			t.Errorf("%d lines of %d attempts", lines, dials)
		}
		n.finish(t, a, b)
	})
}

// lostPeers is a handler that gets the nodes that are lost.
type lostPeers struct {
	recorder
	lost chan<- cluster.Incarnation
}

func (l *lostPeers) Lost(peer cluster.Incarnation) {
	select {
	case l.lost <- peer:
	default: // the test has seen enough
	}
}

// A link may expire while Add runs, when the machine is busy. The clock is real: in a bubble no
// time passes within Add.
func TestLinksExpireAtOnce(t *testing.T) {
	lost := make(chan cluster.Incarnation, 2)
	ls, err := NewLinks(LinksOptions{
		Self: nodeA, Handler: &lostPeers{lost: lost}, Dialect: grpc.Dialect{}, Stamper: stamper{}, Timeout: time.Nanosecond,
		Dial: func(ctx context.Context, _ cluster.Member) (Stream, error) { <-ctx.Done(); return nil, ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	ls.Add(cluster.Member{Incarnation: nodeB})
	for range cap(lost) { // it waits again for the node
		if peer := <-lost; peer != nodeB {
			t.Errorf("lost is %v", peer)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_ = ls.Stop(over) // the link cannot be closed in order
}

// A node that one end only has given up is lost at the other end, too.
func TestLinksOneEndExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		n.links = make(map[string]*Links)
		a, atA := n.newLinks(t, nodeA, func(o *LinksOptions) { o.Timeout = time.Second })
		b, atB := n.newLinks(t, nodeB, func(o *LinksOptions) { o.Timeout = time.Hour })
		b.Add(cluster.Member{Incarnation: nodeA}) // first: see both
		a.Add(cluster.Member{Incarnation: nodeB})
		synctest.Wait()
		n.cut(true)
		synctest.Wait()
		mustSend(t, b, nodeA, numbered(t, 1, performatives.Normal))
		time.Sleep(2500 * time.Millisecond)
		n.cut(false)
		time.Sleep(10 * time.Second)
		equal(t, "at a", slices.Compact(atA.seen()), []string{"connected b []", "lost b", "connected b []"})
		equal(t, "at b", atB.seen(), []string{"connected a []", "lost a", "connected a []"})
		equal(t, "returned at b", atB.undelivered(), []string{"1 false"})
		n.finish(t, a, b)
	})
}

// Remove returns what was not delivered before it returns. The same incarnation can come back.
func TestLinksRemoveAndAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal))
		mustSend(t, b, nodeA, numbered(t, 2, performatives.Normal))
		settle()
		n.cut(true)
		synctest.Wait()
		mustSend(t, a, nodeB, numbered(t, 3, performatives.Normal))
		end := a.find(nodeB)
		a.Remove(nodeB)
		equal(t, "returned", atA.undelivered(), []string{"3 false"})
		a.Remove(nodeB) // again
		if err := a.Send(nodeB, numbered(t, 4, performatives.Normal)); codeOf(err) != performatives.CodeStopped {
			t.Errorf("got %v", err)
		}
		if err := end.send(parcel{message: numbered(t, 4, performatives.Normal)}); codeOf(err) != performatives.CodeStopped { // it was found before
			t.Errorf("got %v", err)
		}
		a.Add(cluster.Member{Incarnation: nodeB})
		mustSend(t, a, nodeB, numbered(t, 5, performatives.Normal))
		mustSend(t, b, nodeA, numbered(t, 6, performatives.Normal))
		n.cut(false)
		time.Sleep(9 * time.Second)
		equal(t, "at b", atB.seen(), []string{"connected a []", "lost a", "connected a []"})
		equal(t, "messages at b", atB.messages(), []string{"1", "5"})
		equal(t, "returned at b", atB.undelivered(), []string{"6 false"})
		mustSend(t, b, nodeA, numbered(t, 7, performatives.Normal))
		synctest.Wait()
		equal(t, "messages at a", atA.messages(), []string{"2", "7"})
		n.finish(t, a, b)
	})
}

// A node that is not known yet is refused, and tries again.
func TestLinksUnknownNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		n.links = make(map[string]*Links)
		a, _ := n.newLinks(t, nodeA, nil)
		b, atB := n.newLinks(t, nodeB, nil)
		a.Add(cluster.Member{Incarnation: nodeB})
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal))
		time.Sleep(5 * time.Second)
		if got := n.dials(); got < 2 {
			t.Errorf("dialled %d times", got)
		}
		b.Add(cluster.Member{Incarnation: nodeA})
		time.Sleep(5 * time.Second)
		equal(t, "at b", atB.messages(), []string{"1"})
		n.finish(t, a, b)
	})
}

func TestAcceptRefuses(t *testing.T) {
	hello := func(from cluster.Incarnation) []byte {
		return (&frame{hello: &hello{from: from, to: nodeB, session: 1, minVersion: 1, maxVersion: 1}}).append(nil)
	}
	nodeC := cluster.Incarnation{Name: "c", Epoch: 1}
	for name, c := range map[string]struct {
		first   []byte
		is      error
		unknown cluster.Incarnation
		name    string
	}{
		"garbage":            {first: []byte("\xff"), is: errStream},
		"no hello":           {first: []byte{}, is: errStream},
		"an unknown node":    {first: hello(cluster.Incarnation{Name: "aa", Epoch: 1}), unknown: cluster.Incarnation{Name: "aa", Epoch: 1}},
		"another epoch":      {first: hello(cluster.Incarnation{Name: "a", Epoch: 1}), unknown: cluster.Incarnation{Name: "a", Epoch: 1}},
		"the one to answer":  {first: hello(nodeC), is: errStream},
		"another name":       {first: hello(nodeA), name: "mallory"},
		"nothing in time":    {is: io.EOF}, // "another name" does not read its Bye either
		"an end in its time": {is: io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n network
				n.links = make(map[string]*Links)
				b, atB := n.newLinks(t, nodeB, nil)
				b.Add(cluster.Member{Incarnation: nodeA})
				b.Add(cluster.Member{Incarnation: nodeC})
				near, far := newPipe(c.name, "b", 0)
				done := make(chan error, 1)
				go func() { done <- b.Accept(far) }()
				if c.first != nil {
					_ = near.Send(c.first)
				}
				if name == "an end in its time" {
					near.Close()
				}
				if !c.unknown.IsZero() {
					data, err := near.Recv()
					if err != nil {
						t.Fatal(err)
					}
					if f, err := readFrame(data); err != nil || f.bye == "" {
						t.Errorf("no bye: %+v, %v", f, err)
					}
				}
				err := <-done
				if err == nil || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("got %v, want %v", err, c.is)
				}
				var unknown *UnknownNodeError
				if errors.As(err, &unknown) != !c.unknown.IsZero() || unknown != nil && unknown.Node != c.unknown {
					t.Errorf("got %v, want that %v is unknown", err, c.unknown)
				}
				if _, err := near.Recv(); err == nil {
					t.Error("the stream goes on")
				}
				equal(t, "events", atB.seen(), nil)
				n.finish(t, b)
			})
		})
	}
}

// The certificate of each end has to be for its node.
func TestLinksWrongName(t *testing.T) {
	for name, n := range map[string]*network{"of the caller": {name: "mallory"}, "of the other end": {other: "mallory"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b, atA, atB := n.both(t, func(o *LinksOptions) { o.Timeout = time.Hour })
				time.Sleep(time.Minute)
				equal(t, "at a", atA.seen(), nil)
				equal(t, "at b", atB.seen(), nil)
				n.mu.Lock()
				n.name, n.other = "", ""
				n.mu.Unlock()
				time.Sleep(time.Minute)
				equal(t, "at b, later", atB.seen(), []string{"connected a []"})
				n.finish(t, a, b)
			})
		})
	}
}

// A frame that is no frame ends its stream, and nothing else.
func TestLinksGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		synctest.Wait()
		_ = n.streams[0].Send([]byte("\xff\xff")) // as if a had written it
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal))
		time.Sleep(time.Second)
		equal(t, "at a", atA.seen(), []string{"connected b []", "connected b []"})
		equal(t, "messages", atB.messages(), []string{"1"})
		n.finish(t, a, b)
	})
}

// An envelope that is no message is answered, and the others of the frame arrive.
func TestLinksUnreadableMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		synctest.Wait()
		good := mustEncode(t, a, numbered(t, 1, performatives.Normal))
		bad, err := numbered(t, 2, performatives.Normal).With(func(e *performatives.Envelope) { e.ReplyWith = "r" })
		if err != nil {
			t.Fatal(err)
		}
		data := mustEncode(t, a, bad)
		// A later act replaces the one before. There is none with the number 999.
		data = envelopeOf(protofield.AppendNumber(slices.Clone(contentOf(data)), 2, 999))
		e := a.find(nodeB)
		e.mu.Lock()
		for _, d := range [][]byte{data, good} {
			if err := e.link.Send(bad, d); err != nil {
				t.Error(err)
			}
		}
		e.mu.Unlock()
		e.signal()
		synctest.Wait()
		equal(t, "at b", atB.messages(), []string{"1"})
		if len(atA.received) != 1 || atA.received[0].Performative() != performatives.ActNotUnderstood {
			t.Errorf("the answers are %v", atA.received)
		}
		n.finish(t, a, b)
	})
}

// contentOf returns the bytes of an envelope without its tag.
func contentOf(data []byte) (content []byte) {
	_, content, _, _ = protofield.Next(data)
	return content
}

// While the owner of one end is slow, the other end keeps what the window does not hold, and
// refuses what is more. A node that does not keep up reads slowly, and the other one knows.
func TestLinksPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		const messages, each = 1000, time.Millisecond
		a, b, _, atB := n.both(t, func(o *LinksOptions) {
			o.Link.Batch, o.Link.Window = 1, 1
			o.Handler.(*recorder).pause = func(*performatives.Message) time.Duration { return each }
		})
		atB.await, atB.reached = messages, make(chan struct{})
		settle()
		began := time.Now()
		for i := range messages {
			mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
		}
		time.Sleep(each / 2)
		if got := a.Wait(nodeB); got == 0 {
			t.Error("no wait")
		}
		<-atB.reached
		one, err := a.encode(numbered(t, messages, performatives.Normal))
		if err != nil {
			t.Fatal(err)
		}
		if took, least := time.Since(began), time.Duration(messages*len(one.data)/(2*maxHeld))*maxPause; took < least {
			t.Errorf("%d messages are read in %v, want %v or more", messages, took, least)
		}
		time.Sleep(time.Second)
		if got := a.Wait(nodeB); got != 0 {
			t.Errorf("a wait of %v for nothing", got)
		}
		n.cut(true)
		for i := range messages {
			mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
		}
		time.Sleep(time.Second)
		if got := a.Wait(nodeB); got != time.Second {
			t.Errorf("a wait of %v for a node without a link", got)
		}
		time.Sleep(DefaultTimeout)
		if got := a.Wait(nodeB); got != 0 {
			t.Errorf("a wait of %v after the link was given up", got)
		}
		n.finish(t, a, b)
	})
}

// A node knows how long the messages of another one wait for it, until that time has passed.
func TestLinksWaitForAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		const messages, each = 5000, time.Millisecond
		a, b, atA, _ := n.both(t, func(o *LinksOptions) {
			o.Link.Batch, o.Link.Window = 1, 1
			o.Handler.(*recorder).pause = func(*performatives.Message) time.Duration { return each }
		})
		atA.await, atA.reached = messages, make(chan struct{})
		settle()
		for i := range messages {
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
		}
		time.Sleep(2 * maxPause)
		if a.Wait(nodeB) == 0 {
			t.Error("no wait for answers")
		}
		<-atA.reached
		time.Sleep(time.Second)
		if got := a.Wait(nodeB); got != 0 {
			t.Errorf("a wait of %v for nothing", got)
		}
		n.finish(t, a, b)
	})
}

// Messages of HIGH and URGENT priority pass those that a pause holds, which stay in order. None is
// held any more when the session or the link ends, or closes.
func TestLinksHold(t *testing.T) {
	for name, end := range map[string]func(a, b *Links){
		"pause":   func(*Links, *Links) { time.Sleep(maxPause) },
		"removed": func(_, b *Links) { b.Remove(nodeA) },
		"session": func(a, _ *Links) { a.Remove(nodeB); a.Add(cluster.Member{Incarnation: nodeB}) },
		"stopped": func(_, b *Links) { _ = b.Stop(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n network
				a, b, atA, atB := n.both(t, func(o *LinksOptions) {
					o.Handler.(*recorder).pause = func(m *performatives.Message) time.Duration {
						if m.Priority() > performatives.Normal {
							return 0
						}
						return time.Hour
					}
				})
				atB.onReceive = func(m *performatives.Message) { _ = b.Send(nodeA, m) } // a removed link takes none
				settle()
				atB.seen()
				for i, p := range []performatives.Priority{performatives.Normal, performatives.Normal, performatives.Low, performatives.High, performatives.Urgent} {
					mustSend(t, a, nodeB, numbered(t, i, p))
					synctest.Wait()
				}
				if got, want := atB.messages(), []string{"0", "3", "4"}; !slices.Equal(got, want) {
					t.Errorf("received during a pause: %v, want %v", got, want)
				}
				end(a, b)
				synctest.Wait()
				if got, want := atB.messages(), []string{"0", "3", "4", "1", "2"}; !slices.Equal(got, want) {
					t.Errorf("received: %v, want %v", got, want)
				}
				time.Sleep(2 * maxPause) // the other end pauses, too
				settle()
				if got := len(atA.messages()); name == "stopped" && got != 5 {
					t.Errorf("a node that has stopped has answered %d messages", got)
				}
				if i := slices.IndexFunc(atB.seen(), func(event string) bool { return strings.HasPrefix(event, "lost") }); name == "session" && i < 0 {
					t.Error("the session does not end")
				}
				n.finish(t, a, b)
			})
		})
	}
}

func TestLinksSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		n.links = make(map[string]*Links)
		a, _ := n.newLinks(t, nodeA, func(o *LinksOptions) { o.Link = Options{Window: 500, Batch: 200, Capacity: 20} })
		b, atB := n.newLinks(t, nodeB, nil)
		atB.hold = make(chan struct{})
		a.Add(cluster.Member{Incarnation: nodeB})
		b.Add(cluster.Member{Incarnation: nodeA})
		synctest.Wait()
		taken := 0
		for ; taken < 1000; taken++ {
			err := a.Send(nodeB, numbered(t, taken, performatives.Normal))
			synctest.Wait()
			if err == nil {
				continue
			}
			if codeOf(err) != performatives.CodeBusy {
				t.Fatal(err)
			}
			break
		}
		if taken < 20 || taken > 60 {
			t.Errorf("%d messages are taken", taken)
		}
		close(atB.hold)
		time.Sleep(time.Second)
		if got := len(atB.messages()); got != taken {
			t.Errorf("%d of %d arrive", got, taken)
		}
		n.finish(t, a, b)
	})
}

// Stop waits until all is acknowledged, and for no longer than its context, a broken stream or the
// end of the link.
func TestLinksStopFlushes(t *testing.T) {
	for _, end := range []string{"acknowledged", "context", "broken", "removed"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n network
				a, b, atA, atB := n.busy(t, 3, nil)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				stopped := make(chan error, 1)
				go func() { stopped <- a.Stop(ctx) }()
				synctest.Wait()
				select {
				case err := <-stopped:
					t.Fatalf("stopped too early: %v", err)
				default:
				}
				want := []string{"1 true", "2 false"}
				switch end {
				case "acknowledged":
					close(atB.hold)
					want = nil
				case "context":
					cancel()
				case "broken":
					n.cut(true)
				case "removed":
					go a.Remove(nodeB)
				}
				settle()
				select {
				case err := <-stopped:
					if (err != nil) != (end == "context") {
						t.Errorf("stop: %v", err)
					}
				default:
					t.Error("Stop does not return")
					cancel()
				}
				equal(t, "returned", atA.undelivered(), want)
				if end != "acknowledged" {
					close(atB.hold)
				}
				n.finish(t, b)
			})
		})
	}
}

// delayedEnd is a stream whose end the reader notices late.
type delayedEnd struct {
	*pipe
	hears <-chan struct{}
}

func (d delayedEnd) Recv() ([]byte, error) {
	frame, err := d.pipe.Recv()
	if err != nil {
		<-d.hears
	}
	return frame, err
}

// A stream that takes another one's place gets what is sent from then on, although the other one
// has not ended yet.
func TestLinksReplacedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, _, atB := n.both(t, nil)
		synctest.Wait()
		e := a.find(nodeB)
		hears := make(chan struct{})
		var running sync.WaitGroup
		for range 3 {
			stream, err := a.o.Dial(t.Context(), e.member)
			if err != nil {
				t.Fatal(err)
			}
			m := numbered(t, 0, performatives.Normal)
			e.mu.Lock() // it waits until the ends have met
			if err := e.link.Send(m, mustEncode(t, a, m)); err != nil {
				t.Error(err)
			}
			e.mu.Unlock()
			running.Go(func() { e.run(delayedEnd{stream.(*pipe), hears}, nil) })
			synctest.Wait()
		}
		for i := range 5 {
			if got := len(atB.messages()); got != 3+i {
				t.Errorf("%d of %d messages arrive", got, 3+i)
			}
			mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
			synctest.Wait()
		}
		close(hears)
		n.finish(t, a, b)
		running.Wait()
	})
}

// Send, Remove, Add and Stop at any time account for every message once.
func TestLinksLifecycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, atA, atB := n.both(t, nil)
		var taken atomic.Int64
		var senders sync.WaitGroup
		for i := range 4 {
			senders.Go(func() {
				for k := range 200 {
					if a.Send(nodeB, numbered(t, i*1000+k, performatives.Normal)) == nil {
						taken.Add(1)
					}
					switch {
					case i == 0 && k%20 == 0:
						a.Remove(nodeB)
						a.Add(cluster.Member{Incarnation: nodeB})
					case i == 1 && k%30 == 0:
						n.cut(false)
					case i == 2 && k%25 == 0:
						time.Sleep(100 * time.Millisecond)
					}
				}
			})
		}
		senders.Wait()
		time.Sleep(time.Minute)
		n.finish(t, a, b)
		once := make(map[string]bool)
		for _, m := range atB.messages() {
			if once[m] {
				t.Errorf("message %s is delivered twice", m)
			}
			once[m] = true
		}
		for _, r := range atA.undelivered() {
			var number string
			var sent bool
			if _, err := fmt.Sscan(r, &number, &sent); err != nil {
				t.Fatal(err)
			}
			if once[number] && !sent {
				t.Errorf("message %s is delivered, and returned as not sent", number)
			}
			once[number] = true
		}
		if len(once) != int(taken.Load()) {
			t.Errorf("%d of %d messages are accounted for", len(once), taken.Load())
		}
	})
}

// counting is a stream that counts its frames.
type counting struct {
	Stream
	sent *atomic.Int64
}

func (c counting) Send(parts ...[]byte) error {
	c.sent.Add(1)
	return c.Stream.Send(parts...)
}

// An acknowledgement goes with a reply, if one comes soon, and with all that comes soon.
func TestLinksAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		var sent atomic.Int64 // by a, which dials
		a, b, atA, atB := n.both(t, func(o *LinksOptions) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, m cluster.Member) (Stream, error) {
				s, err := dial(ctx, m)
				if err != nil {
					return nil, err
				}
				return counting{s, &sent}, nil
			}
		})
		settle()
		frames := func(what string, want int64) {
			t.Helper()
			if got := sent.Swap(0); got != want {
				t.Errorf("%s: %d frames, want %d", what, got, want)
			}
		}
		frames("hello", 1)
		for i := range 5 {
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
			synctest.Wait()
		}
		frames("at once", 0)
		settle()
		frames("later", 1)
		if b.find(nodeA).link.flight.len() > 0 {
			t.Error("not acknowledged")
		}
		for i := range 3 {
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
			time.Sleep(ackTime / 2)
		}
		frames("while more come", 1)
		settle()
		sent.Store(0)
		if all := a.find(nodeB).link.scratch.messages; len(all[:cap(all)]) == 0 || all[:1][0].Data != nil {
			t.Error("the last frame is kept")
		}
		for i := range 5 {
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
			synctest.Wait()
			mustSend(t, a, nodeB, numbered(t, i, performatives.Normal))
			synctest.Wait()
		}
		frames("with replies", 5)
		settle()
		frames("later", 0)
		n.finish(t, a, b)
		if len(atA.received) != 13 || len(atB.received) != 5 {
			t.Errorf("%d and %d messages", len(atA.received), len(atB.received))
		}
	})
}

// A node that stops acknowledges what it has received before it closes the stream.
func TestLinksStopAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, _, atB := n.both(t, nil)
		synctest.Wait()
		mustSend(t, b, nodeA, numbered(t, 1, performatives.Normal))
		synctest.Wait()
		n.finish(t, a)
		synctest.Wait()
		b.Remove(nodeA)
		equal(t, "returned", atB.undelivered(), nil)
		n.finish(t, b)
	})
	synctest.Test(t, func(t *testing.T) { // also what comes while it waits for an acknowledgement itself
		var n network
		a, b, _, atB := n.both(t, nil)
		synctest.Wait()
		mustSend(t, a, nodeB, numbered(t, 1, performatives.Normal))
		synctest.Wait()
		stopped := make(chan struct{})
		go func() {
			_ = a.Stop(t.Context())
			close(stopped)
		}()
		synctest.Wait()
		mustSend(t, b, nodeA, numbered(t, 2, performatives.Normal)) // with the acknowledgement
		<-stopped
		synctest.Wait()
		b.Remove(nodeA)
		equal(t, "returned", atB.undelivered(), nil)
		n.finish(t, a, b)
	})
}

// The answer to a message that a node has received arrives, also if the node stops before its
// handler answers.
func TestLinksStopSendsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, atA, atB := n.both(t, nil)
		stopped := make(chan error, 1)
		atA.onReceive = func(*performatives.Message) {
			go func() { stopped <- a.Stop(t.Context()) }()
			e := a.find(nodeB)
			for range 10_000 { // Stop has every chance to close the link
				e.mu.Lock()
				closing := e.closing
				e.mu.Unlock()
				if closing {
					break
				}
				goruntime.Gosched()
			}
			if err := a.Send(nodeB, numbered(t, 2, performatives.Normal)); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		mustSend(t, b, nodeA, numbered(t, 1, performatives.Normal))
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		b.Remove(nodeA)
		equal(t, "at b", atB.messages(), []string{"2"})
		equal(t, "returned at a", atA.undelivered(), nil)
		equal(t, "returned at b", atB.undelivered(), nil)
		n.finish(t, b)
	})
}

// While a node that stops waits for another one, it takes no further message of that one in, which
// it could not answer.
func TestLinksStopTakesNothingIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, atA, atB := n.busy(t, 3, func(o *LinksOptions) { o.Link.Batch = 1 }) // one message in a frame
		atA.onReceive = func(*performatives.Message) {
			mustSend(t, a, nodeB, numbered(t, 10, performatives.Normal))
		}
		atB.onReceive = func(m *performatives.Message) {
			if m.ConversationID() != "10" {
				_ = b.Send(nodeA, numbered(t, 20, performatives.Normal))
			}
		}
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(t.Context()) }()
		synctest.Wait()
		e := a.find(nodeB)
		e.close() // before b has acknowledged all
		close(atB.hold)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		b.Remove(nodeA)
		equal(t, "at b", atB.messages(), []string{"0", "1", "2"})
		equal(t, "at a", atA.messages(), nil)
		equal(t, "returned at a", atA.undelivered(), nil)
		equal(t, "returned at b", atB.undelivered(), []string{"20 false", "20 false", "20 false"})
		n.finish(t, b)
	})
}

// A node that stops ends a stream only when the other node has read all, however busy that is: with
// the stream, the last acknowledgement would be lost.
func TestLinksStopWaitsForTheReader(t *testing.T) {
	type at struct {
		links *Links
		self  cluster.Incarnation
		is    *recorder
	}
	for _, dials := range []bool{true, false} {
		t.Run(fmt.Sprintf("the node that dials stops: %t", dials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{buffer: 10}
				a, b, atA, atB := n.both(t, nil)
				stops, stays := at{a, nodeA, atA}, at{b, nodeB, atB}
				if !dials {
					stops, stays = stays, stops
				}
				stays.is.hold = make(chan struct{})
				synctest.Wait()
				mustSend(t, stops.links, stays.self, numbered(t, 1, performatives.Normal)) // the other node is busy with it
				synctest.Wait()
				mustSend(t, stays.links, stops.self, numbered(t, 2, performatives.Normal)) // with an acknowledgement
				synctest.Wait()
				stopped := make(chan error, 1)
				go func() { stopped <- stops.links.Stop(t.Context()) }()
				synctest.Wait()
				select {
				case err := <-stopped:
					t.Errorf("stopped before the other node has read all: %v", err)
					stopped <- err
				default:
				}
				mustSend(t, stays.links, stops.self, numbered(t, 3, performatives.Normal)) // too late
				synctest.Wait()
				close(stays.is.hold)
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second) // if the other node dials, it is refused
				stays.links.Remove(stops.self)
				equal(t, "received", stops.is.messages(), []string{"2"})
				equal(t, "returned", stays.is.undelivered(), []string{"3 false"})
				dialled := n.dials()
				n.finish(t, a, b)
				if got := n.dials(); (dialled == 1) != dials || got != dialled {
					t.Errorf("dialled %d times, then %d times", dialled, got)
				}
			})
		})
	}
}

// A node that stops waits for a node that does not read for a bounded time, without an error unless
// its context ends first.
func TestLinksStopOfOneThatDoesNotRead(t *testing.T) {
	for _, c := range []struct {
		limit, want time.Duration
		is          error
	}{{time.Hour, closeTime, nil}, {time.Second, time.Second, context.DeadlineExceeded}} {
		t.Run(c.limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{buffer: 10}
				a, b, _, atB := n.busy(t, 1, nil)
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				begun := time.Now()
				if err := a.Stop(ctx); !errors.Is(err, c.is) {
					t.Errorf("stop: %v, want %v", err, c.is)
				}
				if took := time.Since(begun); took != c.want {
					t.Errorf("Stop took %v, want %v", took, c.want)
				}
				close(atB.hold)
				n.finish(t, b)
			})
		})
	}
}

// Stop waits for all nodes that are silent at the same time, for closeTime. What they have not
// acknowledged comes back as perhaps received.
func TestLinksStopOfSilentNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{links: make(map[string]*Links), buffer: 10}
		a, atA := n.newLinks(t, nodeA, nil)
		var peers []*Links
		for _, name := range []string{"b", "c", "d"} {
			peer := cluster.Incarnation{Name: name, Epoch: 1}
			ls, r := n.newLinks(t, peer, nil)
			r.hold = make(chan struct{})
			defer close(r.hold)
			ls.Add(cluster.Member{Incarnation: nodeA})
			a.Add(cluster.Member{Incarnation: peer})
			peers = append(peers, ls)
			synctest.Wait()
			for i := range 2 { // it is busy with the first one
				mustSend(t, a, peer, numbered(t, i, performatives.Normal))
				settle()
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < closeTime || took > closeTime+10*time.Millisecond { // some more for the bytes of the messages
			t.Errorf("Stop took %v, want %v", took, closeTime)
		}
		equal(t, "returned", atA.undelivered(), []string{"1 true", "1 true", "1 true"})
		t.Cleanup(func() { n.finish(t, peers...) })
	})
}

// longMessage is numbered, with a payload of so many MiB.
func longMessage(t testing.TB, number, mebis int) *performatives.Message {
	t.Helper()
	m, err := numbered(t, number, performatives.Normal).With(func(e *performatives.Envelope) {
		e.Payload = performatives.Raw(fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", mebis<<20)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Stop waits for a node as long as that acknowledges messages, and longer for one that reads a long
// message.
func TestLinksStopOfASlowNode(t *testing.T) {
	const many = 10
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, atA, atB := n.busy(t, many, func(o *LinksOptions) { o.Link.Batch = 1 }) // one message in a frame
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		go func() {
			for range many {
				time.Sleep(closeTime - time.Second)
				atB.hold <- struct{}{}
			}
		}()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < (many-1)*(closeTime-time.Second) {
			t.Errorf("Stop took %v", took)
		}
		if got := len(atB.messages()); got < many-1 || len(atA.undelivered()) > 0 {
			t.Errorf("b has got %d messages, and %v are returned", got, atA.undelivered())
		}
		close(atB.hold)
		n.finish(t, b)
	})
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, atA, atB := n.busy(t, 1, nil)
		long := longMessage(t, 1, 1)
		mustSend(t, a, nodeB, long)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); (took - closeTime - mebiTime).Abs() > 10*time.Millisecond { // it has some more bytes, and the time for each is rounded
			t.Errorf("Stop took %v, want %v", took, closeTime+mebiTime)
		}
		equal(t, "returned", atA.undelivered(), []string{"1 true"})
		close(atB.hold)
		n.finish(t, b)
	})
}

// A node that has acknowledged a long message, and is silent then, is waited for as one that had
// none.
func TestLinksStopAfterALongMessage(t *testing.T) {
	racetest.Skip(t)
	for _, mebis := range []int{1, 15} {
		t.Run(fmt.Sprintf("%d MiB", mebis), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const reads = 6 * time.Second
				n := network{buffer: 10}
				a, b, atA, atB := n.busy(t, 1, func(o *LinksOptions) { o.Link.Batch = 1 }) // one message in a frame
				mustSend(t, a, nodeB, longMessage(t, 1, mebis))
				mustSend(t, a, nodeB, numbered(t, 2, performatives.Normal))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begun := time.Now()
				go func() {
					time.Sleep(reads)
					atB.hold <- struct{}{} // b acknowledges the long message, and is busy with it
				}()
				if err := a.Stop(ctx); err != nil {
					t.Error(err)
				}
				if took, want := time.Since(begun), reads+closeTime; took < want || took > want+10*time.Millisecond {
					t.Errorf("Stop took %v, want %v", took, want)
				}
				equal(t, "returned", atA.undelivered(), []string{"2 true"})
				close(atB.hold)
				n.finish(t, b)
			})
		})
	}
}

// Stop returns although messages are sent as fast as they are acknowledged.
func TestLinksStopUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, _, atB := n.busy(t, 5, func(o *LinksOptions) { o.Link.Batch = 1 }) // one message in a frame
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var load sync.WaitGroup
		load.Go(func() {
			for ctx.Err() == nil {
				_ = a.Send(nodeB, numbered(t, 0, performatives.Normal)) // an error once the link has ended
				time.Sleep(time.Second)
				select {
				case atB.hold <- struct{}{}:
				default: // all was received
				}
			}
			close(atB.hold)
		})
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
		load.Wait()
		n.finish(t, b)
	})
}

// A link that was closed in order is not given up while the node that stops waits for another one.
func TestLinksStopIsNoLoss(t *testing.T) {
	for _, dials := range []bool{true, false} {
		t.Run(fmt.Sprintf("the node that stops dials: %t", dials), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{links: make(map[string]*Links), buffer: 10}
				one := func(o *LinksOptions) { o.Link.Batch = 1 } // one message in a frame
				stops, names := nodeA, []string{"b", "c"}
				if !dials {
					stops, names = cluster.Incarnation{Name: "c", Epoch: 1}, []string{"a", "b"}
				}
				a, atA := n.newLinks(t, stops, one)
				var peers []*Links
				var all []*recorder
				for _, name := range names {
					ls, r := n.newLinks(t, cluster.Incarnation{Name: name, Epoch: 1}, one)
					a.Add(cluster.Member{Incarnation: ls.self})
					ls.Add(cluster.Member{Incarnation: stops})
					peers, all = append(peers, ls), append(all, r)
				}
				time.Sleep(time.Second) // the first attempt to dial may have been too early
				fast, slow, slowPeer := all[0], all[1], peers[1].self
				slow.hold = make(chan struct{})
				for i := range 2 {
					mustSend(t, a, slowPeer, numbered(t, i, performatives.Normal)) // it is busy with the first one
					settle()
				}
				fast.seen()
				atA.seen()
				begun := time.Now()
				stopped := make(chan error, 1)
				go func() { stopped <- a.Stop(t.Context()) }()
				synctest.Wait()
				const more = 6
				for i := range more { // what is sent now is waited for while the link closes
					mustSend(t, a, slowPeer, numbered(t, 10+i, performatives.Normal))
				}
				go func() {
					for range 2 + more {
						time.Sleep(closeTime - time.Second)
						slow.hold <- struct{}{}
					}
					close(slow.hold)
				}()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took < 2*DefaultTimeout {
					t.Fatalf("Stop took only %v", took)
				}
				equal(t, "at the fast node", fast.seen(), nil)
				equal(t, "at the node that stops", atA.seen(), nil)
				equal(t, "returned", atA.undelivered(), nil)
				n.finish(t, peers...)
			})
		})
	}
}

// A node that was silent, and acknowledges messages again before Stop closes the links, is waited
// for as any other.
func TestLinksStopOfANodeThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{links: make(map[string]*Links), buffer: 10}
		a, atA := n.newLinks(t, nodeA, func(o *LinksOptions) { o.Link.Batch = 1 }) // one message in a frame
		var peers []*Links
		all := make(map[string]*recorder)
		for _, name := range []string{"b", "c"} {
			peer := cluster.Incarnation{Name: name, Epoch: 1}
			ls, r := n.newLinks(t, peer, nil)
			ls.Add(cluster.Member{Incarnation: nodeA})
			a.Add(cluster.Member{Incarnation: peer})
			r.hold = make(chan struct{})
			peers, all[name] = append(peers, ls), r
			synctest.Wait()
			for i := range 5 {
				mustSend(t, a, peer, numbered(t, i, performatives.Normal))
				settle()
			}
		}
		b, c := all["b"], all["c"]
		var reading sync.WaitGroup
		reading.Go(func() { // Stop waits for b no more; b reads on
			time.Sleep(closeTime + time.Second)
			for range 4 {
				b.hold <- struct{}{}
			}
			_ = peers[0].Send(nodeA, numbered(t, 9, performatives.Normal)) // the acknowledgement of which b does not read yet
		})
		reading.Go(func() { // Stop waits for all messages to c
			for range 4 {
				time.Sleep(closeTime - time.Second)
				c.hold <- struct{}{}
			}
			close(c.hold)
			time.Sleep(closeTime - time.Second)
			close(b.hold)
		})
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		reading.Wait()
		synctest.Wait()
		peers[0].Remove(nodeA)
		equal(t, "at a", atA.messages(), []string{"9"})
		equal(t, "returned at a", atA.undelivered(), nil)
		equal(t, "returned at b", b.undelivered(), nil)
		n.finish(t, peers...)
	})
}

// A second Stop at the same time does not cut the first one short.
func TestLinksStopTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, _, atB := n.busy(t, 1, nil)
		stopped := make(chan error, 2)
		for range 2 {
			go func() { stopped <- a.Stop(t.Context()) }()
			synctest.Wait()
		}
		if len(stopped) > 0 {
			t.Errorf("%d calls of Stop have returned before b has read all", len(stopped))
		}
		close(atB.hold)
		for range 2 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}
		n.finish(t, b)
	})
}

// A node that stops does not wait for a stream that has broken at the other end only, when that end
// has opened another one.
func TestLinksStopOfAHalfOpenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{links: make(map[string]*Links), buffer: 10}
		var first *pipe // at a
		a, _ := n.newLinks(t, nodeA, func(o *LinksOptions) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, m cluster.Member) (Stream, error) {
				s, err := dial(ctx, m)
				if err != nil || first != nil {
					return s, err
				}
				half := *s.(*pipe) // b does not notice its end
				half.over, half.once = make(chan struct{}), new(sync.Once)
				first = &half
				return first, nil
			}
		})
		b, _ := n.newLinks(t, nodeB, nil)
		b.Add(cluster.Member{Incarnation: nodeA})
		a.Add(cluster.Member{Incarnation: nodeB})
		synctest.Wait()
		first.Close()
		begun := time.Now()
		if err := b.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took == 0 || took >= closeTime/2 {
			t.Errorf("Stop took %v", took)
		}
		n.finish(t, a)
	})
}

// A link that is given up while Stop waits does not hold Stop.
func TestLinksStopOfALinkThatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{buffer: 10}
		a, b, atA, _ := n.both(t, nil)
		atA.hold = make(chan struct{})
		synctest.Wait()
		for i := range 2 { // the second is not acknowledged
			mustSend(t, b, nodeA, numbered(t, i, performatives.Normal))
			settle()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stopped := make(chan error, 1)
		go func() { stopped <- b.Stop(ctx) }()
		synctest.Wait()
		e := b.find(nodeA)
		// The ends no longer know each other, over the stream that they have.
		earlier := &hello{from: nodeA, to: nodeB, session: 1, theirs: e.link.session, minVersion: 1, maxVersion: 1}
		if err := n.streams[0].Send((&frame{hello: earlier}).append(nil)); err != nil { // as if a had written it
			t.Fatal(err)
		}
		synctest.Wait()
		e.expire()
		synctest.Wait()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("Stop returns only with its context: %v", <-stopped)
		}
		close(atA.hold)
		n.finish(t, a)
	})
}

// A node that stops opens and takes no further stream while it waits for a node that is busy.
func TestLinksStopTakesNoFurtherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{links: make(map[string]*Links), buffer: 10}
		var dialled atomic.Int64 // by b
		b, _ := n.newLinks(t, nodeB, func(o *LinksOptions) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, m cluster.Member) (Stream, error) {
				dialled.Add(1)
				return dial(ctx, m)
			}
		})
		all := map[string]*recorder{}
		peers := []*Links{b}
		for _, name := range []string{"a", "c", "d"} { // a dials b, and b dials the others
			peer := cluster.Incarnation{Name: name, Epoch: 1}
			ls, r := n.newLinks(t, peer, nil)
			ls.Add(cluster.Member{Incarnation: nodeB})
			b.Add(cluster.Member{Incarnation: peer})
			all[name], peers = r, append(peers, ls)
		}
		all["d"].hold = make(chan struct{})
		synctest.Wait()
		time.Sleep(time.Second) // a may have dialled too early
		mustSend(t, b, cluster.Incarnation{Name: "d", Epoch: 1}, numbered(t, 1, performatives.Normal))
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- b.Stop(t.Context()) }()
		time.Sleep(closeTime / 2)
		select {
		case err := <-stopped:
			t.Errorf("stopped before d has read all: %v", err)
			stopped <- err
		default:
		}
		for name, r := range all {
			equal(t, "at "+name, r.seen(), []string{"connected b []"})
		}
		if got := dialled.Load(); got != 2 {
			t.Errorf("b has dialled %d times", got)
		}
		close(all["d"].hold)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		n.finish(t, peers...)
	})
}

// Messages of all lengths around those at which a frame copies them, or has them as parts, arrive
// as they were while their memory is used again.
func TestLinksContents(t *testing.T) {
	many := racetest.Fewer(3000)
	a, b := newNode(t, nodeA, nil, 0, nil), newNode(t, nodeB, nil, many, nil)
	a.links.Add(b.member(nodeB))
	b.links.Add(a.member(nodeA))
	var want []string
	for i := range many {
		size := i % 700
		if i%10 == 0 {
			size = short - 400 + i%500
		}
		if i%100 == 0 {
			size = 3 * short
		}
		m, err := numbered(t, i, performatives.Normal).With(func(e *performatives.Envelope) {
			e.Payload = performatives.Raw(fmt.Sprintf(`{"text":%q}`, strings.Repeat(string(rune('a'+i%26)), size)))
		})
		if err != nil {
			t.Fatal(err)
		}
		mustSend(t, a.links, nodeB, m)
		want = append(want, string(m.Payload().(performatives.Raw)))
	}
	await(t, "the messages", b.recorder.reached)
	for i, m := range b.recorder.received {
		if got := string(m.Payload().(performatives.Raw)); got != want[i] {
			t.Fatalf("message %d has changed: %d bytes, want %d", i, len(got), len(want[i]))
		}
	}
}

func TestDefaultBackoff(t *testing.T) {
	for attempt := 1; attempt < 100; attempt++ {
		if d := defaultBackoff(attempt); d < 25*time.Millisecond || d > 2*time.Second {
			t.Errorf("attempt %d waits for %v", attempt, d)
		}
	}
}

// Stop also acknowledges what a node sends while Stop waits for another node.
func TestLinksStopOfSeveral(t *testing.T) {
	lost := 0
	const rounds = 20
	for range rounds { // Stop takes the links in the order of a map
		synctest.Test(t, func(t *testing.T) {
			nodeC := cluster.Incarnation{Name: "c", Epoch: 1}
			n := network{links: make(map[string]*Links)}
			a, atA := n.newLinks(t, nodeA, nil)
			b, atB := n.newLinks(t, nodeB, nil)
			c, atC := n.newLinks(t, nodeC, nil)
			atC.hold = make(chan struct{}) // its reader is slow
			b.Add(cluster.Member{Incarnation: nodeA})
			c.Add(cluster.Member{Incarnation: nodeA})
			a.Add(cluster.Member{Incarnation: nodeB})
			a.Add(cluster.Member{Incarnation: nodeC})
			synctest.Wait()
			for i := range 2 {
				mustSend(t, a, nodeC, numbered(t, i, performatives.Normal))
				settle()
			}
			stopped := make(chan error, 1)
			go func() { stopped <- a.Stop(context.Background()) }()
			settle()
			close(atC.hold) // c acknowledges ackTime later
			time.Sleep(ackTime / 2)
			mustSend(t, b, nodeA, numbered(t, 7, performatives.Normal))
			synctest.Wait()
			if len(atA.messages()) != 1 {
				t.Fatal("not received")
			}
			if err := <-stopped; err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			b.Remove(nodeA)
			if len(atB.undelivered()) > 0 {
				lost++
			}
			n.finish(t, a, b, c)
		})
	}
	if lost > 0 {
		t.Errorf("%d of %d: a received message comes back as perhaps not received", lost, rounds)
	}
}

// Messages arrive as they were over connections that break, in both directions.
func TestLinksContentsOverBrokenConnections(t *testing.T) {
	many := racetest.Fewer(3000)
	short := func(o *LinksOptions) { o.Link = Options{Batch: 32 << 10, Window: 128 << 10} }
	a := newNode(t, nodeA, nil, many, short)
	b := newNode(t, nodeB, nil, many, short)
	p := newProxy(t, b.listener.Addr().String(), 100<<10)
	b.links.Add(a.member(nodeA))
	a.links.Add(cluster.Member{Incarnation: nodeB, Links: p.Addr().String()})
	text := func(side, i int) string {
		return fmt.Sprintf(`{"text":%q}`, strings.Repeat(string(rune('a'+(i*7+side)%26)), i*977%(10<<10)))
	}
	var senders sync.WaitGroup
	for side, s := range []struct {
		from *Links
		to   cluster.Incarnation
	}{{a.links, nodeB}, {b.links, nodeA}} {
		senders.Go(func() {
			for i := range many {
				m, err := numbered(t, i, performatives.Normal).With(func(e *performatives.Envelope) { e.Payload = performatives.Raw(text(side, i)) })
				if err != nil {
					t.Error(err)
				}
				if err := s.from.Send(s.to, m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	await(t, "b", b.recorder.reached)
	await(t, "a", a.recorder.reached)
	for side, r := range []*recorder{b.recorder, a.recorder} {
		if len(r.returned) > 0 || len(r.received) != many {
			t.Fatalf("%d received, %d returned", len(r.received), len(r.returned))
		}
		for i, m := range r.received {
			if got := string(m.Payload().(performatives.Raw)); got != text(side, i) {
				t.Fatalf("message %d has changed", i)
			}
		}
	}
	_ = p.Close()
}

// A refusal has its hint at the other node.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n network
		a, b, _, atB := n.both(t, nil)
		var got *performatives.Refusal
		atB.onReceive = func(m *performatives.Message) { got = m.AsRefusal() }
		refusal, err := performatives.New(performatives.Envelope{
			ID: "m", Sender: "x", Receiver: "y", InReplyTo: "r", Timestamp: time.Now(),
			Payload: performatives.TaskReject{ReasonCode: performatives.CodeBusy, RetryAfter: 250 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		mustSend(t, a, nodeB, refusal)
		synctest.Wait()
		if got == nil || got.Code != performatives.CodeBusy || got.RetryAfter != 250*time.Millisecond {
			t.Errorf("got %+v", got)
		}
		n.finish(t, a, b)
	})
}
