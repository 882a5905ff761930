package codontest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxMissing is the number of rows and pairs that one exploration proposes.
const maxMissing = 40

// maxShown is the number of counterexamples of one exploration that are shown.
const maxShown = 5

// faultsOf returns the fault of an exploration, and those of further explorations of the table with
// the missing rows and pairs added: one for each event and each pair of ends. The last text has
// these rows and pairs as Go for a [codons.Definition]; there is none for faults of another kind.
func faultsOf(t machine.Table, err error, most int, explore func(*machine.Machine) error) (texts []string) {
	t.Rows, t.Agree = slices.Clone(t.Rows), slices.Clone(t.Agree)
	var rows []machine.Row
	var pairs []machine.Pair
	for range most {
		var fault *verify.Counterexample
		if !errors.As(err, &fault) {
			break
		}
		n := len(rows) + len(pairs)
		r, missing := missingRow(fault)
		p, disagree := missingPair(fault, t.Agree)
		switch {
		case missing:
			t.Rows, rows = append(t.Rows, r), joinRow(rows, r)
		case disagree:
			t.Agree, pairs = joinPair(t.Agree, p), joinPair(pairs, p)
		}
		if !missing && !disagree {
			break
		}
		if len(texts) < maxShown && len(rows)+len(pairs) > n {
			texts = append(texts, fault.Error())
		}
		m, invalid := t.Compile()
		if invalid != nil {
			break
		}
		err = explore(m)
	}
	if texts == nil {
		return []string{err.Error()}
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "\n\t%s,", rowGo(r))
	}
	for _, p := range pairs {
		fmt.Fprintf(&b, "\n\t%s,", pairGo(p))
	}
	return append(texts, "add to Table.Rows and Table.Agree, if you agree; a row may do more than drop the event:"+b.String())
}

// missingRow returns a row that drops the event for which a table has no row.
func missingRow(fault *verify.Counterexample) (machine.Row, bool) {
	if len(fault.Moves) == 0 || fault.Problem != verify.Unhandled && fault.Problem != verify.Unforeseen {
		return machine.Row{}, false
	}
	last := fault.Moves[len(fault.Moves)-1]
	return machine.For(last.Role, last.From).When(last.On).Stay(machine.Drop("late")).Because("…"), true
}

// joinRow adds a row, or its state to the row for the same event.
func joinRow(rows []machine.Row, r machine.Row) []machine.Row {
	for i, o := range rows {
		if o.Role == r.Role && slices.Equal(o.On, r.On) {
			rows[i].From = append(slices.Clone(o.From), r.From...)
			return rows
		}
	}
	return append(rows, r)
}

// missingPair returns the pair of states in which the conversation of a fault has ended, after the
// latest event that makes a pair rough. It adds a cause where the table has the pair after other
// causes.
func missingPair(fault *verify.Counterexample, agree []machine.Pair) (machine.Pair, bool) {
	if fault.Problem != verify.Disagreement && fault.Problem != verify.Unprompted {
		return machine.Pair{}, false
	}
	ends := [2]machine.State{machine.Idle, machine.Idle}
	var after []machine.Cause
	for _, m := range fault.Moves {
		ends[m.Role] = m.To
		switch {
		case m.On.Kind != 0 && roughens(m.On):
			after = []machine.Cause{machine.At(m.Role, m.On)}
		case m.Message == verify.ForgetsReplies:
			after = []machine.Cause{machine.Forgotten(m.Role)}
		}
	}
	if after == nil && len(fault.Pending) > 0 {
		after = []machine.Cause{machine.Lost()}
	}
	p := machine.Pair{Initiator: ends[machine.Initiator], Responder: ends[machine.Responder], After: after}
	i := slices.IndexFunc(agree, func(o machine.Pair) bool { return sameEnds(o, p) })
	p.Also = i >= 0 && after != nil
	return p, i < 0 || !slices.ContainsFunc(after, func(c machine.Cause) bool { return slices.Contains(agree[i].After, c) })
}

// roughens reports whether an event is one after which the two sides may end differently.
func roughens(on machine.Symbol) bool {
	switch on.Kind { //nolint:exhaustive // the others are what a correct conversation consists of
	case machine.KindTimeout:
		return on.Name != "retry"
	case machine.KindCommand:
		return on.Name == "stop" || on.Name == "misread"
	case machine.KindUndelivered, machine.KindPeerLost:
		return true
	}
	return false
}

// sameEnds reports whether two pairs are of the same states.
func sameEnds(a, b machine.Pair) bool {
	return a.Initiator == b.Initiator && a.Responder == b.Responder
}

// joinPair adds a pair, or its causes to the pair of the same states. Without causes it takes the
// place of that.
func joinPair(all []machine.Pair, p machine.Pair) []machine.Pair {
	i := slices.IndexFunc(all, func(o machine.Pair) bool { return sameEnds(o, p) })
	if i < 0 {
		return append(all, p)
	}
	if p.After != nil {
		p.After, p.Also = slices.Concat(all[i].After, p.After), all[i].Also
	}
	all[i] = p
	return all
}

// rowGo returns a row as Go.
func rowGo(r machine.Row) string {
	role := "machine.Asks"
	if r.Role == machine.Responder {
		role = "machine.Answers"
	}
	var from []string
	for _, s := range r.From {
		from = append(from, fmt.Sprintf("%q", s))
	}
	return fmt.Sprintf("%s(%s).When(%s).Stay(machine.Drop(%q)).Because(%q)", role, strings.Join(from, ", "), symbolGo(r.On[0]), r.Do[0].Name, r.Why)
}

// pairGo returns a pair as Go.
func pairGo(p machine.Pair) string {
	var causes []string
	for _, c := range p.After {
		switch c.Kind {
		case machine.CauseLoss:
			causes = append(causes, "machine.Lost()")
		case machine.CauseForgotten:
			causes = append(causes, fmt.Sprintf("machine.Forgotten(machine.%s)", title(c.Role.String())))
		case machine.CauseEvent:
			causes = append(causes, fmt.Sprintf("machine.At(machine.%s, %s)", title(c.Role.String()), symbolGo(c.On)))
		}
	}
	text := fmt.Sprintf("{Initiator: %q, Responder: %q", p.Initiator, p.Responder)
	if causes != nil {
		text += fmt.Sprintf(", After: []machine.Cause{%s}", strings.Join(causes, ", "))
	}
	if p.Also {
		text += ", Also: true"
	}
	return text + "}"
}

// symbolGo returns a symbol as Go.
func symbolGo(on machine.Symbol) string {
	switch on.Kind { //nolint:exhaustive // the others are those of an act without a tag
	case machine.KindTimeout:
		return fmt.Sprintf("machine.Timeout(%q)", on.Name)
	case machine.KindCommand:
		return fmt.Sprintf("machine.Commanded(%q)", on.Name)
	case machine.KindPeerLost:
		return "machine.PeerLost()"
	case machine.KindReceive:
		if on.Name != "" {
			return fmt.Sprintf("machine.ReceiveTagged(%s, %q)", actGo(on.Act), on.Name)
		}
	}
	return fmt.Sprintf("machine.%s(%s)", title(on.Kind.String()), actGo(on.Act))
}

// actGo returns the name of an act's constant.
func actGo(act performatives.Performative) string {
	if act == performatives.ActCFP {
		return "performatives.ActCFP"
	}
	name := "performatives.Act"
	for word := range strings.SplitSeq(strings.ToLower(act.String()), "_") {
		name += title(word)
	}
	return name
}

// title returns a word with an upper-case first letter.
func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
