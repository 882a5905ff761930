package membership

import (
	"fmt"
	"math"
	"time"
)

// Profile is the timing of failure detection and gossip, by the network between the nodes.
//
// A node is suspected when it answers neither a probe nor, in the same interval, one that others
// send for the prober. It fails SuspicionMult × log10(members, at least 10) intervals later, unless
// it contradicts, and twice as late when no other member confirms that. The members include those
// that died in the last 15 s (WAN: 60 s), so of two nodes, one of which has restarted, there is
// none to confirm.
type Profile uint8

// The profiles.
const (
	// LAN is for nodes in one data centre, and the default: a probe each 200 ms that waits for 100
	// ms, gossip each 50 ms, and push/pull with one other member each 5 s. With 50 nodes on one
	// machine, a member that dies has failed at all others after 1.6 s at most, and a new one is
	// known to all after 0.2 s. memberlist's own profile of this name takes 9.0 s for the former.
	LAN Profile = iota
	// Local is for nodes on one machine: LAN, bound to the loopback interface. memberlist's own
	// profile of this name spreads a message to so few that some nodes learn of a join by push/pull
	// only, up to 44 s later.
	Local
	// WAN is for nodes in several data centres: a probe each 2 s that waits for 1 s, gossip each
	// 200 ms, push/pull each 30 s. A member that dies fails 10 to 20 s later.
	WAN
	endOfProfiles
)

// String returns the name of the profile.
func (p Profile) String() string {
	switch p {
	case LAN:
		return "LAN"
	case Local:
		return "Local"
	case WAN:
		return "WAN"
	case endOfProfiles:
	}
	return fmt.Sprintf("Profile(%d)", uint8(p))
}

// timing is what a profile stands for. The fields have the meaning of those of memberlist's
// configuration.
type timing struct {
	probeInterval, probeTimeout     time.Duration
	indirectChecks                  int
	suspicionMult, suspicionMaxMult int
	gossipInterval                  time.Duration
	gossipNodes                     int
	gossipToDead                    time.Duration
	retransmitMult                  int
	pushPullInterval                time.Duration
	streamTimeout                   time.Duration
	rejoinMin, rejoinMax            time.Duration
}

func (p Profile) timing() timing {
	t := timing{
		probeInterval: 200 * time.Millisecond, probeTimeout: 100 * time.Millisecond, indirectChecks: 3,
		suspicionMult: 3, suspicionMaxMult: 2,
		gossipInterval: 50 * time.Millisecond, gossipNodes: 3, gossipToDead: 15 * time.Second,
		retransmitMult: 4, pushPullInterval: 5 * time.Second, streamTimeout: 5 * time.Second,
		rejoinMin: 500 * time.Millisecond, rejoinMax: 15 * time.Second,
	}
	switch p {
	case LAN:
	case Local:
		t.streamTimeout = 2 * time.Second
		t.rejoinMin, t.rejoinMax = 200*time.Millisecond, 5*time.Second
	case WAN:
		t.probeInterval, t.probeTimeout = 2*time.Second, time.Second
		t.suspicionMult = 5
		t.gossipInterval, t.gossipNodes, t.gossipToDead = 200*time.Millisecond, 4, time.Minute
		t.pushPullInterval, t.streamTimeout = 30*time.Second, 15*time.Second
		t.rejoinMin, t.rejoinMax = 2*time.Second, time.Minute
	case endOfProfiles:
	}
	return t
}

// telling returns how long each of n members passes a piece of news on.
func (t timing) telling(n int) time.Duration {
	return time.Duration(transmitLimit(t.retransmitMult, n)) * t.gossipInterval
}

// suspicion returns the shortest and the longest time that a member of n is suspected before it has
// failed: the former after another member has confirmed the suspicion, or when there is none to do
// so.
func (t timing) suspicion(n int) (least, most time.Duration) {
	scale := max(1, math.Log10(max(1, float64(n))))
	least = time.Duration(float64(t.suspicionMult) * scale * float64(t.probeInterval))
	if n-2 < t.suspicionMult-2 {
		return least, least
	}
	return least, least * time.Duration(t.suspicionMaxMult)
}
