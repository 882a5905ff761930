package codons

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Times are how long the answering side of a codon gives its agents. The zero value
// has the defaults.
type Times struct {
	// Deadline is how long a handler may take whose request names no ReplyBy. Zero
	// means [DefaultDeadline].
	Deadline time.Duration
	// Grace is how long a handler has to return once its context has ended: then an
	// asker that sent CANCEL is told that it still runs, and [actors.WorkAbandoned]
	// is published. Zero means [DefaultGrace].
	Grace time.Duration
}

func (t Times) withDefaults() Times {
	if t.Deadline <= 0 {
		t.Deadline = DefaultDeadline
	}
	if t.Grace <= 0 {
		t.Grace = DefaultGrace
	}
	return t
}

// deadline is until when the answer to m may take.
func (t Times) deadline(m *performatives.Message) time.Time {
	if by := m.ReplyBy(); !by.IsZero() {
		return by
	}
	return time.Now().Add(t.Deadline)
}

// deadline is until when the handler of the latest request may take: where that does
// not say, the time that the conversation has kept since the request came.
func (c *conversation) deadline(t Times) time.Time {
	if c.request.ReplyBy().IsZero() {
		if at, ok := c.timers.at(timerDeadline); ok {
			return at
		}
	}
	return t.deadline(c.request)
}

// timer is how long a timer of an answering side runs from now on.
func (t Times) timer(c *conversation, name string) time.Duration {
	if name == timerGrace {
		return t.Grace
	}
	return time.Until(t.deadline(c.request))
}
