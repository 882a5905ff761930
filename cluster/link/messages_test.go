package link

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

func TestBandsAreEmptiedFromTheHighest(t *testing.T) {
	a, b := pair(nil)
	for i, p := range []performatives.Priority{performatives.Low, performatives.Normal, performatives.High, performatives.Urgent} {
		send(t, a, uint64(10+i), p)
		send(t, a, uint64(20+i), p)
	}
	_, atB := meet(t, a, b)
	if want := []uint64{13, 23, 12, 22, 11, 21, 10, 20}; !slices.Equal(numbersOf(atB), want) {
		t.Errorf("got %d, want %d", numbersOf(atB), want)
	}
}

// An urgent message overtakes all that has not been sent, and is behind what the window holds at
// most.
func TestUrgentOvertakes(t *testing.T) {
	const window, many = 64 << 10, 100_000
	a, b := pair(func(a, _ *Options) { a.Window, a.Batch = window, 8<<10 })
	meet(t, a, b)
	low := message(t, performatives.Low, "")
	for i := range uint64(many) {
		if err := a.Send(low, envelope(i+1, 100)); err != nil {
			t.Fatal(err)
		}
	}
	size := 0
	var frames [][]byte
	for f := a.Next(noon); f != nil; f = a.Next(noon) { // until the window is full
		frames = append(frames, f)
		size += len(f)
	}
	if size < window*9/10 || size > window*11/10 {
		t.Fatalf("%d bytes are on their way, with a window of %d", size, window)
	}
	send(t, a, 1e9, performatives.Urgent)
	for _, f := range frames {
		receive(t, b, f, noon)
	}
	receive(t, a, b.Next(noon), noon)
	if got := numbersOf([]Received{receive(t, b, a.Next(noon), noon)}); got[0] != 1e9 {
		t.Errorf("the next message is %d", got[0])
	}
}

func codeOf(err error) performatives.Code {
	var r *performatives.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return r.Code
}

