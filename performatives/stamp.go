package performatives

import "time"

// Stamp gives a new message its identity and its time. Whoever makes a message
// passes one in, so that this package hides neither a clock nor randomness and
// a simulation can replay both.
type Stamp struct {
	ID   MessageID
	Time time.Time
}

// Stamper makes stamps. An implementation is safe for concurrent use and never
// returns the same ID twice.
type Stamper interface {
	Stamp() Stamp
}
