package performatives

import "time"

// Stamp is the identity and the time of a new message. The caller passes it in, so that
// this package contains neither a clock nor randomness, and a simulation can replay both.
type Stamp struct {
	ID   MessageID
	Time time.Time
}

// Stamper makes stamps. An implementation is safe for concurrent use and never
// returns the same ID twice.
type Stamper interface {
	Stamp() Stamp
}
