package actors

import (
	"math/bits"

	"github.com/ribosome-agents/ribosome/performatives"
)

// patience is after how many messages of other bands a waiting band has a turn.
// When all three bands that can be passed over are due at once, the last of them
// has waited for two more: 62, so that each band gets at least one in 63.
const patience = 60

// turns decides which band is served next: the highest that waits, unless a
// lower one has waited for its share. Each band has a share of its own, because
// one for all of them would go to the lowest and starve those between.
type turns struct {
	served  uint16                      // messages, ever, modulo 2^16
	last    [performatives.Bands]uint16 // served, when the band was last served or began to wait
	waiting uint8                       // the bands that waited when next was last called
	claimed uint8                       // the bands of which a claim is not used up
}

// next returns which of the waiting bands, at least one of which must wait, to
// serve, and counts it as served.
func (t *turns) next(waiting uint8) int {
	if waiting != t.waiting {
		t.begin(waiting)
	}
	top := bits.Len8(waiting) - 1
	if lower := waiting &^ (1 << top); lower != 0 {
		top = t.due(lower, top)
	}
	t.served++
	t.last[top] = t.served
	return top
}

// due returns the band of lower that has waited longest, if that is too long,
// and otherwise top.
func (t *turns) due(lower uint8, top int) int {
	longest := uint16(patience - 1)
	for lower != 0 {
		b := bits.TrailingZeros8(lower)
		lower &^= 1 << b
		if wait := t.served - t.last[b]; wait > longest {
			longest, top = wait, b
		}
	}
	return top
}

// begin starts the wait of the bands that did not wait before.
func (t *turns) begin(waiting uint8) {
	for fresh := waiting &^ t.waiting; fresh != 0; fresh &= fresh - 1 {
		t.last[bits.TrailingZeros8(fresh)] = t.served
	}
	t.waiting = waiting
}
