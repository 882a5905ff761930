package codons

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
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
	// responder answers a CANCEL with FAILURE, and [events.WorkAbandoned] is published. Zero or
	// less means [DefaultGrace].
	Grace time.Duration
	// Depth is the largest number of levels of conversations below a handler. The [Depth] of
	// the request's budget is no more than it. Zero or less means [DefaultDepth].
	Depth int64

	own map[string]time.Duration // of [Service.WithTimer], by timer
}

func (t Times) withDefaults() Times {
	t.Deadline = cmp.Or(max(t.Deadline, 0), DefaultDeadline)
	t.Grace = cmp.Or(max(t.Grace, 0), DefaultGrace)
	t.Depth = cmp.Or(max(t.Depth, 0), DefaultDepth)
	return t
}

// until returns the deadline of m.
func (t Times) until(m *performatives.Message, now time.Time) time.Time {
	if by := m.ReplyBy(); !by.IsZero() {
		return by
	}
	return now.Add(t.Deadline)
}

// after returns the duration of a timer of the table's own: that of own, else the table's. Zero
// means that neither has one.
func (c *Codon) after(role machine.Role, name string, own map[string]time.Duration) time.Duration {
	if d := own[name]; d > 0 {
		return d
	}
	for _, t := range c.Table.Timers {
		if t.Role == role && t.Name == name {
			return t.After
		}
	}
	return 0
}

// checkTimer returns an error for a duration that no timer of a role can have.
func (c *Codon) checkTimer(role machine.Role, name string, d time.Duration) error {
	var known []string
	for _, t := range c.Table.Timers {
		if t.Role == role && !standard.IsTimer(t.Name) {
			known = append(known, t.Name)
		}
	}
	switch {
	case !slices.Contains(known, name):
		return fmt.Errorf("codons: %s: the %s has no timer %q of its own: want one of %q", c.Name(), role, name, known)
	case d <= 0:
		return fmt.Errorf("codons: %s: the duration of the timer %q: want more than zero, got %s", c.Name(), name, d)
	}
	return nil
}

// Bounded returns ctx with a deadline: the earlier one of its own and by, which may be zero, or
// else [DefaultDeadline] from now. The caller calls the function when the work with the context has
// ended.
func Bounded(ctx context.Context, by time.Time) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); !ok && by.IsZero() {
		by = time.Now().Add(DefaultDeadline)
	}
	if by.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, by)
}
