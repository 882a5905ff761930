package link

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/protofield"
	"github.com/ribosome-agents/ribosome/performatives"
)

// pair returns two links without a stream.
func pair(change func(a, b *Options)) (a, b *Link) {
	oa, ob := Options{Self: nodeA, Peer: nodeB}, Options{Self: nodeB, Peer: nodeA}
	if change != nil {
		change(&oa, &ob)
	}
	return New(oa), New(ob)
}

// receive passes a frame to a link that must take it.
func receive(t *testing.T, l *Link, data []byte, now time.Time) Received {
	t.Helper()
	r, err := l.Receive(data, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// meet opens a stream and exchanges frames until none are left. It returns what each end has
// received.
func meet(t *testing.T, a, b *Link) (atA, atB []Received) {
	t.Helper()
	a.Open()
	b.Open()
	return exchange(t, a, b)
}

func exchange(t *testing.T, a, b *Link) (atA, atB []Received) {
	t.Helper()
	for {
		toB, toA := a.Next(noon), b.Next(noon)
		if toA == nil && toB == nil {
			return atA, atB
		}
		if toB != nil {
			atB = append(atB, receive(t, b, toB, noon))
		}
		if toA != nil {
			atA = append(atA, receive(t, a, toA, noon))
		}
	}
}

// numbersOf returns the numbers of the messages that were received.
func numbersOf(all []Received) (ids []uint64) {
	for _, r := range all {
		for _, m := range r.Messages {
			ids = append(ids, idOf(m.Data))
		}
	}
	return ids
}

func send(t *testing.T, l *Link, id uint64, p performatives.Priority) *performatives.Message {
	t.Helper()
	m := message(t, p, "")
	if err := l.Send(m, envelope(id, 0)); err != nil {
		t.Fatal(err)
	}
	return m
}

func over(all []Received) (n int) {
	for _, r := range all {
		if r.Over {
			n++
		}
	}
	return n
}

func returnedOf(all []Received) (list []Returned) {
	for _, r := range all {
		list = append(list, r.Returned...)
	}
	return list
}

func TestHelloIsRefused(t *testing.T) {
	valid := func() hello {
		return hello{from: nodeB, to: nodeA, session: 1, minVersion: 1, maxVersion: 1}
	}
	for name, change := range map[string]func(h *hello){
		"for another node":          func(h *hello) { h.to.Name = "c" },
		"for another epoch":         func(h *hello) { h.to.Epoch++ },
		"from another node":         func(h *hello) { h.from.Name = "c" },
		"from another epoch":        func(h *hello) { h.from.Epoch++ },
		"only later versions":       func(h *hello) { h.minVersion, h.maxVersion = 2, 3 },
		"only earlier versions":     func(h *hello) { h.minVersion, h.maxVersion = 0, 0 },
		"received what was not":     func(h *hello) { h.theirs, h.received = 1, 1 },
		"without a session":         func(h *hello) { h.session = 0 },
		"without an epoch":          func(h *hello) { h.from.Epoch = 0 },
		"without the peer's epoch":  func(h *hello) { h.to.Epoch = 0 },
		"without a name":            func(h *hello) { h.from.Name = "" },
		"a name that is no text":    func(h *hello) { h.from.Name = "\xff" },
		"a table without a name":    func(h *hello) { h.tables = map[string]uint64{"": 1} },
		"a table with a long name":  func(h *hello) { h.tables = map[string]uint64{strings.Repeat("x", maxText+1): 1} },
		"with an acknowledgement":   nil,
		"with a message":            nil,
		"with a control":            nil,
		"with a bye":                nil,
		"with two, the last broken": nil,
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(nil)
			a.Open()
			a.Next(noon)
			h := valid()
			f := &frame{hello: &h}
			switch {
			case change != nil:
				change(&h)
			case name == "with an acknowledgement":
				f.ack = 1
			case name == "with a message":
				f.first, f.envelopes = 1, [][]byte{envelope(1, 0)}
			case name == "with a control":
				f.controls = [][]byte{{1}}
			case name == "with a bye":
				f.bye = "x"
			}
			data := f.append(nil)
			if name == "with two, the last broken" {
				data = protofield.AppendText(data, fieldHello, "\xff")
			}
			r, err := a.Receive(data, noon)
			if err == nil || !errors.Is(err, errStream) || a.Met() {
				t.Fatalf("got %+v, %v; met %v", r, err, a.Met())
			}
			if diff := cmp.Diff(Received{}, r); diff != "" {
				t.Error(diff)
			}
			meet(t, a, b)
			if !a.Met() || !b.Met() {
				t.Error("the next stream does not work")
			}
		})
	}
}

