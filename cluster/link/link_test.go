package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

var (
	nodeA = cluster.Incarnation{Name: "a", Epoch: 7}
	nodeB = cluster.Incarnation{Name: "b", Epoch: 9}
	noon  = time.Unix(1_700_000_000, 0)
)

// message returns a message of that priority.
func message(t require, priority performatives.Priority, principal string) *performatives.Message {
	m, err := performatives.New(performatives.Envelope{
		ID: "018bcfe5-6800-7000-8000-000000000001", Performative: performatives.ActInform, Sender: "x", Receiver: "y", ConversationID: "c",
		Priority: priority, Principal: principal, Timestamp: noon, Payload: performatives.Raw{},
	})
	if err != nil {
		t.Fatalf("no message: %v", err)
	}
	return m
}

// require is what helpers need of a test.
type require interface {
	Helper()
	Fatalf(format string, args ...any)
}

// envelope returns a Frame of one envelope that begins with a number. A Link does not look into it.
func envelope(id uint64, size int) []byte {
	return envelopeOf(append(binary.BigEndian.AppendUint64(nil, id), make([]byte, size)...))
}

// envelopeOf returns a Frame of one envelope.
func envelopeOf(content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, fieldEnvelope, protowire.BytesType), content)
}

// idOf returns the number of an envelope.
func idOf(data []byte) uint64 {
	_, _, n := protowire.ConsumeTag(data)
	b, _ := protowire.ConsumeBytes(data[n:])
	return binary.BigEndian.Uint64(b)
}

// fate is what has become of a message that a link has accepted.
type fate struct {
	from, band int
	principal  string
	session    uint64 // in which it was sent; zero: it was not
	number     uint64 // in that session
	delivered  int
	returned   int
	maybe      bool // it was returned as sent
	lost       bool // the other end has forgotten it
}

// world is two links and the stream between them, in which every frame has a time of its own.
type world struct {
	t      require
	links  [2]*Link
	open   [2]bool     // this end has a stream
	flight [2][][]byte // frames on their way to this end
	fates  map[uint64]*fate
	byID   map[*performatives.Message]uint64
	last   [2][performatives.Bands]uint64 // the last message that was delivered at this end
	sent   [2]map[[2]uint64]uint64        // from this end: the message of a session and number
	floor  [2]uint64                      // messages of the other end's earlier sessions are not to be delivered at this one
	ends   int                            // sessions that were ended on purpose
	over   int
	plant  func(l *Link, f *frame, before bool) // breaks a link, or the frame, around a call of Receive
	bye    [2]bool                              // this end has written its last frame
	parted bool                                 // an end has read that the other one takes in nothing more
	// finished says that this end closes the link.
	finished [2]bool
}

func newWorld(t require) *world {
	w := &world{t: t, fates: make(map[uint64]*fate), byID: make(map[*performatives.Message]uint64)}
	for i := range w.links {
		w.links[i] = w.fresh(i, 1)
		w.sent[i] = make(map[[2]uint64]uint64)
	}
	return w
}

func (w *world) fresh(i int, session uint64) *Link {
	nodes := [2]cluster.Incarnation{nodeA, nodeB}
	return New(Options{Self: nodes[i], Peer: nodes[1-i], Session: session, Window: 400, Batch: 150, Capacity: 12, Bytes: 1500, DelayAcks: i == 1})
}

// send queues a message. It reports whether the link has accepted it.
func (w *world) send(i int, priority performatives.Priority, size int, principal string) {
	m := message(w.t, priority, principal)
	id := uint64(len(w.fates) + 1)
	if w.links[i].Send(m, envelope(id, size)) != nil {
		return
	}
	w.fates[id] = &fate{from: i, band: priority.Band(), principal: principal}
	w.byID[m] = id
}

