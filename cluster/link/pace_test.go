package link

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// slowNetwork carries the frames of one link to the other in order: at a rate, and each for a time
// besides. Acknowledgements take that time, too.
type slowNetwork struct {
	t     *testing.T
	a, b  *Link
	trip  time.Duration
	now   time.Time
	free  time.Time // when the network can take the next frame
	there []carried // frames on their way to b
	back  []carried // to a
	got   map[uint64]time.Time
	next  uint64
}

type carried struct {
	data []byte
	at   time.Time
}

// run has a message of 1,000 bytes always ready to be sent for a time, at a rate in bytes a second.
// It returns the bytes that have arrived.
func (n *slowNetwork) run(length time.Duration, rate int) (bytes int) {
	low := message(n.t, performatives.Low, "")
	for end := n.now.Add(length); n.now.Before(end); n.now = n.now.Add(100 * time.Microsecond) {
		for n.a.bytes < 4<<20 {
			n.next++
			if err := n.a.Send(low, envelope(n.next, 1000)); err != nil {
				n.t.Fatal(err)
			}
		}
		for f := n.a.Next(n.now); f != nil; f = n.a.Next(n.now) {
			if n.free.Before(n.now) {
				n.free = n.now
			}
			n.free = n.free.Add(time.Duration(len(f)) * time.Second / time.Duration(rate))
			n.there = append(n.there, carried{f, n.free.Add(n.trip)})
		}
		for len(n.there) > 0 && !n.there[0].at.After(n.now) {
			r := receive(n.t, n.b, n.there[0].data, n.now)
			bytes += len(n.there[0].data)
			n.there = n.there[1:]
			for _, number := range numbersOf([]Received{r}) {
				n.got[number] = n.now
			}
			n.back = append(n.back, carried{n.b.Next(n.now), n.now.Add(n.trip)})
		}
		for len(n.back) > 0 && !n.back[0].at.After(n.now) {
			receive(n.t, n.a, n.back[0].data, n.now)
			n.back = n.back[1:]
		}
	}
	return bytes
}

// urgent returns how long an URGENT message is on its way while others wait.
func (n *slowNetwork) urgent(rate int) time.Duration {
	const number = 1 << 40
	began := n.now
	send(n.t, n.a, number, performatives.Urgent)
	delete(n.got, number)
	for n.got[number].IsZero() {
		n.run(time.Millisecond, rate)
	}
	return n.got[number].Sub(began)
}

func newNetwork(t *testing.T, trip time.Duration) *slowNetwork {
	a, b := pair(nil)
	meet(t, a, b)
	return &slowNetwork{t: t, a: a, b: b, trip: trip, now: noon, free: noon, got: map[uint64]time.Time{}}
}

// An URGENT message passes those that wait for a slow network in some 13 ms, and the network is
// used as before. A network whose way is long, and one that has become fast again, have the whole
// window.
func TestPace(t *testing.T) {
	const slow, fast = 5_000_000, 150_000_000
	n := newNetwork(t, time.Millisecond)
	n.run(100*time.Millisecond, fast)
	before := n.urgent(fast)
	n.run(time.Second, slow)
	if got := n.urgent(slow); before > 20*time.Millisecond || got > 20*time.Millisecond {
		t.Errorf("an URGENT message takes %v over a fast network, and %v over a slow one", before, got)
	}
	if got := n.run(time.Second, slow); got < slow*95/100 {
		t.Errorf("%d bytes a second arrive, of %d", got, slow)
	}
	limit := n.a.pace.limit
	for range 100 { // short answers come fast, and do not show what a full window would meet
		n.a.pace.sent(n.a.next, n.now)
		n.a.pace.acknowledged(n.a.next, n.now.Add(2*n.trip), n.a.o.Window)
	}
	if n.a.pace.limit != limit {
		t.Errorf("%d bytes became %d without a message that waited", limit, n.a.pace.limit)
	}
	n.run(time.Second/2, fast)
	if n.a.pace.limit != n.a.o.Window {
		t.Errorf("a fast network has %d bytes on their way at most", n.a.pace.limit)
	}
	far := newNetwork(t, 150*time.Millisecond)
	if far.run(2*time.Second, fast); far.a.pace.limit != far.a.o.Window {
		t.Errorf("a long way has %d bytes at most", far.a.pace.limit)
	}
}

// A shortest round trip of more than a minute ago is forgotten: the way has become longer.
func TestPaceForgets(t *testing.T) {
	const rate = 20_000_000
	n := newNetwork(t, time.Millisecond)
	n.run(100*time.Millisecond, rate)
	n.trip = 50 * time.Millisecond
	if n.run(time.Second, rate); n.a.pace.limit > 2*minPace {
		t.Errorf("a longer way has %d bytes at once", n.a.pace.limit)
	}
	for range 2 {
		n.now = n.now.Add(basePeriod)
		n.run(300*time.Millisecond, rate)
	}
	if n.run(2*time.Second, rate); n.a.pace.limit < 3*minPace {
		t.Errorf("the longer way has %d bytes for ever", n.a.pace.limit)
	}
}
