package actors

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
)

// For any sequence of waiting bands, a waiting band is served at least once in 64
// messages, and otherwise the highest band is served.
func TestBandSchedulerShareIsOneIn64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			turns   bandScheduler
			waits   [performatives.Bands]int // messages of other bands served since the band began to wait
			waiting = uint8(rapid.IntRange(1, 15).Draw(t, "waiting"))
		)
		for range rapid.IntRange(1, 500).Draw(t, "messages") {
			b := turns.next(waiting)
			if waiting&(1<<b) == 0 {
				t.Fatalf("served band %d, of %04b", b, waiting)
			}
			if top := bits.Len8(waiting) - 1; b != top && waits[b] < fairnessLimit {
				t.Fatalf("band %d overtook band %d after %d messages", b, top, waits[b])
			}
			for i := range waits {
				if i == b || waiting&(1<<i) == 0 {
					waits[i] = 0
				} else if waits[i]++; waits[i] > 63 {
					t.Fatalf("band %d waited for %d messages", i, waits[i])
				}
			}
			if rapid.IntRange(0, 40).Draw(t, "change") == 0 {
				waiting = uint8(rapid.IntRange(1, 15).Draw(t, "waiting"))
				for i := range waits {
					if waiting&(1<<i) == 0 {
						waits[i] = 0
					}
				}
			}
		}
	})
}

// Each of three lower bands gets its share, including the middle ones.
func TestBandSchedulerServesEveryBandUnderLoad(t *testing.T) {
	var turns bandScheduler
	var served [performatives.Bands]int
	for range 6400 {
		served[turns.next(0b1111)]++
	}
	for b, n := range served[:3] {
		if n < 100 || n > 110 {
			t.Errorf("band %d was served %d times in 6400, want 100 to 110", b, n)
		}
	}
}