// write moves the next frame of a link to the stream. It reports whether there was one.
func (w *world) write(i int) bool {
	data := w.links[i].Next(noon)
	if data == nil && w.links[i].Acknowledge() { // its time is up
		data = w.links[i].Next(noon)
	}
	if data == nil {
		return false
	}
	f, err := readFrame(data)
	if err != nil {
		w.t.Fatalf("node %d has written a frame that cannot be read: %v", i, err)
	}
	if w.bye[i] {
		w.t.Fatalf("node %d has written a frame after the last one: %+v", i, f)
	}
	w.bye[i] = f.bye != ""
	for k, e := range f.envelopes {
		w.numbered(i, idOf(e), f.first+uint64(k))
	}
	for n := f.ack; n > 0; n-- {
		id, ok := w.sent[1-i][[2]uint64{w.links[i].theirs, n}]
		if !ok || w.fates[id].delivered == 0 {
			w.t.Fatalf("node %d acknowledges the message %d of session %d (id %d), which was not delivered", i, n, w.links[i].theirs, id)
		}
	}
	if w.open[1-i] {
		w.flight[1-i] = append(w.flight[1-i], data)
	}
	return true
}

// numbered notes the number with which a message is written, which never changes.
func (w *world) numbered(i int, id, number uint64) {
	at, m := [2]uint64{w.links[i].session, number}, w.fates[id]
	if before := w.sent[i][at]; before != 0 && before != id || m.session != 0 && at != [2]uint64{m.session, m.number} {
		w.t.Fatalf("message %d of node %d gets the number %v, which is of message %d; it was %d in session %d before", id, i, at, before, m.number, m.session)
	}
	if m.returned > 0 {
		w.t.Fatalf("message %d was returned, and is sent", id)
	}
	w.sent[i][at], m.session, m.number = id, at[0], at[1]
}

// read takes the next frame from the stream into a link. It reports whether there was one.
func (w *world) read(i int) bool {
	if len(w.flight[i]) == 0 {
		return false
	}
	data := w.flight[i][0]
	w.flight[i] = w.flight[i][1:]
	f, err := readFrame(data)
	if err != nil {
		w.t.Fatalf("malformed: %v", err)
	}
	l := w.links[i]
	if w.plant != nil {
		w.plant(l, f, true)
		data = f.append(nil)
	}
	r, err := l.Receive(data, noon)
	w.parted = w.parted || f.last
	if err != nil && f.bye != "" { // what is on its way to the other end is lost
		w.cut(0)
		w.cut(1)
		return true
	}
	if err != nil {
		w.t.Fatalf("node %d refuses the frame %+v: %v", i, f, err)
	}
	if w.plant != nil {
		w.plant(l, f, false)
	}
	if r.Over {
		w.over++
	}
	w.returned(r.Returned)
	for _, m := range r.Messages {
		w.delivered(i, m)
	}
	return true
}

func (w *world) delivered(i int, in Inbound) {
	id := idOf(in.Data)
	m := w.fates[id]
	m.delivered++
	switch {
	case w.finished[i]:
		w.t.Fatalf("message %d is delivered to node %d, which takes in nothing more", id, i)
	case m.from == i || m.delivered > 1:
		w.t.Fatalf("message %d of node %d was delivered to %d for the %d. time", id, m.from, i, m.delivered)
	case w.last[i][m.band] >= id:
		w.t.Fatalf("message %d of band %d was delivered after %d", id, m.band, w.last[i][m.band])
	case m.session < w.floor[i], m.lost:
		w.t.Fatalf("message %d of session %d was delivered after the end of the session", id, m.session)
	case m.returned > 0 && !m.maybe:
		w.t.Fatalf("message %d was returned as not sent, and is delivered", id)
	case in.Origin.Principal != m.principal:
		w.t.Fatalf("message %d came with the principal %q, and was of %q", id, in.Origin.Principal, m.principal)
	}
	w.last[i][m.band] = id
}

func (w *world) returned(all []Returned) {
	for _, r := range all {
		m := w.fates[w.byID[r.Message]]
		m.returned++
		m.maybe = r.Sent
		switch {
		case m.returned > 1:
			w.t.Fatalf("message %d was returned twice", w.byID[r.Message])
		case m.delivered > 0 && !r.Sent:
			w.t.Fatalf("message %d was delivered, and is returned as not sent", w.byID[r.Message])
		case m.session != 0 && !r.Sent && !w.parted:
			w.t.Fatalf("message %d was sent, and is returned as not sent", w.byID[r.Message])
		}
	}
}