func TestSendIsRefused(t *testing.T) {
	small := func(a, _ *Options) { a.Capacity, a.Bytes = 2, 100 }
	low, urgent := message(t, performatives.Low, ""), message(t, performatives.Urgent, "")

	a, _ := pair(small)
	for range 2 {
		if err := a.Send(low, envelope(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Send(low, envelope(1, 0)); codeOf(err) != performatives.CodeBusy {
		t.Errorf("a full band: %v", err)
	}
	if err := a.Send(urgent, envelope(1, 0)); err != nil {
		t.Errorf("another band: %v", err)
	}
	if err := a.Send(urgent, envelope(1, 100)); codeOf(err) != performatives.CodeBusy {
		t.Errorf("too many bytes: %v", err)
	}

	a, _ = pair(small)
	if err := a.Send(low, make([]byte, 101)); err != nil {
		t.Errorf("one that is longer than all that may wait, alone: %v", err)
	}

	a, b := pair(small)
	if err := a.Send(low, make([]byte, MaxMessage+1)); codeOf(err) != performatives.CodeInvalidPayload {
		t.Errorf("too long: %v", err)
	}
	for _, principal := range []string{strings.Repeat("x", maxText+1), "\xff"} {
		if err := a.Send(message(t, performatives.Low, principal), envelope(1, 0)); codeOf(err) != performatives.CodeInvalidPayload {
			t.Errorf("the principal %.5q: %v", principal, err)
		}
	}
	if a.Pending() > 0 {
		t.Error("a refused message waits")
	}
	if err := a.Send(message(t, performatives.Low, strings.Repeat("x", maxText)), envelope(1, 0)); err != nil {
		t.Errorf("the longest principal: %v", err)
	}
	meet(t, a, b)
	for range 10 { // the bound is of what waits, not of all
		if err := a.Send(low, envelope(1, 40)); err != nil {
			t.Fatal(err)
		}
		exchange(t, a, b)
	}
}

func TestLongestMessage(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	body := envelope(1, MaxMessage-20)
	m := message(t, performatives.Low, strings.Repeat("x", maxText))
	for range 2 {
		if err := a.Send(m, body); err != nil {
			t.Fatal(err)
		}
	}
	if f := a.Next(noon); len(f) > MaxMessage+64<<10 {
		t.Errorf("the frame has %d bytes", len(f))
	} else {
		receive(t, b, f, noon)
	}
	if a.Next(noon) != nil {
		t.Error("more than the window is sent")
	}
	receive(t, a, b.Next(noon), noon)
	if a.Next(noon) == nil {
		t.Error("the second is not sent")
	}
}

// A frame in parts has the bytes of the frame. Long messages are not copied, and short ones are
// joined.
func TestParts(t *testing.T) {
	long := envelope(7, short)
	for _, c := range []struct {
		envelopes   [][]byte
		parts, same int
	}{{nil, 1, 0}, {[][]byte{long}, 2, 1}, {[][]byte{envelope(1, 1), long, long, envelope(2, 2), envelope(3, 3), long, envelope(4, 4)}, 6, 3}} {
		f := &frame{first: 1, sent: 2, envelopes: c.envelopes}
		parts := f.parts(newMemory)
		if got := slices.Concat(parts...); len(parts) != c.parts || !bytes.Equal(got, append(f.appendHead(nil), slices.Concat(c.envelopes...)...)) {
			t.Errorf("%d parts, want %d: %x", len(parts), c.parts, got)
		}
		same := 0
		for _, p := range parts {
			if &p[0] == &long[0] {
				same++
			}
		}
		if same != c.same {
			t.Errorf("%d long messages are not copied, want %d", same, c.same)
		}
	}
}

// An acknowledgement lets nothing be sent again that is still on its way.
func TestAcknowledgementOfAPart(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, a, 1, performatives.Normal)
	first := a.Next(noon)
	send(t, a, 2, performatives.Normal)
	a.Next(noon)
	receive(t, b, first, noon)
	receive(t, a, b.Next(noon), noon)
	if again := a.Next(noon); again != nil {
		t.Errorf("%x is sent", again)
	}
}

func TestBatch(t *testing.T) {
	a, b := pair(func(a, _ *Options) { a.Batch = 100 })
	meet(t, a, b)
	for i := range uint64(10) {
		if err := a.Send(message(t, performatives.Low, ""), envelope(i+1, 30)); err != nil {
			t.Fatal(err)
		}
	}
	for f := a.Next(noon); f != nil; f = a.Next(noon) {
		if n := len(receive(t, b, f, noon).Messages); n != 2 {
			t.Errorf("a frame has %d messages", n)
		}
	}
}

func TestControls(t *testing.T) {
	a, b := pair(nil)
	if a.SendControl([]byte("x")) {
		t.Error("taken without a stream")
	}
	meet(t, a, b)
	send(t, a, 1, performatives.Urgent)
	for _, text := range []string{"one", "", "two"} {
		if !a.SendControl([]byte(text)) {
			t.Fatalf("%q is not taken", text)
		}
	}
	r := receive(t, b, a.Next(noon), noon)
	if diff := cmp.Diff([][]byte{[]byte("one"), {}, []byte("two")}, r.Controls); diff != "" {
		t.Error(diff)
	}
	if a.SendControl(make([]byte, MaxMessage+1)) {
		t.Error("one that is too long is taken")
	}
	for range maxControls {
		if !a.SendControl(nil) {
			t.Fatal("too few are taken")
		}
	}
	if a.SendControl(nil) {
		t.Error("too many are taken")
	}
	if _, atB := meet(t, a, b); slices.ContainsFunc(atB, func(r Received) bool { return len(r.Controls) > 0 }) {
		t.Error("a control outlives the stream")
	}
}

// However long the controls are, a frame is not longer than one message may be, and messages
// follow.
func TestLongControls(t *testing.T) {
	racetest.Skip(t)
	a, b := pair(nil)
	meet(t, a, b)
	if err := a.Send(message(t, performatives.Urgent, ""), envelope(1, MaxMessage-20)); err != nil {
		t.Fatal(err)
	}
	taken := 0
	for a.SendControl(make([]byte, MaxMessage/4)) {
		taken++
	}
	if taken != 4 {
		t.Errorf("%d controls of a quarter of the longest message are taken", taken)
	}
	var all []Received
	for f := a.Next(noon); f != nil; f = a.Next(noon) {
		if len(f) > MaxMessage+64<<10 {
			t.Errorf("a frame has %d bytes", len(f))
		}
		all = append(all, receive(t, b, f, noon))
	}
	got := 0
	for _, r := range all {
		got += len(r.Controls)
	}
	if got != taken || len(numbersOf(all)) != 1 {
		t.Errorf("%d controls and %d messages arrive", got, len(numbersOf(all)))
	}
	if !a.SendControl(make([]byte, MaxMessage)) {
		t.Error("no room afterwards")
	}
}

func TestClocks(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, a, 1, performatives.Normal)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		f := a.Next(noon)
		if got := receive(t, b, f, noon.Add(ahead)).Messages[0].Ahead; got != ahead {
			t.Errorf("ahead %v, want %v", got, ahead)
		}
		send(t, a, 2, performatives.Normal)
	}
}

