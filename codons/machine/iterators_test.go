package machine_test

import (
	"iter"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

// keys returns the first values of a sequence of pairs.
func keys[K, V any](all iter.Seq2[K, V]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	}
}

// values returns a sequence as one of any values.
func values[V any](all iter.Seq[V]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for v := range all {
			if !yield(v) {
				return
			}
		}
	}
}

// TestIteratorsStop leaves each sequence of a machine and of a rule after each of its values. One
// that goes on after that panics.
func TestIteratorsStop(t *testing.T) {
	m := tabletest.ContractNet().MustCompile()
	var a machine.Activity
	for _, e := range []machine.Effect{machine.Arm("deadline"), machine.Arm("grace"), machine.Run("consider"), machine.Run("perform")} {
		a = m.Apply(a, machine.Responder, e)
	}
	rule := tabletest.AwardOne().Rules[0]
	for name, all := range map[string]iter.Seq[any]{
		"transitions":       values(m.Transitions()),
		"timeouts":          keys(m.Timeouts(a, machine.Responder)),
		"commands of jobs":  keys(m.Commands(a, machine.Responder, "working")),
		"commands of agent": keys(m.Commands(machine.Activity{}, machine.Initiator, "proposed")),
		"jobs":              keys(m.Jobs(a, machine.Responder)),
		"decisions":         values(rule.Decisions([]machine.State{"proposed", "called", "proposed"})),
	} {
		n := 0
		for range all {
			n++
		}
		if n < 2 {
			t.Errorf("%s: %d values prove little", name, n)
		}
		for last := range n {
			got := 0
			for range all {
				if got++; got > last {
					break
				}
			}
			if got != last+1 {
				t.Errorf("%s: %d values before the end after %d", name, got, last+1)
			}
		}
	}
}

// TestAllowed has the pairs in which a conversation may end after events of its sides.
func TestAllowed(t *testing.T) {
	deadline, stop := machine.Timeout("deadline"), machine.Commanded("stop")
	for _, c := range []struct {
		after []machine.Cause
		role  machine.Role
		on    machine.Symbol // the event that has occurred
		want  bool
	}{
		{nil, machine.Initiator, stop, true},
		{[]machine.Cause{machine.At(machine.Responder, deadline)}, machine.Responder, deadline, true},
		{[]machine.Cause{machine.At(machine.Responder, deadline)}, machine.Initiator, deadline, false},
		{[]machine.Cause{machine.At(machine.Responder, deadline)}, machine.Responder, stop, false},
		{[]machine.Cause{machine.At(machine.Responder, deadline), machine.At(machine.Initiator, stop)}, machine.Initiator, stop, true},
		{[]machine.Cause{machine.Lost()}, machine.Initiator, stop, true},
		{[]machine.Cause{machine.Forgotten(machine.Responder)}, machine.Initiator, stop, true},
	} {
		pair := machine.Pair{Initiator: "lost", Responder: "done", After: c.after}
		if got := pair.Allowed(func(r machine.Role, on machine.Symbol) bool { return r == c.role && on == c.on }); got != c.want {
			t.Errorf("after %v, when %s of the %s has occurred: %v", c.after, c.on, c.role, got)
		}
	}
}