// cut ends the stream at one end. What it has written may still arrive.
func (w *world) cut(i int) {
	w.links[i].Close()
	w.open[i], w.flight[i], w.bye[i] = false, nil, false
}

// connect opens a stream at both ends, unless it is open at either.
func (w *world) connect() {
	if w.open[0] || w.open[1] {
		return
	}
	for i, l := range w.links {
		l.Open()
		w.open[i], w.flight[i] = true, nil
	}
}

// end ends the sessions at one end, which can be replaced by one that has forgotten everything.
func (w *world) end(i int, forget bool) {
	w.cut(i)
	if w.links[i].theirs > 0 {
		w.floor[i] = w.links[i].theirs + 1
	}
	w.returned(w.links[i].End())
	w.ends++
	if !forget {
		return
	}
	w.links[i] = w.fresh(i, w.links[i].session+1000)
	w.floor[i] = 0 // what was not sent yet can be sent to the new end
	for _, m := range w.fates {
		m.lost = m.lost || m.from == 1-i && m.session != 0
	}
}

// settle reconnects and runs until nothing happens any more, then checks that everything is
// accounted for.
func (w *world) settle() {
	w.cut(0)
	w.cut(1)
	w.connect()
	for moved, steps := true, 0; moved; steps++ {
		moved = false
		for i := range w.links {
			moved = w.write(i) || moved
			moved = w.read(i) || moved
		}
		if steps > 10_000 {
			w.t.Fatalf("the links do not come to rest")
		}
	}
	for i, l := range w.links {
		if !l.Met() || l.Pending() > 0 {
			w.t.Fatalf("node %d: met %v, %d in flight, %d bytes wait", i, l.Met(), l.flight.len(), l.bytes)
		}
	}
	for id, m := range w.fates {
		switch {
		case m.delivered == 0 && m.returned == 0:
			w.t.Fatalf("message %d was neither delivered nor returned", id)
		case w.ends == 0 && m.returned > 0:
			w.t.Fatalf("message %d was returned, although no session was ended", id)
		}
	}
	if w.ends == 0 && w.over > 0 {
		w.t.Fatalf("a session is over, although none was ended")
	}
}

// run lets happen what the test draws.
func (w *world) run(t *rapid.T, steps int) {
	ending := rapid.Bool().Draw(t, "ending")
	for range steps {
		i := rapid.IntRange(0, 1).Draw(t, "end")
		switch op := rapid.IntRange(0, 99).Draw(t, "op"); {
		case op < 25:
			principal := rapid.SampledFrom([]string{"", "", "eve"}).Draw(t, "principal")
			w.send(i, performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), rapid.IntRange(0, 120).Draw(t, "size"), principal)
		case op < 55:
			w.write(i)
		case op < 85:
			w.read(i)
		case op < 90:
			w.cut(i)
		case op < 97:
			w.connect()
		case op < 99 && ending:
			w.end(i, false)
		case ending:
			w.end(i, true)
		}
	}
	w.settle()
}

// Two links over a stream that breaks at any moment account for every message once, in order within
// a band, and sessions that end end at both ends.
func TestLinkProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newWorld(t).run(t, rapid.IntRange(1, 150).Draw(t, "steps"))
	})
}

