package codons

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// TestExploreSagas explores sagas of several lengths: each step done, failed or
// unknown, in time or not, each undone or lost, cancelled, out of time and crashed at
// every point.
func TestExploreSagas(t *testing.T) {
	for steps := 1; steps <= 6; steps++ {
		m := SagaTable(steps).MustCompile()
		for _, n := range []machine.Network{{}, machine.Calm()} {
			result, err := machine.Explore(m, n)
			if err != nil {
				t.Fatal(steps, err)
			}
			t.Log(steps, result)
			if len(result.UnusedPairs) > 0 || n == (machine.Network{}) && steps > 1 && len(result.Unexercised) > 0 {
				t.Errorf("%d steps: not used: %v, %q", steps, result.UnusedPairs, result.Unexercised)
			}
		}
	}
}

// TestSagasUndoInReverse says what comes of each word: a step that did nothing is left
// out, one that may have been done is undone, and then the one before it.
func TestSagasUndoInReverse(t *testing.T) {
	const steps = 4
	m := SagaTable(steps).MustCompile()
	for _, s := range m.Table().Rows {
		if s.Role != machine.Initiator {
			t.Fatal("a saga has one side")
		}
	}
	for i := 1; i <= steps; i++ {
		for on, want := range map[machine.Symbol]machine.State{
			machine.Command(sagaUnknown(i)): sagaUndoing(i, false),
			machine.Command(sagaFailed(i)):  before(i, stateUndone),
		} {
			for _, from := range []machine.State{sagaDoing(i), sagaStopping(i)} {
				if c, _, err := m.Step(machine.Conversation{State: from}, machine.Event{On: on}); err != nil || c.State != want {
					t.Errorf("%s in %s: %s, %v, want %s", on, from, c.State, err, want)
				}
			}
		}
		c, _, err := m.Step(machine.Conversation{State: sagaUndoing(i, false)}, machine.Event{On: machine.Command(sagaUndid(i))})
		if err != nil || c.State != before(i, stateUndone) {
			t.Errorf("undone %d: %s, %v", i, c.State, err)
		}
	}
}

// before is where the step before one is undone, or the end.
func before(i int, end machine.State) machine.State {
	if i == 1 {
		return end
	}
	return sagaUndoing(i-1, false)
}
