package actors

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffDelay(t *testing.T) {
	b := Backoff{Min: time.Second, Max: time.Minute, Factor: 3}
	for attempt, want := range []time.Duration{0, 1, 3, 9, 27, 60, 60} {
		if got := b.Delay(attempt, nil); got != want*time.Second {
			t.Errorf("attempt %d: %v, want %v", attempt, got, want*time.Second)
		}
	}
	if got := (Backoff{}).Delay(1, nil); got != DefaultBackoffMin {
		t.Errorf("the zero value begins with %v", got)
	}
	if got := (Backoff{}).Delay(math.MaxInt, nil); got != DefaultBackoffMax {
		t.Errorf("the zero value ends with %v", got)
	}
}

func TestBackoffJitterStaysInItsPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{Min: time.Second, Max: time.Minute, Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter")}
		attempt := rapid.IntRange(1, 100).Draw(t, "attempt")
		seed := rapid.Uint64().Draw(t, "seed")
		full := b.Delay(attempt, nil)
		got := b.Delay(attempt, rand.New(rand.NewPCG(seed, 0)).Float64)
		if got > full || float64(got) < float64(full)*(1-b.Jitter)-1 {
			t.Fatalf("attempt %d: %v of %v, with jitter %v", attempt, got, full, b.Jitter)
		}
		if again := b.Delay(attempt, rand.New(rand.NewPCG(seed, 0)).Float64); again != got {
			t.Fatalf("the same seed gives %v and %v", got, again)
		}
	})
}