// Of a link that one end or both close in order, no message is returned that was delivered,
// although messages are sent until the end, and a stream may break. What an end has taken before it
// closes the link arrives, unless the other end closes it, too. Nothing is delivered at an end that
// closes the link.
func TestLinkClosedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.connect()
		closes := rapid.SampledFrom([][]int{{0}, {1}, {0, 1}, {1, 0}}).Draw(t, "closes")
		step := func() {
			i := rapid.IntRange(0, 1).Draw(t, "end")
			switch op := rapid.IntRange(0, 9).Draw(t, "op"); {
			case op < 3:
				w.send(i, performatives.Normal, 50, "")
			case op < 6:
				w.write(i)
			default:
				w.read(i)
			}
		}
		for _, i := range closes {
			for range rapid.IntRange(0, 40).Draw(t, "steps") {
				step()
			}
			w.links[i].Finish()
			w.finished[i] = true
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			step()
		}
		if rapid.Bool().Draw(t, "breaks") {
			w.cut(0)
			w.cut(1)
			w.connect()
		}
		for rounds := 0; w.open[0] || w.open[1]; rounds++ {
			for i := range w.links {
				w.send(i, performatives.Normal, 50, "")
				w.write(i)
				w.read(i)
			}
			if rounds > 1000 {
				t.Fatalf("the link does not end")
			}
		}
		opensAgain := rapid.Bool().Draw(t, "opens again") // and breaks
		if opensAgain {
			w.connect()
			for range rapid.IntRange(0, 40).Draw(t, "steps") {
				step()
			}
		}
		w.end(0, false)
		w.end(1, false)
		for id, m := range w.fates {
			if m.delivered+m.returned == 0 || !opensAgain && (m.delivered+m.returned > 1 || m.maybe) {
				t.Fatalf("message %d of node %d was delivered %d times, and returned %d times, as perhaps received: %t", id, m.from, m.delivered, m.returned, m.maybe)
			}
			if w.finished[m.from] && !w.finished[1-m.from] && m.delivered == 0 {
				t.Fatalf("message %d of node %d, which was taken before it closed the link, was not delivered", id, m.from)
			}
		}
	})
}

// A message that was sent and not acknowledged comes back as not received only if the peer has
// said, over the last stream, that it takes in nothing more.
func TestWhatTheEndSaysOfMessages(t *testing.T) {
	bye := func(l *Link, data []byte) {
		t.Helper()
		if _, err := l.Receive(data, noon); !errors.Is(err, ErrClosed) {
			t.Fatalf("got %v, want %v", err, ErrClosed)
		}
	}
	sends := func(a, b *Link) {
		t.Helper()
		send(t, a, 1, performatives.Normal)
		if data := a.Next(noon); b != nil && len(receive(t, b, data, noon).Messages) != 1 {
			t.Fatal("not received")
		}
	}
	for name, c := range map[string]struct {
		run  func(a, b *Link)
		sent bool
	}{
		"closed": {func(a, b *Link) {
			b.Finish()
			sends(a, nil)
			receive(t, a, b.Next(noon), noon)
			bye(a, b.Next(noon))
		}, false},
		"closed, and broken before the bye": {func(a, b *Link) {
			b.Finish()
			sends(a, nil)
			receive(t, a, b.Next(noon), noon)
			a.Close()
		}, false},
		"closed, and broken before it is known": {func(a, b *Link) {
			b.Finish()
			sends(a, nil)
			b.Next(noon)
			a.Close()
		}, true},
		"closed by a former build, which says only its bye": {func(a, _ *Link) {
			sends(a, nil)
			bye(a, Bye("the node stops"))
		}, false},
		"closed, then refused": {func(a, b *Link) {
			b.Finish()
			sends(a, nil)
			receive(t, a, b.Next(noon), noon)
			a.Open()
			bye(a, Bye("x"))
		}, false},
		"refused": {func(a, b *Link) {
			sends(a, b)
			a.Open()
			bye(a, Bye("x"))
		}, true},
		"closed before it is sent, over a later stream": {func(a, b *Link) {
			b.Finish()
			receive(t, a, b.Next(noon), noon)
			bye(a, b.Next(noon))
			a.Open()
			b.Open()
			toA := b.Next(noon)
			receive(t, a, toA, noon)
			a.Next(noon) // its hello
			sends(a, nil)
		}, true},
	} {
		a, b := pair(nil)
		meet(t, a, b)
		c.run(a, b)
		if got := a.End(); len(got) != 1 || got[0].Sent != c.sent {
			t.Errorf("%s: %+v is returned, want Sent %t", name, got, c.sent)
		}
	}
}

