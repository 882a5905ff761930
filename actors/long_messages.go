package actors

import (
	"math"

	"github.com/ribosome-agents/ribosome/performatives"
)

// kibibytes returns a size in units of 1 KiB, rounded up.
func kibibytes(bytes int) int32 { return int32(min((bytes+1023)>>10, math.MaxInt32/2)) }

// pushLong queues a message that has a weight, if LongBytes allows it.
func (m *Mailbox) pushLong(message *performatives.Message, i int) Reason {
	n := kibibytes(message.Weight())
	if !m.reserveLong(n) {
		return ReasonFull
	}
	reason := m.push(message, i, timely)
	if reason != 0 {
		m.longQueued.Add(-n)
	}
	return reason
}

// reserveLong adds n KiB to longQueued, and reports whether the limit allows it. The
// limit does not apply while no other long message is queued, nor before Start, because
// the invoker that refusals need is unknown until then.
func (m *Mailbox) reserveLong(n int32) bool {
	for {
		held := m.longQueued.Load()
		if held > 0 && held+n > m.config.longLimit && m.state.Load()&stateStarted != 0 {
			return false
		}
		if m.longQueued.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

// releaseLong subtracts a dequeued message from longQueued.
func (m *Mailbox) releaseLong(message any) {
	if long, ok := message.(*performatives.Message); ok && long.Weight() > 0 {
		m.longQueued.Add(-kibibytes(long.Weight()))
	}
}
