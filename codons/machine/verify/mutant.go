package verify

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Mutant is a table with one mistake.
type Mutant struct {
	Table  machine.Table
	Change string // the mistake, such as "no row initiator in asked on receive AGREE"
}

// Mutants returns the mutants of a table: each row deleted, and each effect of each row dropped.
// With all they are also those in which a row has one state or symbol less, leads to another state
// or to none, or names another act, tag or timer. The declarations of the table stay.
func Mutants(t machine.Table, all bool) []Mutant {
	g := &mutator{table: t}
	for i, r := range t.Rows {
		g.add(slices.Delete(slices.Clone(t.Rows), i, i+1), "no row "+r.String())
		for k, e := range r.Do {
			g.change(i, "without "+e.String(), func(r *machine.Row) { r.Do = slices.Delete(slices.Clone(r.Do), k, k+1) })
		}
		if all {
			g.narrow(i)
			g.retarget(i)
			g.swap(i)
		}
	}
	return g.mutants
}

// mutator collects the mutants of one table.
type mutator struct {
	table   machine.Table
	mutants []Mutant
}

func (g *mutator) add(rows []machine.Row, change string) {
	t := g.table
	t.Rows = rows
	g.mutants = append(g.mutants, Mutant{t, change})
}

func (g *mutator) change(i int, what string, change func(*machine.Row)) {
	rows := slices.Clone(g.table.Rows)
	change(&rows[i])
	g.add(rows, g.table.Rows[i].String()+": "+what)
}

// narrow removes one state or one symbol of a row.
func (g *mutator) narrow(i int) {
	r := g.table.Rows[i]
	for k, s := range r.From {
		if len(r.From) > 1 {
			g.change(i, fmt.Sprintf("without state %s", s), func(r *machine.Row) { r.From = slices.Delete(slices.Clone(r.From), k, k+1) })
		}
	}
	for k, on := range r.On {
		if len(r.On) > 1 {
			g.change(i, fmt.Sprintf("without symbol %s", on), func(r *machine.Row) { r.On = slices.Delete(slices.Clone(r.On), k, k+1) })
		}
	}
}

// retarget leads a row to no other state, and to the states before and after its own among those
// of its role.
func (g *mutator) retarget(i int) {
	r := g.table.Rows[i]
	if r.To == "" {
		return
	}
	g.change(i, "stays", func(r *machine.Row) { r.To = "" })
	var states []machine.State
	for _, o := range g.table.Rows {
		if o.Role == r.Role && o.To != "" && !slices.Contains(states, o.To) {
			states = append(states, o.To)
		}
	}
	at, n := slices.Index(states, r.To), len(states)
	for _, to := range []machine.State{states[(at+1)%n], states[(at+n-1)%n]} {
		if to != r.To {
			g.change(i, fmt.Sprintf("leads to %s", to), func(r *machine.Row) { r.To = to })
		}
	}
}

// swap names another act, tag or timer in each effect and each symbol of a row: the next of those
// that its role sends, receives or has.
func (g *mutator) swap(i int) {
	r := g.table.Rows[i]
	for k, e := range r.Do {
		for _, o := range g.others(r.Role, e) {
			if o != e {
				g.change(i, fmt.Sprintf("does %s in place of %s", o, e), func(r *machine.Row) {
					r.Do = slices.Clone(r.Do)
					r.Do[k] = o
				})
			}
		}
	}
	for k, on := range r.On {
		if o := g.otherSymbol(r.Role, on); o != on {
			g.change(i, fmt.Sprintf("takes %s in place of %s", o, on), func(r *machine.Row) {
				r.On = slices.Clone(r.On)
				r.On[k] = o
			})
		}
	}
}

// others returns the effects that a mutant has in place of an effect, which may be among them.
func (g *mutator) others(role machine.Role, e machine.Effect) []machine.Effect {
	act, other := e, e
	switch e.Kind { //nolint:exhaustive // the others have nothing to swap
	case machine.EffectSend:
		other.Name = next(sent(g, role, func(s machine.Effect) (string, bool) { return s.Name, s.Act == e.Act }), e.Name)
		fallthrough
	case machine.EffectResend: // it has no tag
		if act.Act = next(g.acts(role), e.Act); act.Act != e.Act {
			act.Name = ""
		}
	case machine.EffectArm, machine.EffectDisarm:
		other.Name = next(g.timers(role), e.Name)
	}
	return []machine.Effect{act, other}
}

// otherSymbol returns the symbol that a mutant has in place of a symbol, or that symbol.
func (g *mutator) otherSymbol(role machine.Role, on machine.Symbol) machine.Symbol {
	switch on.Kind { //nolint:exhaustive // commands are declared, and the others have nothing to swap
	case machine.KindReceive, machine.KindDuplicate:
		on.Act, on.Name = next(g.acts(role.Other()), on.Act), ""
	case machine.KindTimeout:
		on.Name = next(g.timers(role), on.Name)
	}
	return on
}

// next returns the value after v, or the first.
func next[T comparable](all []T, v T) T {
	if len(all) == 0 {
		return v
	}
	return all[(slices.Index(all, v)+1)%len(all)]
}

// acts returns the acts that a role sends, in the order of the rows.
func (g *mutator) acts(role machine.Role) []performatives.Performative {
	return sent(g, role, func(e machine.Effect) (performatives.Performative, bool) { return e.Act, true })
}

// sent returns a property of the messages of a role that have it, each value once.
func sent[T comparable](g *mutator, role machine.Role, of func(machine.Effect) (v T, ok bool)) (all []T) {
	for _, r := range g.table.Rows {
		for _, e := range r.Do {
			if v, ok := of(e); ok && r.Role == role && e.Kind == machine.EffectSend && !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	return all
}

func (g *mutator) timers(role machine.Role) []string {
	var names []string
	for _, t := range g.table.Timers {
		if t.Role == role {
			names = append(names, t.Name)
		}
	}
	return names
}