// Two ends that finish at the same time do not wait for acknowledgements of messages that neither
// takes in.
func TestBothEndsFinish(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	both := [2]*Link{a, b}
	for i, l := range both {
		send(t, l, uint64(i), performatives.Normal)
		l.Finish()
		if err := l.Send(message(t, performatives.Normal, ""), envelope(9, 0)); codeOf(err) != performatives.CodeStopped {
			t.Errorf("after Finish: %v", err)
		}
	}
	frames := [2][]byte{a.Next(noon), b.Next(noon)}
	for i, l := range both {
		if r := receive(t, l, frames[1-i], noon); len(r.Messages) > 0 {
			t.Errorf("node %d takes %v in", i, r.Messages)
		}
	}
	for i, l := range both {
		if _, err := both[1-i].Receive(l.Next(noon), noon); !errors.Is(err, ErrClosed) {
			t.Errorf("node %d: %v, want %v", i, err, ErrClosed)
		}
	}
	for i, l := range both {
		if got := l.End(); len(got) != 1 || got[0].Sent {
			t.Errorf("node %d returns %+v", i, got)
		}
	}
}

// Nothing is sent to a peer that takes in nothing more, and Stop has nothing to wait for.
func TestNothingIsSentToAPeerThatFinishes(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	b.Finish()
	receive(t, a, b.Next(noon), noon)
	if !a.SendControl([]byte("x")) {
		t.Error("a text is not taken")
	}
	if r := receive(t, b, a.Next(noon), noon); len(r.Controls) > 0 {
		t.Errorf("the texts %q are taken in", r.Controls)
	}
	send(t, a, 1, performatives.Normal)
	if frame := a.Next(noon); frame != nil || a.Pending() > 0 {
		t.Errorf("a frame of %d bytes is sent, and %d messages wait", len(frame), a.Pending())
	}
	if got := a.End(); len(got) != 1 || got[0].Sent {
		t.Errorf("%+v is returned", got)
	}
}

// A frame has as many messages as fit in a batch, and one that is longer on its own.
func TestBatches(t *testing.T) {
	const size = 100
	whole := len(envelope(0, size))
	for batch, want := range map[int][]int{1: {1, 1, 1, 1, 1}, whole: {1, 1, 1, 1, 1}, 2*whole - 1: {1, 1, 1, 1, 1}, 2 * whole: {2, 2, 1}, 4 * whole: {4, 1}, 5*whole + 1: {5}} {
		a, b := pair(func(a, _ *Options) { a.Batch = batch })
		meet(t, a, b)
		for i := range uint64(5) {
			if err := a.Send(message(t, performatives.Normal, ""), envelope(i, size)); err != nil {
				t.Fatal(err)
			}
		}
		var got []int
		for frame := a.Next(noon); frame != nil; frame = a.Next(noon) {
			got = append(got, len(receive(t, b, frame, noon).Messages))
		}
		if !slices.Equal(got, want) {
			t.Errorf("batches of %d bytes, of messages of %d: %v, want %v", batch, whole, got, want)
		}
	}
}

// A text that is no longer sent is not taken.
func TestControlAfterTheLastFrame(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	a.Finish()
	if !a.SendControl([]byte("x")) {
		t.Error("a text before the last frame is not taken")
	}
	if r := receive(t, b, a.Next(noon), noon); len(r.Controls) != 1 {
		t.Error("the text does not arrive")
	}
	if _, err := b.Receive(a.Next(noon), noon); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
	if a.SendControl([]byte("x")) {
		t.Error("a text after the last frame is taken")
	}
}

// What has been received and is sent again, since the peer was told of less, is dropped.
func TestDuplicatesAreDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.plant = func(_ *Link, f *frame, before bool) {
			if before && f.hello != nil {
				f.hello.received = 0
			}
		}
		w.run(t, 100)
	})
}

