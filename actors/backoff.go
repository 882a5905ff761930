package actors

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// The defaults of [Backoff].
const (
	DefaultBackoffMin    = 100 * time.Millisecond //nolint:revive // a minimum, not minutes
	DefaultBackoffMax    = 30 * time.Second
	DefaultBackoffFactor = 2
)

// Backoff is an exponential backoff: the delay starts at Min, grows by Factor with each
// attempt, and is at most Max. The zero value works.
type Backoff struct {
	// Min is the first delay. Zero means [DefaultBackoffMin].
	Min time.Duration
	// Max is the longest delay, jitter included. Zero means [DefaultBackoffMax],
	// or Min when that is longer.
	Max time.Duration
	// Factor is the ratio of a delay to the delay before it. Zero means
	// [DefaultBackoffFactor].
	Factor float64
	// Jitter is the random part of a delay, from 0 to 1. The delay is evenly distributed
	// over its last Jitter part, so that children that failed together do not restart
	// together. Zero means none.
	Jitter float64
}

// Delay returns the delay before the given retry. The first retry is attempt 1; an
// attempt below 1 has no delay. random returns numbers in [0, 1) and is called once if
// there is jitter. A nil random disables jitter.
func (b Backoff) Delay(attempt int, random func() float64) time.Duration {
	if attempt < 1 {
		return 0
	}
	b = b.withDefaults()
	// For large attempts the power is +Inf, and min returns Max.
	delay := min(float64(b.Min)*math.Pow(b.Factor, float64(attempt-1)), float64(b.Max))
	if b.Jitter > 0 && random != nil {
		delay -= delay * b.Jitter * random()
	}
	return time.Duration(delay)
}

// withDefaults returns a copy with the zero values filled in.
func (b Backoff) withDefaults() Backoff {
	b.Min = cmp.Or(b.Min, DefaultBackoffMin)
	b.Max = cmp.Or(b.Max, max(b.Min, DefaultBackoffMax))
	b.Factor = cmp.Or(b.Factor, DefaultBackoffFactor)
	return b
}

// validate returns an error that names the first invalid field.
func (b Backoff) validate() error {
	switch {
	case b.Min < 0:
		return fmt.Errorf("actors: Backoff.Min: want a positive duration, got %v", b.Min)
	case b.Max < b.Min:
		return fmt.Errorf("actors: Backoff.Max: want at least Min, %v, got %v", b.Min, b.Max)
	case !(b.Factor >= 1):
		return fmt.Errorf("actors: Backoff.Factor: want at least 1, got %v", b.Factor)
	case !(b.Jitter >= 0 && b.Jitter <= 1):
		return fmt.Errorf("actors: Backoff.Jitter: want 0 to 1, got %v", b.Jitter)
	}
	return nil
}