func TestVersionsOverlap(t *testing.T) {
	a, _ := pair(nil)
	a.Open()
	r := receive(t, a, (&frame{hello: &hello{from: nodeB, to: nodeA, session: 1, minVersion: 0, maxVersion: 9}}).append(nil), noon)
	if !r.Met {
		t.Error("a node that also speaks later versions is refused")
	}
}

func TestLongestWaitOfAPeer(t *testing.T) {
	for told, want := range map[uint64]time.Duration{0: 0, 7: 7 * time.Millisecond, math.MaxUint64: maxWait * time.Millisecond} {
		a, b := pair(nil)
		meet(t, a, b)
		if r := receive(t, a, (&frame{wait: told}).append(nil), noon); r.Wait != want {
			t.Errorf("%d ms are %v", told, r.Wait)
		}
	}
}

func TestNothingPassesBeforeTheHello(t *testing.T) {
	for name, f := range map[string]*frame{
		"message":         {first: 1, envelopes: [][]byte{envelope(1, 0)}},
		"control":         {controls: [][]byte{{1}}},
		"acknowledgement": {ack: 1},
	} {
		a, _ := pair(nil)
		a.Open()
		if r, err := a.Receive(f.append(nil), noon); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	a, b := pair(nil)
	send(t, a, 1, performatives.Normal)
	if a.Next(noon) != nil {
		t.Error("there is a frame without a stream")
	}
	a.Open()
	if hello, second := a.Next(noon), a.Next(noon); hello == nil || second != nil {
		t.Errorf("before the other hello: %x, then %x", hello, second)
	}
	if a.SendControl([]byte("x")) {
		t.Error("a control is taken before the hello")
	}
	b.Open()
	receive(t, a, b.Next(noon), noon)
	if a.Next(noon) == nil {
		t.Error("there is no message after the hello")
	}
}

func TestTablesDiffer(t *testing.T) {
	a, b := pair(func(a, b *Options) {
		a.Tables = map[string]uint64{"z": 1, "y": 2, "same": 3, "only here": 4}
		b.Tables = map[string]uint64{"z": 2, "y": 1, "same": 3, "only there": 4}
	})
	meet(t, a, b)
	if want := []string{"y", "z"}; !slices.Equal(a.Differ(), want) || !slices.Equal(b.Differ(), want) {
		t.Errorf("got %q and %q, want %q", a.Differ(), b.Differ(), want)
	}
}

// When one end has ended the session, the other one learns of it when they meet, whoever says hello
// first.
func TestEndedSession(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		t.Run(first+" first", func(t *testing.T) {
			a, b := pair(nil)
			meet(t, a, b)
			send(t, b, 1, performatives.Normal)
			exchange(t, a, b)
			sent := send(t, b, 2, performatives.Normal)
			b.Next(noon) // is lost
			waits := send(t, b, 3, performatives.Low)
			mine := send(t, a, 4, performatives.Normal)
			if diff := cmp.Diff([]Returned{{mine, false}}, a.End(), cmp.Comparer(same)); diff != "" {
				t.Error(diff)
			}
			next := send(t, a, 5, performatives.Normal) // of the next session
			a.Open()
			b.Open()
			x, y := a, b
			if first == "b" {
				x, y = b, a
			}
			r := receive(t, y, x.Next(noon), noon)
			if y == a && (r.Met || a.Met()) {
				t.Error("the ended session is taken again")
			}
			rest := receive(t, x, y.Next(noon), noon)
			atA, atB := exchange(t, a, b)
			all := slices.Concat([]Received{r, rest}, atA, atB)
			if diff := cmp.Diff([]Returned{{sent, true}, {waits, false}}, returnedOf(all), cmp.Comparer(same)); diff != "" {
				t.Error(diff)
			}
			if over(all) != 1 || !a.Met() || !b.Met() {
				t.Errorf("over %d times; met %v and %v", over(all), a.Met(), b.Met())
			}
			if diff := cmp.Diff([]uint64{5}, numbersOf(all)); diff != "" {
				t.Errorf("%s (message %v)", diff, next.ID())
			}
			send(t, b, 6, performatives.Normal)
			if atA, _ := exchange(t, a, b); !slices.Equal(numbersOf(atA), []uint64{6}) {
				t.Errorf("in the new session %d", numbersOf(atA))
			}
		})
	}
}

