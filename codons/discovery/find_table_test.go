package discovery

import (
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// TestNextAgentOfTheTable has a next agent asked in no other case than these: an agent that has the
// task, or may have it, is not followed, unless it says that it does not do it or the task is safe
// to repeat.
func TestNextAgentOfTheTable(t *testing.T) {
	refusals := []machine.State{standard.StateRejected, standard.StateRefused, standard.StateNotUnderstood}
	silence := []machine.State{standard.StateTimedOut, standard.StateCancelled}
	want := map[machine.State][]machine.State{
		stateAsking: slices.Concat(refusals, silence), stateWithdrawing: slices.Concat(refusals, silence),
		stateWaiting: refusals, statePerforming: refusals,
		stateTrying: slices.Concat(refusals, silence, []machine.State{standard.StateFailed}),
	}
	m := FindTable().MustCompile()
	for transition := range m.Transitions() {
		if !slices.Contains(transition.Do, machine.Run(jobChoose)) {
			continue
		}
		first := transition.From == machine.Idle || transition.From == stateSearching
		if !first && !slices.Contains(want[transition.From], machine.State(transition.On.Name)) {
			t.Errorf("%s in %s has another agent asked", transition.On, transition.From)
		}
	}
	for from, ends := range want {
		for _, end := range ends {
			c, _, err := m.Step(machine.Status{Role: machine.Initiator, State: from}, machine.Event{On: machine.Commanded(string(end))})
			if err != nil || c.State != stateChoosing {
				t.Errorf("%s in %s: %s, %v, want the next agent", end, from, c.State, err)
			}
		}
	}
}
