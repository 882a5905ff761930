package library

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// coordinationMutant is a coordination with one mistake.
type coordinationMutant struct {
	coordination machine.Coordination
	change       string // the mistake, such as "rule award: without award"
}

// coordinationMutants returns the mutants of a coordination. Each rule is deleted, is always due,
// and comes after the next one. Each command of it is dropped, is exchanged for another command of
// the rules, and goes to one member more or less than its bounds say. Each state that it is about
// is dropped. The conditions of Never and the unbidden commands stay.
func coordinationMutants(c machine.Coordination) []coordinationMutant {
	g := &coordinationMutator{coordination: c}
	for i, r := range c.Rules {
		g.add(slices.Delete(slices.Clone(c.Rules), i, i+1), "no rule "+r.Name)
		g.change(i, "always due", func(r *machine.Rule) { r.When = func(machine.Census) bool { return true } })
		if i+1 < len(c.Rules) {
			rules := slices.Clone(c.Rules)
			rules[i], rules[i+1] = rules[i+1], rules[i]
			g.add(rules, fmt.Sprintf("rule %s: after %s", r.Name, c.Rules[i+1].Name))
		}
		for k := range r.Say {
			g.choose(i, k)
		}
		for k, s := range r.Of {
			if len(r.Of) > 1 {
				g.change(i, fmt.Sprintf("not about %s", s), func(r *machine.Rule) { r.Of = slices.Delete(slices.Clone(r.Of), k, k+1) })
			}
		}
	}
	return g.mutants
}

// coordinationMutator collects the mutants of one coordination.
type coordinationMutator struct {
	coordination machine.Coordination
	mutants      []coordinationMutant
}

func (g *coordinationMutator) add(rules []machine.Rule, change string) {
	c := g.coordination
	c.Rules = rules
	g.mutants = append(g.mutants, coordinationMutant{c, change})
}

func (g *coordinationMutator) change(i int, what string, change func(*machine.Rule)) {
	rules := slices.Clone(g.coordination.Rules)
	change(&rules[i])
	g.add(rules, "rule "+rules[i].Name+": "+what)
}

// choose changes one choice of a rule.
func (g *coordinationMutator) choose(i, k int) {
	r := g.coordination.Rules[i]
	choice := r.Say[k]
	set := func(what string, to machine.Choice) {
		g.change(i, what, func(r *machine.Rule) {
			r.Say = slices.Clone(r.Say)
			r.Say[k] = to
		})
	}
	if len(r.Say) > 1 {
		g.change(i, "without "+choice.Command, func(r *machine.Rule) { r.Say = slices.Delete(slices.Clone(r.Say), k, k+1) })
	}
	other := choice
	for _, name := range g.coordination.Commands() {
		if !slices.ContainsFunc(r.Say, func(c machine.Choice) bool { return c.Command == name }) {
			other.Command = name
			set(fmt.Sprintf("says %s in place of %s", name, choice.Command), other)
		}
	}
	if low := choice; low.Min > 0 {
		low.Min--
		set(fmt.Sprintf("says %s in place of %s", low, choice), low)
	}
	if high := choice; high.Max > 0 {
		high.Max++
		set(fmt.Sprintf("says %s in place of %s", high, choice), high)
	}
	if low := choice; low.Max > max(1, low.Min) {
		low.Max--
		set(fmt.Sprintf("says %s in place of %s", low, choice), low)
	}
}
