package actors

import (
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

// Backoff is how long to wait between attempts: Min, then Factor times longer
// each time, up to Max. The zero value works.
type Backoff struct {
	// Min is the first delay. Zero means [DefaultBackoffMin].
	Min time.Duration
	// Max is the longest delay, jitter included. Zero means [DefaultBackoffMax],
	// or Min when that is longer.
	Max time.Duration
	// Factor is by how much a delay is longer than the one before. Zero means
	// [DefaultBackoffFactor].
	Factor float64
	// Jitter is the part of a delay that is random, from 0 to 1: the delay is
	// spread evenly over its last Jitter part, so that what failed together does
	// not come back together. Zero means none.
	Jitter float64
}

// Delay returns how long to wait before the given attempt to try again; the
// first is attempt 1, and an earlier one has no delay. random returns numbers in
// [0, 1), and is called once if there is jitter; nil stands for no jitter.
func (b Backoff) Delay(attempt int, random func() float64) time.Duration {
	if attempt < 1 {
		return 0
	}
	b = b.withDefaults()
	// The power is +Inf for large attempts, and then Max is less.
	delay := min(float64(b.Min)*math.Pow(b.Factor, float64(attempt-1)), float64(b.Max))
	if b.Jitter > 0 && random != nil {
		delay -= delay * b.Jitter * random()
	}
	return time.Duration(delay)
}

// withDefaults returns a copy with the zero values filled in.
func (b Backoff) withDefaults() Backoff {
	if b.Min == 0 {
		b.Min = DefaultBackoffMin
	}
	if b.Max == 0 {
		b.Max = max(b.Min, DefaultBackoffMax)
	}
	if b.Factor == 0 {
		b.Factor = DefaultBackoffFactor
	}
	return b
}

// validate reports the field that cannot be.
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
