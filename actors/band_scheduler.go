package actors

import (
	"math/bits"

	"github.com/ribosome-agents/ribosome/performatives"
)

// fairnessLimit is the number of messages from other bands after which a waiting band is
// served. When three bands reach it at the same time, the last of them has waited for two
// more messages, 62. So each waiting band gets at least one of any 63 messages.
const fairnessLimit = 60

// bandScheduler selects the band to serve next: the highest waiting band, unless a lower
// band has waited for fairnessLimit messages. Each band has its own limit: a shared one
// would always go to the lowest band, and starve the bands between.
type bandScheduler struct {
	served  uint16                      // messages served so far, modulo 2^16
	last    [performatives.Bands]uint16 // value of served when the band was last served or began to wait
	waiting uint8                       // the bands that waited at the last call of next
	claimed uint8                       // the bands whose claim is not empty
}

// next returns the band to serve, and counts it as served. At least one band must wait.
func (s *bandScheduler) next(waiting uint8) int {
	if waiting != s.waiting {
		s.startWaiting(waiting)
	}
	top := bits.Len8(waiting) - 1
	if lower := waiting &^ (1 << top); lower != 0 {
		top = s.overdue(lower, top)
	}
	s.served++
	s.last[top] = s.served
	return top
}

// overdue returns the band of lower that has waited longest, if it has waited for
// fairnessLimit messages, and otherwise top.
func (s *bandScheduler) overdue(lower uint8, top int) int {
	longest := uint16(fairnessLimit - 1)
	for lower != 0 {
		b := bits.TrailingZeros8(lower)
		lower &^= 1 << b
		if wait := s.served - s.last[b]; wait > longest {
			longest, top = wait, b
		}
	}
	return top
}

// startWaiting records the beginning of the wait for bands that did not wait before.
func (s *bandScheduler) startWaiting(waiting uint8) {
	for fresh := waiting &^ s.waiting; fresh != 0; fresh &= fresh - 1 {
		s.last[bits.TrailingZeros8(fresh)] = s.served
	}
	s.waiting = waiting
}
