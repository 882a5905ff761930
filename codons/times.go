package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Defaults of the times of a conversation.
const (
	// DefaultDeadline is the time that a conversation has when neither side sets a deadline.
	DefaultDeadline = 5 * time.Minute
	// DefaultGrace is the time that a cancelled handler has to return before the responder
	// sends FAILURE. An initiator waits twice as long.
	DefaultGrace = 5 * time.Second
	// DefaultRetry is the time before the first retry of a request without an answer, see
	// [Retry].
	DefaultRetry = 10 * time.Second
)

// Times are the limits that a responder sets to the handlers of its agent. The zero value means
// the defaults.
type Times struct {
	// Deadline is the time that a handler has for a request without a ReplyBy. Zero or less
	// means [DefaultDeadline].
	Deadline time.Duration
	// Grace is the time that a handler has to return after its context has ended. Then the
	// responder answers a CANCEL with FAILURE, and [actors.WorkAbandoned] is published. Zero or
	// less means [DefaultGrace].
	Grace time.Duration
	// Depth is the largest number of levels of conversations below a handler. The [Depth] of
	// the request's budget is no more than it. Zero or less means [DefaultDepth].
	Depth int64
}

func (t Times) withDefaults() Times {
	if t.Deadline <= 0 {
		t.Deadline = DefaultDeadline
	}
	if t.Grace <= 0 {
		t.Grace = DefaultGrace
	}
	if t.Depth <= 0 {
		t.Depth = DefaultDepth
	}
	return t
}

// until returns the deadline of m.
func (t Times) until(m *performatives.Message, now time.Time) time.Time {
	if by := m.ReplyBy(); !by.IsZero() {
		return by
	}
	return now.Add(t.Deadline)
}

// until returns the deadline of the latest request: its ReplyBy, else the deadline timer of the
// conversation, which was armed when the request came.
func (v *Value) until(t Times) time.Time {
	if v.request.ReplyBy().IsZero() && !v.deadline.IsZero() {
		return v.deadline
	}
	return t.until(v.request, v.at.Updated)
}

// timer returns the time from now until a timer of the responder is due.
func (t Times) timer(v *Value, name string, now time.Time) time.Duration {
	if name == TimerGrace {
		return t.Grace
	}
	return t.until(v.request, now).Sub(now)
}
