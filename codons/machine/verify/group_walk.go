package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// walk visits every state, in breadth-first order.
func (g *group) walk() error {
	g.visit(g.start(), -1, nil)
	for at := int32(0); int(at) < len(g.nodes); at++ {
		if err := g.checkState(at); err != nil {
			return err
		}
		for i := range g.n {
			if err := g.advance(at, i); err != nil {
				return err
			}
		}
		if err := g.decide(at); err != nil {
			return err
		}
		if len(g.nodes) > g.net.MaxStates {
			return fmt.Errorf("verify: %s: more than %d states of a group of %d", g.coordination.Name, g.net.MaxStates, g.n)
		}
	}
	return nil
}

// start returns the members before their first event.
func (g *group) start() members {
	var m members
	for i := range g.n {
		m[i].class = g.class[0]
	}
	return m
}

func compareMembers(a, b member) int {
	if a.class != b.class {
		return int(a.class - b.class)
	}
	return int(a.pending) - int(b.pending)
}

// turn returns a transition by a rule, or by a member, which may lead to a new state.
func (g *group) turn(at int32, to members, rule *machine.Rule) edge {
	slices.SortFunc(to[:g.n], compareMembers)
	return edge{at, g.visit(to, at, rule)}
}

// advance records every transition of one member.
func (g *group) advance(at int32, i int) error {
	now := g.nodes[at].at
	if i > 0 && now[i] == now[i-1] {
		return nil // an equal member has the same transitions
	}
	me, delivered := now[i], false
	for _, a := range g.arcs[me.class] {
		next := now
		next[i].class = a.to
		switch a.action {
		case noAction:
			g.edges = append(g.edges, g.turn(at, next, nil))
		case unbidden:
			g.turn(at, next, nil)
		}
		if a.action != noAction && a.action == me.pending {
			delivered = true
			next[i].pending = noAction
			g.edges = append(g.edges, g.turn(at, next, nil))
		}
	}
	switch {
	case me.pending == noAction || delivered:
	case g.beyond(me.class, me.pending):
		g.excused[at] = true
	default:
		return g.counterexample(Unhandled, at, fmt.Sprintf("no row of the initiator in %s for command %s, which is on its way",
			g.stateOf(me.class, machine.Initiator), g.commands[me.pending-1]))
	}
	return nil
}

// decide records every decision of the rule that is due.
func (g *group) decide(at int32) error {
	now := g.nodes[at].at
	if g.deciding(now) {
		return nil
	}
	states := g.statesOf(now, machine.Initiator)
	rule, due := g.coordination.Due(states)
	if !due {
		return nil
	}
	allowed := false
	for commands := range rule.Decisions(states) {
		allowed = true
		if !g.send(at, rule, commands) {
			g.excused[at] = true
		}
	}
	if !allowed {
		return g.counterexample(Undecidable, at, fmt.Sprintf("rule %s is due, and allows no decision about %s", rule.Name, join(states)))
	}
	return nil
}

// deciding reports whether a command of a decision is on its way.
func (g *group) deciding(m members) bool {
	return slices.ContainsFunc(m[:g.n], func(m member) bool { return m.pending != noAction })
}

// send makes the commands of a decision pending. It reports false where one goes beyond
// Network.Repeat.
func (g *group) send(at int32, rule *machine.Rule, commands []string) bool {
	next := g.nodes[at].at
	for i, name := range commands {
		action := uint8(slices.Index(g.commands, name) + 1)
		if action != noAction && g.beyond(next[i].class, action) {
			return false
		}
		next[i].pending = action
	}
	g.decisions[rule.Name]++
	g.edges = append(g.edges, g.turn(at, next, rule))
	return true
}

// statesOf returns the state of a role in every member.
func (g *group) statesOf(m members, r machine.Role) []machine.State {
	states := make([]machine.State, g.n)
	for i := range states {
		states[i] = g.stateOf(m[i].class, r)
	}
	return states
}

// checkState checks a state by itself, before its transitions.
func (g *group) checkState(at int32) error {
	m := g.nodes[at].at
	initiator, responder := g.statesOf(m, machine.Initiator), g.statesOf(m, machine.Responder)
	for _, never := range g.coordination.Never {
		if never.When(machine.NewCensus(initiator...), machine.NewCensus(responder...)) {
			return g.counterexample(Forbidden, at, fmt.Sprintf(
				"%s: the initiator's members are %s, the responders %s", never.Name, join(initiator), join(responder)))
		}
	}
	if g.check == nil {
		return nil
	}
	if fault := g.check(GroupState{initiator, responder, g.deciding(m)}); fault != "" {
		return g.counterexample(Neglected, at, fault)
	}
	return nil
}

// checkEnds finds states from which some member cannot end.
func (g *group) checkEnds() error {
	if at := slices.Index(g.free(), false); at >= 0 {
		return g.counterexample(Stuck, int32(at), "the events that must occur from here do not end all members")
	}
	return nil
}

// free returns, for each state, whether all members can end from there.
func (g *group) free() []bool {
	return canReach(len(g.nodes), g.edges, func(at int32) bool {
		return g.excused[at] || !slices.ContainsFunc(g.nodes[at].at[:g.n], func(m member) bool { return !g.over(m.class) })
	})
}

// join separates the states with commas.
func join(states []machine.State) string { return joinWith(states, ", ") }

func joinWith[T any](values []T, separator string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, separator)
}
