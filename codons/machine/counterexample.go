package machine

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is what an exploration can find.
type Problem string

// The problems.
const (
	Unhandled       Problem = "unhandled event"    // no row for something that can happen
	Stranded        Problem = "stranded side"      // silence would never end
	Stuck           Problem = "stuck conversation" // both ends cannot be reached any more
	Disagreement    Problem = "disagreement"       // a pair of ends that the table does not have
	LeftRunning     Problem = "job left running"   // nobody asked it to stop, or it is started twice
	NothingToResend Problem = "nothing to resend"  // the message was never sent
	TooMany         Problem = "too many messages"  // the table cannot be explored within the bounds
	Forbidden       Problem = "forbidden state"    // of a group: what must never be
	Undecidable     Problem = "undecidable rule"   // of a group: a rule is due and allows no decision
)

// Counterexample is how a conversation comes to a problem, by the fewest moves.
type Counterexample struct {
	Table   string
	Problem Problem
	Detail  string
	Moves   []Move
	Pending []string // messages that were sent and have not arrived
}

// Error prints the moves, one a line.
func (c *Counterexample) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine: %s: %s: %s", c.Table, c.Problem, c.Detail)
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
	line := fmt.Sprintf("%s  %-32s  %s", m.Role, m.On, m.From)
	if m.To != m.From {
		line += " → " + string(m.To)
	}
	if m.Sent != "" {
		line += "  sends " + m.Sent
	}
	return line
}

// counterexample is the way to a node, and one move beyond it where the problem
// is a move.
func (x *explorer) counterexample(p Problem, at int32, last *Move, detail string) *Counterexample {
	c := &Counterexample{Table: x.Name(), Problem: p, Detail: detail, Moves: x.path(at)}
	if last != nil {
		c.Moves = append(c.Moves, *last)
	}
	j := x.nodes[at].joint
	for _, r := range Roles() {
		for i := range (j[r].sent &^ j[r.Other()].seen).each {
			c.Pending = append(c.Pending, fmt.Sprintf("the %s's %s", r, x.messages[r][i]))
		}
	}
	return c
}

// path returns the moves to a node.
func (x *explorer) path(at int32) []Move {
	var moves []Move
	for ; x.nodes[at].from >= 0; at = x.nodes[at].from {
		moves = append(moves, x.nodes[at].via)
	}
	slices.Reverse(moves)
	return moves
}
