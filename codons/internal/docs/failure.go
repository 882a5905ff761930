package main

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// end is one way in which a side does not come to the end that the codon is for.
type end struct {
	state  machine.State
	causes []string // what brought it about
	others []string // where the other side ends
	last   []string // what this side says as it ends
}

// failures writes how a codon may end otherwise than it should.
func (w *writer) failures(c codons.Codon) {
	if len(c.Table.Rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s: failure paths\n", c.Table.Title)
	w.WriteString("\n| the initiator ends | after | the responder ends | the caller gets |\n|---|---|---|---|\n")
	for _, e := range ends(c.Table, machine.Initiator) {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", e.state, lines(e.causes), lines(e.others), cell(c.Seen(e.state)))
	}
	w.WriteString("\n| the responder ends | after | the initiator ends | its last word |\n|---|---|---|---|\n")
	for _, e := range ends(c.Table, machine.Responder) {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", e.state, lines(e.causes), lines(e.others), lines(e.last))
	}
}

// ends returns the ends of a role, but for the one of the first pair, in the order
// in which the table gets to them.
func ends(t machine.Table, role machine.Role) []end {
	var all []end
	for _, r := range t.Rows {
		if r.Role != role || !slices.Contains(t.Terminal, r.To) || r.To == sideOf(t.Agree[0], role) {
			continue
		}
		i := slices.IndexFunc(all, func(e end) bool { return e.state == r.To })
		if i < 0 {
			i, all = len(all), append(all, end{state: r.To, others: others(t, role, r.To)})
		}
		all[i].add(r)
	}
	return all
}

// add notes a row that leads to the end.
func (e *end) add(r machine.Row) {
	e.causes = append(e.causes, fmt.Sprintf("%s in %s: %s", list(r.On), list(r.From), r.Why))
	said := "nothing"
	for _, do := range r.Do {
		if do.Kind == machine.EffectSend || do.Kind == machine.EffectResend || do.Kind == machine.EffectRefuse {
			said = do.String()
		}
	}
	if !slices.Contains(e.last, said) {
		e.last = append(e.last, said)
	}
}

// others returns where the other side ends when this one ends in a state, a line
// for each reason.
func others(t machine.Table, role machine.Role, state machine.State) []string {
	type reason struct {
		rough bool
		note  string
	}
	var reasons []reason
	states := map[reason][]machine.State{}
	for _, p := range t.Agree {
		if sideOf(p, role) != state {
			continue
		}
		why := reason{p.Rough, p.Note}
		if states[why] == nil {
			reasons = append(reasons, why)
		}
		states[why] = append(states[why], sideOf(p, role.Other()))
	}
	all := make([]string, len(reasons))
	for i, why := range reasons {
		all[i] = list(states[why])
		if why.rough {
			all[i] += " (rough)"
		}
		if why.note != "" {
			all[i] += ": " + why.note
		}
	}
	return all
}

func sideOf(p machine.Pair, role machine.Role) machine.State {
	if role == machine.Initiator {
		return p.Initiator
	}
	return p.Responder
}

// list names values in a sentence.
func list[T any](values []T) string {
	text := ""
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			text += " or "
		default:
			text += ", "
		}
		text += fmt.Sprint(v)
	}
	return text
}
