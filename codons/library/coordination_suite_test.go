package library

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// coordinationSuite is the checks of one coordination: those that a mutant of it has to fail.
type coordinationSuite struct {
	coordination machine.Coordination
	walks        []groupWalk // with these, in this order; the small ones first

	// duties say in which states a rule is due and what it says. They stand beside the rules, so
	// that they find a rule that is missing, or that is due too early.
	duties []duty

	// possible are conditions that some group comes to: they find a decision that is not allowed
	// any more.
	possible []possible
}

// possible is a condition that holds in at least one state of some group.
type possible struct {
	name string
	when func(initiator, responder machine.Census) bool // pure, over the states of the two sides of all members
}

// groupWalk is the size and the network of one walk.
type groupWalk struct {
	members int
	network verify.Network
}

// duty says what the initiator owes the members in certain states when no decision is on its way.
// The exploration checks it in each state of the group.
type duty struct {
	name string
	when func(machine.Census) bool // whether it holds; pure, over the initiator's states
	of   []machine.State           // it is about the members in these states

	// say is what these members get: each gets one of these commands in some decision that is
	// allowed, and no other one. A group has at least one state in which the duty holds for a
	// member. Without any command, no rule that is due is about these members.
	say []string
}

// explored are the groups of a suite's coordination. Mutants have the same.
type explored map[verify.Network]*verify.Groups

// of returns the groups of a suite over one network. The commands of the suite's own rules come
// from rules only, also where a mutant has dropped one of them.
func (e explored) of(s coordinationSuite, n verify.Network) (*verify.Groups, error) {
	if e[n] == nil {
		groups, err := verify.NewGroups(s.coordination, n)
		if err != nil {
			return nil, err
		}
		e[n] = groups
	}
	return e[n], nil
}

// check returns the first fault of c, nil for none.
func (s coordinationSuite) check(c machine.Coordination, groups explored) error {
	seen := &observation{
		coordination: c, suite: s, held: make([]bool, len(s.duties)), came: make([]bool, len(s.possible)),
	}
	for _, w := range s.walks {
		g, err := groups.of(s, w.network)
		if err != nil {
			return err
		}
		seen.checked = map[string]bool{}
		if _, err := g.Explore(c, w.members, seen.check); err != nil {
			return err
		}
	}
	if i := slices.Index(seen.came, false); i >= 0 {
		return fmt.Errorf("%s: no group comes to this: %s", c.Name, s.possible[i].name)
	}
	if i := slices.Index(seen.held, false); i >= 0 {
		return fmt.Errorf("%s: no group comes to a state of the duty %s", c.Name, s.duties[i].name)
	}
	return nil
}

// observation is what the walks of a suite have come to.
type observation struct {
	coordination machine.Coordination
	suite        coordinationSuite
	checked      map[string]bool // the initiator's states, as text, in which the duties were checked
	held, came   []bool          // the duties that held, and the conditions that were possible
}

// check returns the duty that the rules neglect in a state of the group, empty for none. While a
// decision is on its way they owe nothing.
func (o *observation) check(at verify.GroupState) string {
	for i, p := range o.suite.possible {
		o.came[i] = o.came[i] || p.when(machine.NewCensus(at.Initiator...), machine.NewCensus(at.Responder...))
	}
	if at.Deciding {
		return ""
	}
	states := slices.Sorted(slices.Values(at.Initiator))
	key := fmt.Sprint(states)
	if o.checked[key] {
		return ""
	}
	o.checked[key] = true
	for i, d := range o.suite.duties {
		fault, holds := d.check(o.coordination, states)
		if fault != "" {
			return fmt.Sprintf("%s: %s, where the initiator's members are %s", d.name, fault, key)
		}
		o.held[i] = o.held[i] || holds
	}
	return ""
}

// check returns the fault of the coordination in those states of the initiator, empty for none, and
// whether the duty holds in them.
func (d duty) check(c machine.Coordination, states []machine.State) (fault string, holds bool) {
	mine := func(s machine.State) bool { return slices.Contains(d.of, s) }
	if !slices.ContainsFunc(states, mine) || !d.when(machine.NewCensus(states...)) {
		return "", false
	}
	rule, due := c.Due(states)
	about := func(s machine.State) bool { return due && slices.Contains(rule.Of, s) }
	for _, s := range states {
		switch {
		case mine(s) && len(d.say) == 0 && about(s):
			return fmt.Sprintf("rule %s is due for a member in %s", rule.Name, s), true
		case mine(s) && len(d.say) > 0 && !about(s):
			return fmt.Sprintf("no rule is due for a member in %s", s), true
		}
	}
	if len(d.say) == 0 {
		return "", true
	}
	want, got := slices.Sorted(slices.Values(d.say)), d.said(rule, states)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the decisions of rule %s say %s, want %s", rule.Name, strings.Join(got, ", "), strings.Join(want, ", ")), true
	}
	return "", true
}

// said returns the commands that the decisions of a rule give to the members of the duty, sorted.
func (d duty) said(rule *machine.Rule, states []machine.State) []string {
	var all []string
	for commands := range rule.Decisions(states) {
		for i, s := range states {
			if slices.Contains(d.of, s) && !slices.Contains(all, commands[i]) {
				all = append(all, commands[i])
			}
		}
	}
	slices.Sort(all)
	return all
}

// mutate checks each mutant of the coordination ([coordinationMutants]), one after the other. The
// coordination itself has to pass: a fault of it is the error. A mutant that decides alike about
// all groups of up to three members counts as identical.
func (s coordinationSuite) mutate() (verify.Mutated, error) {
	groups := explored{}
	if err := s.check(s.coordination, groups); err != nil {
		return verify.Mutated{}, err
	}
	var (
		mutants  = coordinationMutants(s.coordination)
		original = behaviourOf(s.coordination)
		result   verify.Mutated
	)
	for _, m := range mutants {
		if slices.Equal(behaviourOf(m.coordination), original) {
			result.Same++
			continue
		}
		result.Mutants++
		if s.check(m.coordination, groups) == nil {
			result.Survivors = append(result.Survivors, m.change)
		}
	}
	return result, nil
}

// behaviourOf returns what a coordination allows about all groups of up to three members, each in
// any state.
func behaviourOf(c machine.Coordination) []string {
	const maxMembers = 3
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
