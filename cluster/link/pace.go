package link

import (
	"cmp"
	"time"
)

const (
	// minPace is the least bound of the bytes in flight.
	minPace = 64 << 10
	// queueTime is the longest wait of a message on its way behind others: with a longer one, fewer
	// bytes are sent. The aim is half of it.
	queueTime = 10 * time.Millisecond
	// basePeriod is the age at which a round trip is forgotten, because routes change.
	basePeriod = time.Minute
)

// pace bounds the bytes in flight, so that a message which overtakes all that wait has few before
// it on its way: an acknowledgement that takes longer than the shortest one shows how long messages
// wait in the buffers of the network and of the peer. It is the control of delay of LEDBAT (RFC
// 6817) with one measurement a round trip.
type pace struct {
	limit int       // the present bound; at most Options.Window
	probe uint64    // the message whose acknowledgement is timed; zero: none
	at    time.Time // when it was sent
	full  bool      // a message has waited for room since then
	least [2]time.Duration
	since time.Time // when the period of least[0] began; least[1] is of the one before
}

// sent begins a measurement with a message that has been sent.
func (p *pace) sent(number uint64, now time.Time) {
	if p.probe == 0 {
		p.probe, p.at, p.full = number, now, false
	}
}

// acknowledged ends the measurement if it is of that message or an earlier one. most is the largest
// bound.
func (p *pace) acknowledged(number uint64, now time.Time, most int) {
	if p.probe == 0 || number < p.probe {
		return
	}
	p.probe = 0
	trip := max(now.Sub(p.at), 1)
	if now.Sub(p.since) > basePeriod {
		p.least, p.since = [2]time.Duration{trip, p.least[0]}, now
	}
	p.least[0] = min(p.least[0], trip)
	switch queued := trip - min(p.least[0], cmp.Or(p.least[1], trip)); {
	case queued > queueTime:
		p.limit = max(p.limit/2, int(int64(p.limit)*int64(queueTime/2)/int64(queued)), min(minPace, most))
	case queued < queueTime/2 && p.full:
		p.limit = min(p.limit+p.limit/4+1, most)
	}
}
