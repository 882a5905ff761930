package membership

import (
	"testing"
	"time"
)

// The times are those that the profiles document.
func TestTimesOfProfiles(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	const s = time.Second
	for profile, want := range map[Profile]timing{
		LAN:   {200 * ms, 100 * ms, 3, 3, 2, 50 * ms, 3, 15 * s, 4, 5 * s, 5 * s, 500 * ms, 15 * s},
		Local: {200 * ms, 100 * ms, 3, 3, 2, 50 * ms, 3, 15 * s, 4, 5 * s, 2 * s, 200 * ms, 5 * s},
		WAN:   {2 * s, s, 3, 5, 2, 200 * ms, 4, 60 * s, 4, 30 * s, 15 * s, 2 * s, 60 * s},
	} {
		if got := profile.timing(); got != want {
			t.Errorf("%s: %+v, want %+v", profile, got, want)
		}
	}
	g := start(t, Options{Name: "a", Profile: WAN})
	c := g.config
	if got := (timing{
		c.ProbeInterval, c.ProbeTimeout, c.IndirectChecks, c.SuspicionMult, c.SuspicionMaxTimeoutMult, c.GossipInterval, c.GossipNodes,
		c.GossipToTheDeadTime, c.RetransmitMult, c.PushPullInterval, c.TCPTimeout, g.timing.rejoinMin, g.timing.rejoinMax,
	}); got != WAN.timing() {
		t.Errorf("memberlist has %+v, want %+v", got, WAN.timing())
	}
	for _, test := range []struct {
		profile     Profile
		n           int
		least, most time.Duration
	}{
		{LAN, 0, 600 * ms, 600 * ms},
		{LAN, 2, 600 * ms, 600 * ms}, // nobody else can confirm it
		{LAN, 3, 600 * ms, 1200 * ms},
		{LAN, 10, 600 * ms, 1200 * ms},
		{LAN, 100, 1200 * ms, 2400 * ms},
		{WAN, 4, 10 * s, 10 * s},
		{WAN, 5, 10 * s, 20 * s},
	} {
		if least, most := test.profile.timing().suspicion(test.n); least != test.least || most != test.most {
			t.Errorf("%s with %d: from %v to %v", test.profile, test.n, least, most)
		}
	}
	for n, want := range map[int]time.Duration{1: 200 * ms, 9: 200 * ms, 10: 400 * ms, 99: 400 * ms, 100: 600 * ms} {
		if got := LAN.timing().telling(n); got != want {
			t.Errorf("news are passed on for %v among %d, want %v", got, n, want)
		}
	}
}
