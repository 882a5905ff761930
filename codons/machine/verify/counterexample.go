package verify

import (
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Problem is a kind of violation.
type Problem string

// The problems.
const (
	Unhandled       Problem = "unhandled event"    // an event that can occur has no row
	Stranded        Problem = "stranded side"      // no timer ends a side that gets no message any more
	Stuck           Problem = "stuck conversation" // the two sides cannot both end any more
	Disagreement    Problem = "disagreement"       // Table.Agree lacks the pair of terminal states
	Unprompted      Problem = "unprompted end"     // a rough pair is reached before any of its causes
	LeftRunning     Problem = "job left running"   // a side ends without stopping its job, or starts it twice
	SecondRun       Problem = "second run"         // a repeated request starts a job
	NothingToResend Problem = "nothing to resend"  // a row resends an act that was never sent
	TooMany         Problem = "too many messages"  // the table cannot be explored within the bounds
	Unarmed         Problem = "timer not armed"    // strict: a state has a row for a timer that does not run there
	NotRunning      Problem = "job not running"    // strict: a state awaits a job that does not run
	Unforeseen      Problem = "unforeseen message" // strict: only a wildcard takes a message of a correct peer
	Unanswered      Problem = "repeat unanswered"  // strict: a repeated request is not answered again
	EarlyReceipt    Problem = "early receipt"      // strict: the receipt is sent while a job runs
	Forbidden       Problem = "forbidden state"    // of a group: a condition of Never holds
	Undecidable     Problem = "undecidable rule"   // of a group: a rule is due and allows no decision
	Neglected       Problem = "neglected duty"     // of a group: the check of [Groups.Explore] finds a fault
)

// Counterexample is a violation, with a path of the fewest moves to it.
type Counterexample struct {
	Table   string
	Problem Problem
	Detail  string
	Moves   []Move
	Pending []string // messages that were sent and have not arrived
}

// Error lists the moves, one a line.
func (c *Counterexample) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s: %s: %s", c.Table, c.Problem, c.Detail)
	for i, m := range c.Moves {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, m)
	}
	if len(c.Pending) > 0 {
		fmt.Fprintf(&b, "\n      never arrived: %s", strings.Join(c.Pending, ", "))
	}
	return b.String()
}

// String returns a line such as
//
//	responder  receive TASK_REQUEST    idle → considering
func (m Move) String() string {
	if m.On.Kind == 0 {
		return fmt.Sprintf("%s  %s", m.Role, m.Message)
	}
	line := fmt.Sprintf("%s  %-32s  %s", m.Role, m.On, m.From)
	if m.To != m.From {
		line += " → " + string(m.To)
	}
	if m.Sent != "" {
		line += "  sends " + m.Sent
	}
	return line
}

// counterexample returns a violation with the path to a node, and with one more move
// where that move is the violation.
func (x *explorer) counterexample(p Problem, at int32, detail string, last ...Move) *Counterexample {
	c := &Counterexample{Table: x.Name(), Problem: p, Detail: detail, Moves: append(x.path(at), last...)}
	j := x.nodes[at].at
	for _, r := range machine.Roles() {
		for i := range (j[r].sent &^ j[r.Other()].received).All {
			c.Pending = append(c.Pending, fmt.Sprintf("the %s's %s", r, x.messages[r][i]))
		}
	}
	return c
}