// What is sent again has the clock of that time.
func TestClockOfWhatIsSentAgain(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, a, 1, performatives.Normal)
	a.Next(noon)
	a.Open()
	b.Open()
	later := noon.Add(time.Minute)
	receive(t, a, b.Next(later), later)
	receive(t, b, a.Next(later), later)
	if got := receive(t, b, a.Next(later), later).Messages[0].Ahead; got != 0 {
		t.Errorf("ahead %v", got)
	}
}

func TestPrincipals(t *testing.T) {
	a, b := pair(nil)
	want := []string{"", "eve", "", "", "mallory", "eve", ""}
	for i, p := range want {
		if err := a.Send(message(t, performatives.Normal, p), envelope(uint64(i+1), 0)); err != nil {
			t.Fatal(err)
		}
	}
	_, atB := meet(t, a, b)
	var got []string
	for _, r := range atB {
		for _, m := range r.Messages {
			got = append(got, m.Origin.Principal)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A frame with an error changes nothing: the exchange goes on as if it had not come.
func TestMalformedFramesChangeNothing(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, b, 1, performatives.Normal)
	exchange(t, a, b)
	send(t, a, 2, performatives.Normal)
	toB := a.Next(noon) // a has one message in flight
	e := [][]byte{envelope(3, 0), envelope(4, 0)}
	frames := map[string][]byte{
		"a hello with a message":            (&frame{hello: &hello{from: nodeB, to: nodeA, session: 1, minVersion: 1, maxVersion: 1}, first: 2, envelopes: e}).append(nil),
		"a hello of another":                (&frame{hello: &hello{from: nodeA, to: nodeA, session: 1, minVersion: 1, maxVersion: 1}}).append(nil),
		"an acknowledgement of what is not": (&frame{ack: 2, first: 2, envelopes: e}).append(nil),
		"an acknowledgement of the largest": (&frame{ack: 1<<64 - 1}).append(nil),
		"the last one, of what is not":      (&frame{ack: 2, last: true}).append(nil),
		"a hello that is the last":          (&frame{hello: &hello{from: nodeB, to: nodeA, session: 1, minVersion: 1, maxVersion: 1}, last: true}).append(nil),
		"a gap":                             (&frame{first: 3, ack: 1, envelopes: e}).append(nil),
		"no number":                         (&frame{ack: 1, envelopes: e}).append(nil),
		"numbers that wrap":                 (&frame{ack: 1, first: 1<<64 - 1, envelopes: e}).append(nil),
		"a principal of no message":         (&frame{ack: 1, first: 2, envelopes: e, origins: []originOf{{2, performatives.Origin{Principal: "x"}}}}).append(nil),
		"principals out of order":           (&frame{ack: 1, first: 2, envelopes: e, origins: []originOf{{1, performatives.Origin{Principal: "x"}}, {0, performatives.Origin{Principal: "y"}}}}).append(nil),
		"a principal twice":                 (&frame{ack: 1, first: 2, envelopes: e, origins: []originOf{{1, performatives.Origin{Principal: "x"}}, {1, performatives.Origin{Principal: "y"}}}}).append(nil),
		"an empty origin":                   (&frame{ack: 1, first: 2, envelopes: e, origins: []originOf{{1, performatives.Origin{Principal: ""}}}}).append(nil),
		"an index that is too large":        (&frame{ack: 1, first: 2, envelopes: e, origins: []originOf{{1 << 62, performatives.Origin{Principal: "x"}}}}).append(nil),
		"an envelope that is a number":      protofield.AppendNumber((&frame{ack: 1, first: 2, envelopes: e}).append(nil), fieldEnvelope, 5),
		"a control that is a number":        protofield.AppendNumber((&frame{ack: 1}).append(nil), fieldControl, 5),
		"garbage":                           []byte("\xff\xff\xff"),
		"bye":                               append(Bye("x"), (&frame{ack: 1, first: 2, envelopes: e}).append(nil)...),
	}
	whole := (&frame{ack: 1, first: 2, sent: 5, origins: []originOf{{0, performatives.Origin{Principal: "x"}}}, controls: [][]byte{[]byte("c")}, envelopes: e}).append(nil)
	for i := range whole {
		if _, err := readFrame(whole[:i]); err != nil { // else it is a shorter frame
			frames[fmt.Sprintf("%d bytes", i)] = whole[:i]
		}
	}
	if len(frames) < len(whole)/2 {
		t.Fatalf("only %d frames", len(frames))
	}
	for name, data := range frames {
		before, gotLast := fmt.Sprintf("%+v", *a), a.gotLast
		r, err := a.Receive(data, noon)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(Received{}, r); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if f, err := readFrame(data); err == nil && f.bye != "" { // the one change
			if !a.gotLast {
				t.Errorf("%s: the bye is not recorded", name)
			}
			a.gotLast = gotLast
		}
		if after := fmt.Sprintf("%+v", *a); after != before {
			t.Errorf("%s: was\n%s, is\n%s", name, before, after)
		}
	}
	receive(t, b, toB, noon)
	exchange(t, a, b)
	if got := receive(t, a, whole, noon); len(got.Messages) != 2 || len(got.Controls) != 1 || a.Pending() > 0 {
		t.Errorf("the valid frame brings %+v", got)
	}
}

// An acknowledgement goes along with the next frame, or alone when it is asked for or when much was
// received.
func TestDelayedAcknowledgements(t *testing.T) {
	a, b := pair(func(a, b *Options) { a.DelayAcks, b.DelayAcks = true, true })
	meet(t, a, b)
	written := func(l *Link) *frame {
		t.Helper()
		data := l.Next(noon)
		if data == nil {
			return nil
		}
		f, err := readFrame(data)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if b.AckWaits() || b.Acknowledge() || written(b) != nil {
		t.Error("an acknowledgement of nothing")
	}
	send(t, a, 1, performatives.Normal)
	receive(t, b, a.Next(noon), noon)
	if !b.AckWaits() || written(b) != nil {
		t.Error("the acknowledgement does not wait")
	}
	send(t, b, 2, performatives.Normal)
	if f := written(b); f == nil || f.ack != 1 || len(f.envelopes) != 1 || b.AckWaits() {
		t.Errorf("the frame is %+v", f)
	}
	if f := written(b); b.Acknowledge() || f != nil {
		t.Errorf("again: %+v", f)
	}
	send(t, a, 3, performatives.Normal)
	receive(t, b, a.Next(noon), noon)
	if !b.Acknowledge() || b.AckWaits() {
		t.Error("the acknowledgement goes on waiting")
	}
	if f := written(b); f == nil || f.ack != 2 || len(f.envelopes) != 0 {
		t.Errorf("the frame is %+v", f)
	}
	for sent := 0; sent < DefaultWindow/4; sent += 1 << 16 {
		if b.unackedBytes != sent || sent > 0 && !b.AckWaits() {
			t.Fatalf("%d bytes are unacknowledged, want %d", b.unackedBytes, sent)
		}
		data := envelope(1, 1<<16)
		if err := a.Send(message(t, performatives.Normal, ""), data[:1<<16]); err != nil {
			t.Fatal(err)
		}
		f := &frame{first: b.received + 1, envelopes: [][]byte{envelopeOf(make([]byte, 1<<16-4))}}
		receive(t, b, f.append(nil), noon)
	}
	if f := written(b); f == nil || f.ack != b.received {
		t.Errorf("the frame is %+v", f)
	}
	// The next session of the peer has nothing to be acknowledged yet.
	receive(t, b, (&frame{first: b.received + 1, envelopes: [][]byte{envelope(1, 1)}}).append(nil), noon)
	b.Acknowledge()
	receive(t, b, (&frame{hello: &hello{from: nodeA, to: nodeB, session: 7, theirs: 1, minVersion: minVersion, maxVersion: maxVersion}}).append(nil), noon)
	if b.Acknowledge() {
		t.Error("a message of the session before is to be acknowledged")
	}
	receive(t, b, (&frame{first: 1, envelopes: [][]byte{envelope(1, 1)}}).append(nil), noon)
	// A stream that ends takes the wish for an acknowledgement along: the next hello has the
	// number.
	b.Open()
	if b.AckWaits() || b.Acknowledge() {
		t.Error("an acknowledgement outlives the stream")
	}
}

// A message that the window has no room for does not wait for an acknowledgement which the other
// end delays: whatever the lengths, all messages arrive without a call of Acknowledge.
func TestWindowDoesNotWaitForDelayedAcknowledgements(t *testing.T) {
	for _, windows := range [][2]int{{0, 0}, {4 * DefaultWindow, 0}, {4 * DefaultWindow, 2 * DefaultWindow}, {1000, 1000}, {1000, 500}, {1, 1}} {
		t.Run(fmt.Sprint(windows), func(t *testing.T) {
			dice := rand.New(rand.NewPCG(1, 2))
			rounds := 300
			if windows[0] != 1000 && windows[0] != 1 {
				rounds = 10
			}
			for range rounds {
				a, b := pair(func(a, b *Options) {
					a.DelayAcks, b.DelayAcks = true, true
					a.Window, b.Window = windows[0], windows[1]
				})
				meet(t, a, b)
				window, many := min(a.o.Window, DefaultWindow), 1+dice.IntN(8)
				var sizes []int
				for range many {
					size := []int{0, 1, window / 8, window/4 - 20, window / 4, window / 2, window - 20, window, window + 1, 2 * window}[dice.IntN(10)]
					sizes = append(sizes, size)
					if err := a.Send(message(t, performatives.Normal, ""), envelope(1, max(0, size))); err != nil {
						t.Fatal(err)
					}
				}
				if exchange(t, a, b); b.received != uint64(many) {
					t.Fatalf("%d of %d messages with %v bytes arrive; %d bytes are not acknowledged", b.received, many, sizes, a.weight)
				}
			}
		})
	}
}

// A message on its way over a link needs no memory besides its own.
func TestLinkAllocs(t *testing.T) {
	racetest.Skip(t) // which drops memory of pools
	ls, err := NewLinks(LinksOptions{Self: nodeA, Dialect: grpc.Dialect{}, Stamper: stamper{}})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, ls)
	a, b := pair(nil)
	meet(t, a, b)
	m, memory := sized(t, 1000), make([]byte, 0, DefaultBatch)
	reused := func(capacity int) []byte {
		if capacity > cap(memory) {
			t.Fatalf("a frame of %d bytes", capacity)
		}
		return memory
	}
	const many = 100
	pass := func(from, to *Link) (messages int) {
		for parts := from.NextParts(noon, 0, reused); len(parts) > 0; parts = from.NextParts(noon, 0, reused) {
			if len(parts) > 1 {
				t.Fatalf("a frame of %d parts", len(parts))
			}
			r, err := to.Receive(parts[0], noon)
			if err != nil {
				t.Fatal(err)
			}
			messages += len(r.Messages)
		}
		return messages
	}
	allocs := testing.AllocsPerRun(20, func() {
		for range many {
			p, err := ls.encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.send(p); err != nil {
				t.Fatal(err)
			}
		}
		if got := pass(a, b); got != many {
			t.Fatalf("%d messages", got)
		}
		pass(b, a)
		if a.Pending() > 0 {
			t.Fatal("not acknowledged")
		}
	})
	if allocs > 10 { // of each frame, the list of its parts; of a pool, at times
		t.Errorf("%v allocations for %d messages and their acknowledgement", allocs, many)
	}
}

// A queue is one of first in, first out, whose memory does not grow as long as it is short.
func TestQueue(t *testing.T) {
	var q queue
	pushed, popped := 0, 0
	push := func(n int) {
		for range n {
			q.push(parcel{data: make([]byte, pushed)})
			pushed++
		}
	}
	pop := func(n int) {
		for range n {
			if got := len(q.pop().data); got != popped {
				t.Fatalf("got %d, want %d", got, popped)
			}
			popped++
			for i, p := range q.all() {
				if len(p.data) != popped+i {
					t.Fatalf("parcel %d is %d", popped+i, len(p.data))
				}
			}
		}
	}
	push(20)
	for range 100 {
		pop(3)
		push(3)
	}
	if q.len() != 20 || cap(q.items) > 64 {
		t.Errorf("%d parcels in memory for %d", q.len(), cap(q.items))
	}
	pop(20)
	if q.len() != 0 || cap(q.items) == 0 || q.head != 0 {
		t.Errorf("%+v", q)
	}
	for _, p := range q.items[:cap(q.items)] {
		if p.data != nil {
			t.Fatal("a parcel is kept")
		}
	}
	push(maxIdle + 1)
	for range maxIdle + 1 {
		q.pop()
	}
	if cap(q.items) != 0 {
		t.Errorf("memory for %d parcels is kept", cap(q.items))
	}
}

// A queue keeps its memory between flights of 2,048 messages, which fill a window if they have 512
// bytes.
func TestQueueAllocs(t *testing.T) {
	var q queue
	const flight = DefaultWindow / 512
	if n := testing.AllocsPerRun(10, func() {
		for range flight {
			q.push(parcel{})
		}
		for range flight {
			q.pop()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A form that a frame may refer to is not in memory that is used again.
func TestEncode(t *testing.T) {
	ls, err := NewLinks(LinksOptions{Self: nodeA, Dialect: grpc.Dialect{}, Stamper: stamper{}})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, ls)
	for _, c := range []struct {
		payload any
		pooled  bool
	}{
		{performatives.Raw(`{}`), true},
		{map[string]string{"x": "y"}, true},
		{performatives.Raw(`{"x":"` + strings.Repeat("x", short) + `"}`), false},
		{map[string]string{"x": strings.Repeat("x", short)}, false}, // of which the length is not known before
	} {
		for range 2 {
			m, err := sized(t, 0).With(func(e *performatives.Envelope) { e.Payload = c.payload })
			if err != nil {
				t.Fatal(err)
			}
			p, err := ls.encode(m)
			switch {
			case err != nil:
				t.Fatal(err)
			case (p.memory != nil) != c.pooled, c.pooled != (len(p.data) < short):
				t.Errorf("%d bytes are pooled: %v", len(p.data), p.memory != nil)
			case c.pooled && &(*p.memory)[0] != &p.data[0]:
				t.Error("the form is in other memory")
			}
		}
	}
}

// The lists of one frame with very many messages are not kept for the life of the link.
func TestListsOfALongFrame(t *testing.T) {
	racetest.Skip(t)
	a, b := pair(nil)
	meet(t, a, b)
	const many = 1 << 19 // in 1 MiB; a frame may have 17
	f := (&frame{first: 1}).append(nil)
	f = append(f, bytes.Repeat([]byte{fieldEnvelope<<3 | 2, 0}, many)...)
	receive(t, b, f, noon)
	receive(t, b, (&frame{first: many + 1, envelopes: [][]byte{envelope(1, 1)}}).append(nil), noon)
	if cap(b.scratch.in.envelopes) > maxKept || cap(b.scratch.messages) > maxKept {
		t.Errorf("%d envelopes and %d messages are kept", cap(b.scratch.in.envelopes), cap(b.scratch.messages))
	}
}
