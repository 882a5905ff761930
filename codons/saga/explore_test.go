package saga

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// TestExploreSagas explores sagas of one to six steps: each step is done, failed or unknown, in
// time or not, each is undone or lost, and the saga is cancelled, out of time or crashed in every
// state.
func TestExploreSagas(t *testing.T) {
	for steps := 1; steps <= 6; steps++ {
		m := Table(steps).MustCompile()
		for _, n := range []verify.Network{{}, verify.Calm()} {
			result, err := verify.Explore(m, n)
			if err != nil {
				t.Fatal(steps, err)
			}
			t.Log(steps, result)
			if len(result.UnusedPairs) > 0 || n == (verify.Network{}) && steps > 1 && len(result.Unexercised) > 0 {
				t.Errorf("%d steps: not used: %v, %q", steps, result.UnusedPairs, result.Unexercised)
			}
		}
	}
}

// TestUndoInReverse checks the next state after each last command of a step: a step that did
// nothing is skipped, a step that may have been done is undone, and then the step before it.
func TestUndoInReverse(t *testing.T) {
	const steps = 4
	m := Table(steps).MustCompile()
	for _, s := range m.Table().Rows {
		if s.Role != machine.Initiator {
			t.Fatal("a saga has one side")
		}
	}
	for i := 1; i <= steps; i++ {
		for on, want := range map[machine.Symbol]machine.State{
			machine.Commanded(commandUnknown(i)): undoing(i, false),
			machine.Commanded(commandFailed(i)):  before(i, stateUndone),
		} {
			for _, from := range []machine.State{doing(i), stopping(i)} {
				if c, _, err := m.Step(machine.Status{State: from}, machine.Event{On: on}); err != nil || c.State != want {
					t.Errorf("%s in %s: %s, %v, want %s", on, from, c.State, err, want)
				}
			}
		}
		c, _, err := m.Step(machine.Status{State: undoing(i, false)}, machine.Event{On: machine.Commanded(commandUndone(i))})
		if err != nil || c.State != before(i, stateUndone) {
			t.Errorf("undone %d: %s, %v", i, c.State, err)
		}
	}
}

// before returns the state in which the step before step i is undone, or the end.
func before(i int, end machine.State) machine.State {
	if i == 1 {
		return end
	}
	return undoing(i-1, false)
}