// faults are links that are broken in one place each.
var faults = map[string]func(l *Link, f *frame, before bool){
	"duplicates are taken": func(l *Link, f *frame, before bool) {
		switch {
		case before && f.hello != nil:
			f.hello.received = 0 // so that there are some
		case before && len(f.envelopes) > 0 && f.first <= l.received:
			l.received = f.first - 1
		}
	},
	"acknowledgements are not sent": func(l *Link, _ *frame, before bool) {
		if !before {
			l.ackPending = false
		}
	},
	"more is acknowledged than was received": func(l *Link, f *frame, before bool) {
		if !before && len(f.envelopes) > 0 {
			l.received++
		}
	},
	"nothing is sent again": func(l *Link, f *frame, before bool) {
		if !before && f.hello != nil {
			l.resent = l.flight.len()
		}
	},
	"the last message is not sent again": func(l *Link, f *frame, before bool) {
		if !before && f.hello != nil && l.flight.len() > 0 {
			l.flight.items = l.flight.items[:len(l.flight.items)-1]
			l.next--
		}
	},
	"the floor is not checked": func(l *Link, f *frame, before bool) {
		if before && f.hello != nil {
			l.floor = 0
		}
	},
	"a session that was forgotten is continued": func(l *Link, f *frame, before bool) {
		if before && f.hello != nil {
			l.theirs, l.received = max(l.theirs, f.hello.session), 0
		}
	},
	"an ended session returns nothing": func(l *Link, f *frame, before bool) {
		if before && f.hello != nil && l.session < f.hello.floor {
			l.flight, l.weight, l.next = queue{}, 0, 1
		}
	},
	"the bands have no order": func(l *Link, _ *frame, before bool) {
		for i := range l.bands {
			b := l.bands[i].all()
			if before && len(b) > 1 {
				slices.Reverse(b)
			}
		}
	},
}

// stopped is what a failed check panics with, where a failure is what the test wants.
type stopped string

type catcher struct{}

func (catcher) Helper()                           {}
func (catcher) Fatalf(format string, args ...any) { panic(stopped(fmt.Sprintf(format, args...))) }

// TestLinkPropertyFindsFaults checks that the property fails on links with a fault.
func TestLinkPropertyFindsFaults(t *testing.T) {
	racetest.Skip(t)
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			run := rapid.Custom(func(t *rapid.T) (found string) {
				defer func() {
					switch r := recover().(type) {
					case nil:
					case stopped:
						found = string(r)
					default:
						panic(r)
					}
				}()
				w := newWorld(catcher{})
				w.plant = fault
				w.run(t, 150)
				return ""
			})
			for seed := range 2000 {
				if found := run.Example(seed); found != "" {
					t.Logf("seed %d: %s", seed, found)
					return
				}
			}
			t.Error("not found")
		})
	}
}

// Streams that break within a frame of full length bring all messages to the other end all the
// same: frames get shorter, and long again when a stream holds.
func TestShortStreams(t *testing.T) {
	const messages, size, breaks = 30, 1000, 3000 // bytes after which a stream breaks
	links := [2]*Link{New(Options{Self: nodeA, Peer: nodeB}), New(Options{Self: nodeB, Peer: nodeA})}
	send := func() {
		for i := range uint64(messages) {
			if err := links[0].Send(message(t, performatives.Normal, ""), envelope(i, size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	send()
	var got []uint64
	longest := 0
	for streams := 0; len(got) < messages; streams++ {
		if streams > 2*messages {
			t.Fatalf("after %d streams, %d of %d messages have arrived", streams, len(got), messages)
		}
		for _, l := range links {
			l.Open()
		}
		longest = max(longest, converse(t, links, breaks, &got))
	}
	for i, id := range got {
		if id != uint64(i) {
			t.Fatalf("the messages come as %v", got)
		}
	}
	if longest < messages*size {
		t.Errorf("the longest frame has %d bytes: the streams are not too short for it", longest)
	}
	for range 10 { // over one stream: each acknowledgement makes frames longer
		send()
		longest = converse(t, links, 1<<30, &got)
	}
	if longest < messages*size {
		t.Errorf("the longest frame has %d bytes when the stream holds", longest)
	}
}

// converse passes frames over a stream until there are none, or until it breaks after so many
// bytes. It returns the length of the longest frame.
func converse(t *testing.T, links [2]*Link, breaks int, got *[]uint64) (longest int) {
	t.Helper()
	for passed, idle := 0, false; passed <= breaks && !idle; {
		idle = true
		for i, l := range links {
			frame := l.Next(noon)
			longest = max(longest, len(frame))
			if passed += len(frame); frame == nil || passed > breaks {
				continue
			}
			idle = false
			r, err := links[1-i].Receive(frame, noon)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range r.Messages {
				*got = append(*got, idOf(m.Data))
			}
		}
	}
	return longest
}
