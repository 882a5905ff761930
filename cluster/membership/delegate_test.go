package membership

import (
	"fmt"
	"testing"
)

// A node passes on what it had not seen before: what comes from the origin alone reaches no more
// members than it is sent.
func TestANodePassesDeltasOn(t *testing.T) {
	t.Parallel()
	s := newState("")
	a := start(t, Options{Name: "a", Gossiped: s})
	d := &delegate{g: a.Gossip}
	packet := appendDelta([]byte{formatVersion, packetDeltas}, delta{77, 1, []byte("delta")})
	d.NotifyMsg(packet)
	d.NotifyMsg(packet)
	s.mu.Lock()
	if got := fmt.Sprint(s.received); got != "[delta]" {
		t.Errorf("received %s", got)
	}
	s.mu.Unlock()
	if packets := d.GetBroadcasts(3, len(packet)+2); packets != nil {
		t.Errorf("in a packet that has no room: %q", packets)
	}
	packets := d.GetBroadcasts(3, len(packet)+3)
	if len(packets) != 1 || string(packets[0]) != string(packet) {
		t.Errorf("passed on %q", packets)
	}
	for _, malformed := range [][]byte{nil, {formatVersion}, {9, packetBulk, 1}, {formatVersion, 9}, packet[:len(packet)-1]} {
		d.NotifyMsg(malformed)
	}
	d.MergeRemoteState([]byte{9}, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.received)+len(s.merged) != 1 {
		t.Errorf("received %q, merged %q", s.received, s.merged)
	}
}

// Without any state, deltas reach all members of a swarm that is larger than the number of times
// that one of them sends each.
func TestABroadcastReachesAllModels(t *testing.T) {
	t.Parallel()
	const size = 40
	w := newSimulation(1, NetworkOptions{})
	states := make([]*state, size)
	var first *Model
	for i := range states {
		states[i] = newState("")
		m, err := w.Start(Options{Name: fmt.Sprint("n", i), Gossiped: states[i], Seeds: []string{"n0:7946"}})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = m
		}
	}
	w.until(t, "all know all", func() bool { return len(first.Members()) == size })
	if err := first.Broadcast([]byte("delta")); err != nil {
		t.Fatal(err)
	}
	w.until(t, "all have it", func() bool {
		for _, s := range states[1:] {
			if len(s.received) != 1 {
				return false
			}
		}
		return true
	})
	if limit := deltaLimit(Local.timing().retransmitMult, size); limit >= size {
		t.Errorf("each sends it %d times: too few nodes", limit)
	}
}