// An end that was replaced has forgotten what it had received: the other one learns of it, whoever
// says hello first, and even if the first stream between them breaks after one hello.
func TestForgottenSession(t *testing.T) {
	for _, order := range []string{"old first", "new first", "old is lost", "new is lost"} {
		t.Run(order, func(t *testing.T) {
			a, b := pair(nil)
			meet(t, a, b)
			send(t, b, 1, performatives.Normal)
			receive(t, a, b.Next(noon), noon) // is not acknowledged
			a, _ = pair(func(a, _ *Options) { a.Session = 100 })
			a.Open()
			b.Open()
			fromA, fromB := a.Next(noon), b.Next(noon)
			var all []Received
			switch order {
			case "old first":
				all = append(all, receive(t, a, fromB, noon), receive(t, b, fromA, noon))
			case "new first":
				all = append(all, receive(t, b, fromA, noon), receive(t, a, fromB, noon))
			case "old is lost":
				all = append(all, receive(t, b, fromA, noon))
				a.Open()
				b.Open()
			case "new is lost":
				all = append(all, receive(t, a, fromB, noon))
				a.Open()
				b.Open()
			}
			atA, atB := exchange(t, a, b)
			all = slices.Concat(all, atA, atB)
			if got := returnedOf(all); len(got) != 1 || !got[0].Sent || over(all) != 1 || len(numbersOf(all)) > 0 {
				t.Errorf("returned %v, over %d times, delivered %d", got, over(all), numbersOf(all))
			}
			if !a.Met() || !b.Met() {
				t.Errorf("met %v and %v", a.Met(), b.Met())
			}
		})
	}
}

// An end that only received has nothing to return, but its peers are lost all the same.
func TestForgottenReceiver(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, a, 1, performatives.Normal)
	exchange(t, a, b)
	a, _ = pair(func(a, _ *Options) { a.Session = 100 })
	if _, atB := meet(t, a, b); over(atB) != 1 {
		t.Errorf("over %d times", over(atB))
	}
}

// A session that the peer could not read the hello of goes on.
func TestUnreadHello(t *testing.T) {
	a, b := pair(nil)
	a.Open()
	b.Open()
	receive(t, a, b.Next(noon), noon)
	a.Next(noon)
	send(t, a, 1, performatives.Normal)
	a.Next(noon) // neither arrives
	atA, atB := meet(t, a, b)
	if over(atA)+over(atB) > 0 || len(returnedOf(atA)) > 0 || !slices.Equal(numbersOf(atB), []uint64{1}) {
		t.Errorf("over %d, returned %d, delivered %d", over(atA)+over(atB), len(returnedOf(atA)), numbersOf(atB))
	}
}

func same(a, b *performatives.Message) bool { return a == b }

// The acknowledgement of what was sent before the peer's second hello is none of something that was
// not sent.
func TestSecondHello(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	send(t, a, 1, performatives.Normal)
	second := b.hello().append(nil)
	receive(t, b, a.Next(noon), noon)
	receive(t, a, second, noon)
	receive(t, a, b.Next(noon), noon)
	if a.Pending() > 0 {
		t.Error("the acknowledgement was not taken")
	}
}

func TestBye(t *testing.T) {
	a, b := pair(nil)
	meet(t, a, b)
	r, err := a.Receive(Bye("it rains"), noon)
	if err == nil || !strings.Contains(err.Error(), "it rains") || len(r.Messages) > 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	a, _ = pair(nil)
	a.Open()
	if _, err := a.Receive(Bye("who are you?"), noon); err == nil || !strings.Contains(err.Error(), "who are you?") {
		t.Errorf("before a hello: %v", err)
	}
	if _, err := a.Receive(Bye(strings.Repeat("x", maxText+1)), noon); err == nil || !strings.Contains(err.Error(), "without a reason") {
		t.Errorf("a long reason: %v", err)
	}
	if a.Peer() != (cluster.Incarnation{Name: "b", Epoch: 9}) {
		t.Errorf("the peer is %v", a.Peer())
	}
}
