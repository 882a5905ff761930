package membership

import (
	"testing"
	"time"
)

// The times are those that the profiles document.
func TestTimesOfProfiles(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for profile, want := range map[Profile][5]time.Duration{
		LAN: {200 * ms, 100 * ms, 50 * ms, 5 * time.Second, 5 * time.Second}, Local: {200 * ms, 100 * ms, 50 * ms, 5 * time.Second, 2 * time.Second},
		WAN: {2 * time.Second, time.Second, 200 * ms, 30 * time.Second, 15 * time.Second},
	} {
		p := profile.timing()
		if got := [5]time.Duration{p.probeInterval, p.probeTimeout, p.gossipInterval, p.pushPullInterval, p.streamTimeout}; got != want {
			t.Errorf("%s: %v, want %v", profile, got, want)
		}
		if p.rejoinMin <= 0 || p.rejoinMax <= p.rejoinMin || p.gossipToDead <= p.pushPullInterval {
			t.Errorf("%s: %+v", profile, p)
		}
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
		{WAN, 4, 10 * time.Second, 10 * time.Second},
		{WAN, 5, 10 * time.Second, 20 * time.Second},
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
