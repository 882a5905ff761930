package machine_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

// symbols returns the symbols of an iteration as words.
func symbols(all func(func(machine.Symbol, machine.Activity) bool)) []string {
	var words []string
	for on := range all {
		words = append(words, on.String())
	}
	return words
}

func TestTimersOfAnActivity(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	var a machine.Activity
	for _, e := range []machine.Effect{machine.Arm("retry"), machine.Arm("deadline"), machine.Arm("retry"), machine.Report("x")} {
		a = m.Apply(a, machine.Initiator, e)
	}
	if got := symbols(m.Timeouts(a, machine.Initiator)); !slices.Equal(got, []string{"timeout deadline", "timeout retry"}) {
		t.Errorf("armed: %s", got)
	}
	for on, after := range m.Timeouts(a, machine.Initiator) {
		if want := m.Apply(a, machine.Initiator, machine.Disarm(on.Name)); after != want {
			t.Errorf("after %s: %v, want %v", on, after, want)
		}
	}
	if got := a.WithoutTimers(); got != (machine.Activity{}) || a.WithoutJobs() != a {
		t.Errorf("without timers: %v", got)
	}
}

func TestJobsOfAnActivity(t *testing.T) {
	m := tabletest.Haggle().MustCompile()
	running := m.Apply(machine.Activity{}, machine.Responder, machine.Run("think"))
	stopping := m.Apply(running, machine.Responder, machine.Stop("think"))
	for _, c := range []struct {
		activity machine.Activity
		jobs     map[string]bool
		commands []string
	}{
		{machine.Activity{}, map[string]bool{}, nil},
		{running, map[string]bool{"think": false}, []string{"command report", "command sell", "command offer"}},
		{stopping, map[string]bool{"think": true}, []string{"command report", "command sell", "command offer"}},
	} {
		if got := maps.Collect(m.Jobs(c.activity, machine.Responder)); !maps.Equal(got, c.jobs) {
			t.Errorf("jobs %v, want %v", got, c.jobs)
		}
		if got := symbols(m.Commands(c.activity, machine.Responder, "busy")); !slices.Equal(got, c.commands) {
			t.Errorf("commands %s, want %s", got, c.commands)
		}
	}
	for on, after := range m.Commands(stopping, machine.Responder, "busy") {
		if ends := on != machine.Commanded("report"); ends != (after == machine.Activity{}) {
			t.Errorf("after %s: %v", on, after)
		}
	}
	if stopping.WithoutJobs() != (machine.Activity{}) || stopping.WithoutTimers() != stopping {
		t.Errorf("without jobs: %v", stopping.WithoutJobs())
	}
	if m.Apply(machine.Activity{}, machine.Responder, machine.Stop("think")) != (machine.Activity{}) {
		t.Error("a job that does not run is asked to stop")
	}
}

func TestCommandsOfAnAgent(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	for state, want := range map[machine.State][]string{machine.Idle: {"command start"}, "asked": {"command stop"}, "fetched": nil, "unknown": nil} {
		if got := symbols(m.Commands(machine.Activity{}, machine.Initiator, state)); !slices.Equal(got, want) {
			t.Errorf("in %s: %s, want %s", state, got, want)
		}
	}
}

// TestTransitions: those of wildcards come last, and Find returns the same ones.
func TestTransitions(t *testing.T) {
	m := tabletest.Fetch().MustCompile()
	wildcards := 0
	for s := range m.Transitions() {
		if m.Find(s.Role, s.From, s.On) != s {
			t.Errorf("%v is not found", s)
		}
		if s.Wildcard {
			wildcards++
		} else if wildcards > 0 {
			t.Errorf("%s in %s on %s comes after a wildcard", s.Role, s.From, s.On)
		}
		if row := m.Table().Rows[s.Row]; row.Role != s.Role || !slices.Contains(row.From, s.From) {
			t.Errorf("%v is not from %s", s, row)
		}
	}
	if wildcards == 0 {
		t.Error("no wildcards")
	}
}

func TestInert(t *testing.T) {
	for _, c := range []struct {
		transition machine.Transition
		want       bool
	}{
		{machine.Transition{From: "a", To: "a"}, true},
		{machine.Transition{From: "a", To: "a", Do: []machine.Effect{machine.Drop("x"), machine.Report("y")}}, true},
		{machine.Transition{From: "a", To: "b"}, false},
		{machine.Transition{From: "a", To: "a", Do: []machine.Effect{machine.Drop("x"), machine.Arm("y")}}, false},
	} {
		if c.transition.Inert() != c.want {
			t.Errorf("%v", c.transition)
		}
	}
}
