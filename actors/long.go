package actors

import (
	"math"

	"github.com/ribosome-agents/ribosome/performatives"
)

// units is how much of the room for long messages so many bytes are: units of 1 KiB, the
// last one begun counts.
func units(bytes int) int32 { return int32(min((bytes+1023)>>10, math.MaxInt32/2)) }

// pushLong queues a message that has a weight, if there is room for it.
func (m *Mailbox) pushLong(message *performatives.Message, i int) Reason {
	n := units(message.Weight())
	if !m.reserve(n) {
		return ReasonFull
	}
	reason := m.push(message, i, false)
	if reason != 0 {
		m.long.Add(-n)
	}
	return reason
}

// reserve takes room for a long message, if there is enough or nobody else has any. Before
// the start nothing is refused: nobody knows yet in whose name.
func (m *Mailbox) reserve(n int32) bool {
	for {
		held := m.long.Load()
		if held > 0 && held+n > m.config.long && m.word.Load()&wordStarted != 0 {
			return false
		}
		if m.long.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

// lighten gives back the room of a message that is not queued any more.
func (m *Mailbox) lighten(message any) {
	if long, ok := message.(*performatives.Message); ok && long.Weight() > 0 {
		m.long.Add(-units(long.Weight()))
	}
}
