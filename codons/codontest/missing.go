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

// missing proposes the rows and pairs that the first fault of an exploration asks for, and those that
// further explorations ask for once the table has them. It returns them as Go for a
// [codons.Definition], none for faults of another kind.
func missing(t machine.Table, n verify.Network) string {
	t.Rows, t.Agree = slices.Clone(t.Rows), slices.Clone(t.Agree)
	var rows []machine.Row
	var pairs []machine.Pair
	for range maxMissing {
		m, err := t.Compile()
		if err != nil {
			break
		}
		_, err = verify.Explore(m, n)
		var fault *verify.Counterexample
		if !errors.As(err, &fault) {
			break
		}
		if r, ok := missingRow(fault); ok {
			t.Rows, rows = append(t.Rows, r), joinRow(rows, r)
			continue
		}
		p, ok := missingPair(fault)
		if !ok {
			break
		}
		t.Agree, pairs = replacePair(t.Agree, p), replacePair(pairs, p)
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "\n\t%s,", rowGo(r))
	}
	for _, p := range pairs {
		fmt.Fprintf(&b, "\n\t%s,", pairGo(p))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nadd to Table.Rows and Table.Agree, if you agree; a row may do more than drop the event:" + b.String()
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

// missingPair returns the pair of states in which the conversation of a fault has ended, after the latest event
// that makes a pair rough.
func missingPair(fault *verify.Counterexample) (machine.Pair, bool) {
	if fault.Problem != verify.Disagreement {
		return machine.Pair{}, false
	}
	ends := [2]machine.State{machine.Idle, machine.Idle}
	var after []machine.Cause
	for _, m := range fault.Moves {
		ends[m.Role] = m.To
		if roughens(m.On) {
			after = []machine.Cause{machine.At(m.Role, m.On)}
		}
	}
	if after == nil && len(fault.Pending) > 0 {
		after = []machine.Cause{machine.Loss()}
	}
	return machine.Pair{Initiator: ends[machine.Initiator], Responder: ends[machine.Responder], After: after}, true
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

// replacePair adds a pair in place of that of the same states.
func replacePair(all []machine.Pair, p machine.Pair) []machine.Pair {
	all = slices.DeleteFunc(all, func(o machine.Pair) bool { return o.Initiator == p.Initiator && o.Responder == p.Responder })
	return append(all, p)
}

// rowGo returns a row as Go.
func rowGo(r machine.Row) string {
	role := "codons.Asks"
	if r.Role == machine.Responder {
		role = "codons.Answers"
	}
	var from []string
	for _, s := range r.From {
		from = append(from, fmt.Sprintf("%q", s))
	}
	return fmt.Sprintf("%s(%s).When(%s).Stay(machine.Drop(%q)).Because(%q)", role, strings.Join(from, ", "), symbolGo(r.On[0]), r.Do[0].Name, r.Why)
}

// pairGo returns a pair as Go.
func pairGo(p machine.Pair) string {
	text := fmt.Sprintf("{Initiator: %q, Responder: %q", p.Initiator, p.Responder)
	for _, c := range p.After {
		cause := "machine.Loss()"
		if c.Kind == machine.CauseEvent {
			cause = fmt.Sprintf("machine.At(machine.%s, %s)", title(c.Role.String()), symbolGo(c.On))
		}
		text += fmt.Sprintf(", After: []machine.Cause{%s}", cause)
	}
	return text + "}"
}

// symbolGo returns a symbol as Go.
func symbolGo(on machine.Symbol) string {
	switch on.Kind { //nolint:exhaustive // the others are those of an act without a tag
	case machine.KindTimeout:
		return fmt.Sprintf("machine.Timeout(%q)", on.Name)
	case machine.KindCommand:
		return fmt.Sprintf("machine.Command(%q)", on.Name)
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
