package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// GroupCounterexample is a violation by a group, with a shortest path to it.
type GroupCounterexample struct {
	Coordination string
	Members      int
	Problem      Problem
	Detail       string

	// Path has the states of all members after each transition of the group, in no order of the
	// members, such as "proposed/proposed, called/idle": the initiator's state of each first. A
	// decision is that of a rule, "rule award: proposed/proposed ← award, …": each member has its
	// command then.
	Path []string
}

// Error lists the path, a transition a line.
func (c *GroupCounterexample) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s with %d members: %s: %s", c.Coordination, c.Members, c.Problem, c.Detail)
	for i, step := range c.Path {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, step)
	}
	return b.String()
}

func (g *group) counterexample(p Problem, at int32, detail string) error {
	c := &GroupCounterexample{Coordination: g.coordination.Name, Members: g.n, Problem: p, Detail: detail}
	for ; g.nodes[at].from >= 0; at = g.nodes[at].from {
		step := g.text(g.nodes[at].at)
		if rule := g.nodes[at].via; rule != nil {
			step = "rule " + rule.Name + ": " + step
		}
		c.Path = append(c.Path, step)
	}
	slices.Reverse(c.Path)
	return c
}

// text returns the states of the members, and the commands that are on their way to them.
func (g *group) text(m members) string {
	words := make([]string, g.n)
	for i, m := range m[:g.n] {
		words[i] = fmt.Sprintf("%s/%s", g.stateOf(m.class, machine.Initiator), g.stateOf(m.class, machine.Responder))
		if m.pending != noAction {
			words[i] += " ← " + g.commands[m.pending-1]
		}
	}
	return strings.Join(words, ", ")
}
