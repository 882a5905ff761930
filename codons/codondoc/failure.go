package codondoc

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
)

// end is a terminal state of a role other than that of success.
type end struct {
	state  machine.State
	causes []string // the events that lead to it
	others []string // the states in which the other side ends
	last   []string // the messages that the role sends as it ends
}

// failures writes the ways in which a codon ends without success.
func (p *page) failures(c *codons.Codon) {
	if len(c.Table.Rows) == 0 {
		return
	}
	p.WriteString("\n### Failure paths\n")
	p.WriteString("\n| the initiator ends | after | the responder ends |\n|---|---|---|\n")
	for _, e := range ends(c.Table, machine.Initiator) {
		fmt.Fprintf(p, "| %s | %s | %s |\n", e.state, lines(e.causes), lines(e.others))
	}
	p.WriteString("\n| the responder ends | after | the initiator ends | its last message |\n|---|---|---|---|\n")
	for _, e := range ends(c.Table, machine.Responder) {
		fmt.Fprintf(p, "| %s | %s | %s | %s |\n", e.state, lines(e.causes), lines(e.others), lines(e.last))
	}
}

// ends returns the ends of a role without success, in the order of the table's rows.
func ends(t machine.Table, role machine.Role) []end {
	var all []end
	success, succeeds := t.Success()
	for _, r := range t.Rows {
		if r.Role != role || !slices.Contains(t.Terminal, r.To) || succeeds && r.To == sideOf(success, role) {
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

// add adds a row that leads to the end.
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

// others returns the states in which the other side ends when a role ends in a state, with
// one text for each reason.
func others(t machine.Table, role machine.Role, state machine.State) []string {
	type reason struct{ after, note string }
	var reasons []reason
	states := map[reason][]machine.State{}
	for _, p := range t.Agree {
		if sideOf(p, role) != state {
			continue
		}
		why := reason{list(p.After), p.Note}
		if states[why] == nil {
			reasons = append(reasons, why)
		}
		states[why] = append(states[why], sideOf(p, role.Other()))
	}
	all := make([]string, len(reasons))
	for i, why := range reasons {
		all[i] = list(states[why])
		if why.after != "" {
			all[i] += " (only after " + why.after + ")"
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

// list joins values for a sentence.
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
