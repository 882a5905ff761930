package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// CoordinationSuite is the checks of one coordination: those that a mutant of it has to fail.
type CoordinationSuite struct {
	Coordination machine.Coordination
	Walks        []GroupWalk // with these, in this order; the small ones first

	// Duties say in which states a rule is due and what it says. They stand beside the rules, so
	// that they find a rule that is missing, or that is due too early.
	Duties []Duty

	// Possible are conditions that some group comes to: they find a decision that is not allowed
	// any more.
	Possible []Possible
}

// Possible is a condition that holds in at least one state of some group.
type Possible struct {
	Name string
	When func(initiator, responder machine.Census) bool // pure, over the states of the two sides of all members
}

// GroupWalk is the size and the network of one [ExploreGroup].
type GroupWalk struct {
	Members int
	Network Network
}

// Duty says what the initiator owes the members in certain states when no decision is on its way.
// The exploration checks it in each state of the group.
type Duty struct {
	Name string
	When func(machine.Census) bool // whether it holds; pure, over the initiator's states
	Of   []machine.State           // it is about the members in these states

	// Say is what these members get: each gets one of these commands in some decision that is
	// allowed, and no other one. A group has at least one state in which the duty holds for a
	// member. Without any command, no rule that is due is about these members.
	Say []string
}

// check returns the first fault of c, nil for none. cached has the graphs of the pairs, which the
// rules do not change.
func (s CoordinationSuite) check(c machine.Coordination, cached map[Network]*pairs) error {
	if err := CheckCoordination(c); err != nil {
		return err
	}
	held, came := make([]bool, len(s.Duties)), make([]bool, len(s.Possible))
	for _, w := range s.Walks {
		g, err := s.group(c, w, cached)
		if err != nil {
			return err
		}
		if err := g.walk(); err != nil {
			return err
		}
		if err := s.checkDuties(g, held); err != nil {
			return err
		}
		s.comes(g, came)
		if err := g.checkEnds(); err != nil {
			return err
		}
	}
	if i := slices.Index(came, false); i >= 0 {
		return fmt.Errorf("verify: %s: no group comes to this: %s", c.Name, s.Possible[i].Name)
	}
	if i := slices.Index(held, false); i >= 0 {
		return fmt.Errorf("verify: %s: no group comes to a state of the duty %s", c.Name, s.Duties[i].Name)
	}
	return nil
}

// group returns the group of one walk. The commands of the suite's own rules come from rules only,
// also where a mutant has dropped one of them.
func (s CoordinationSuite) group(c machine.Coordination, w GroupWalk, cached map[Network]*pairs) (*group, error) {
	g, err := newGroup(s.Coordination, w.Members, w.Network, cached[w.Network])
	if err != nil {
		return nil, err
	}
	cached[w.Network], g.coordination = g.pairs, c
	return g, nil
}

// checkDuties checks the duties in all states of a walk. held has those that held before.
func (s CoordinationSuite) checkDuties(g *group, held []bool) error {
	checked := map[string]bool{}
	for at := range g.nodes {
		m := g.nodes[at].at
		if slices.ContainsFunc(m[:g.n], func(m member) bool { return m.pending != noAction }) {
			continue
		}
		states := g.statesOf(m, machine.Initiator)
		slices.Sort(states)
		if key := join(states); !checked[key] {
			checked[key] = true
			for i, d := range s.Duties {
				fault, holds := d.check(g.coordination, states)
				if fault != "" {
					return g.counterexample(Neglected, int32(at), fmt.Sprintf("%s: %s, where the initiator's members are %s", d.Name, fault, key))
				}
				held[i] = held[i] || holds
			}
		}
	}
	return nil
}

// comes marks the conditions to which a group comes.
func (s CoordinationSuite) comes(g *group, came []bool) {
	for at := range g.nodes {
		if !slices.Contains(came, false) {
			return
		}
		m := g.nodes[at].at
		initiator, responder := machine.NewCensus(g.statesOf(m, machine.Initiator)...), machine.NewCensus(g.statesOf(m, machine.Responder)...)
		for i, p := range s.Possible {
			came[i] = came[i] || p.When(initiator, responder)
		}
	}
}

// check returns the fault of the coordination in those states of the initiator, empty for none, and
// whether the duty holds in them.
func (d Duty) check(c machine.Coordination, states []machine.State) (fault string, holds bool) {
	mine := func(s machine.State) bool { return slices.Contains(d.Of, s) }
	if !slices.ContainsFunc(states, mine) || !d.When(machine.NewCensus(states...)) {
		return "", false
	}
	rule, due := c.Due(states)
	about := func(s machine.State) bool { return due && slices.Contains(rule.Of, s) }
	for _, s := range states {
		switch {
		case mine(s) && len(d.Say) == 0 && about(s):
			return fmt.Sprintf("rule %s is due for a member in %s", rule.Name, s), true
		case mine(s) && len(d.Say) > 0 && !about(s):
			return fmt.Sprintf("no rule is due for a member in %s", s), true
		}
	}
	if len(d.Say) == 0 {
		return "", true
	}
	want, got := slices.Sorted(slices.Values(d.Say)), d.said(rule, states)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the decisions of rule %s say %s, want %s", rule.Name, strings.Join(got, ", "), strings.Join(want, ", ")), true
	}
	return "", true
}

// said returns the commands that the decisions of a rule give to the members of the duty, sorted.
func (d Duty) said(rule *machine.Rule, states []machine.State) []string {
	var all []string
	decisions(rule, states, func(commands []string) {
		for i, s := range states {
			if slices.Contains(d.Of, s) && !slices.Contains(all, commands[i]) {
				all = append(all, commands[i])
			}
		}
	})
	slices.Sort(all)
	return all
}

// Mutate checks each mutant of the coordination ([CoordinationMutants]), one after the other. The
// coordination itself has to pass: a fault of it is the error. A mutant that decides alike about
// all groups of up to three members counts as identical.
func (s CoordinationSuite) Mutate() (Mutated, error) {
	cached := map[Network]*pairs{}
	if err := s.check(s.Coordination, cached); err != nil {
		return Mutated{}, err
	}
	var (
		mutants  = CoordinationMutants(s.Coordination)
		original = behaviourOf(s.Coordination)
		result   Mutated
	)
	for _, m := range mutants {
		if slices.Equal(behaviourOf(m.Coordination), original) {
			result.Same++
			continue
		}
		result.Mutants++
		if s.check(m.Coordination, cached) == nil {
			result.Survivors = append(result.Survivors, m.Change)
		}
	}
	return result, nil
}

// behaviourOf returns what a coordination allows about all groups of up to three members, each in
// any state.
func behaviourOf(c machine.Coordination) []string {
	states := slices.Concat([]machine.State{machine.Idle}, c.Machine.Table().Live, c.Machine.Table().Terminal)
	var all []string
	var group []machine.State
	var add func(from int)
	add = func(from int) {
		if rule, due := c.Due(group); due {
			say := make([]string, len(rule.Say))
			for i, choice := range rule.Say {
				say[i] = choice.String()
			}
			slices.Sort(say)
			all = append(all, fmt.Sprint(group, rule.About(group), say))
		}
		if len(group) == maxMembers {
			return
		}
		for i := from; i < len(states); i++ {
			group = append(group, states[i])
			add(i)
			group = group[:len(group)-1]
		}
	}
	add(0)
	return all
}
