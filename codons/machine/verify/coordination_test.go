package verify

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

func TestCheckCoordination(t *testing.T) {
	rule := func(change func(*machine.Rule)) func(*machine.Coordination) {
		return func(c *machine.Coordination) { change(&c.Rules[0]) }
	}
	for _, c := range []struct {
		name   string
		change func(*machine.Coordination)
		want   string
	}{
		{"no name", func(c *machine.Coordination) { c.Name = "" }, "the coordination has no name"},
		{"no machine", func(c *machine.Coordination) { c.Machine = nil }, "has no machine"},
		{"no rules", func(c *machine.Coordination) { c.Rules = nil }, "has no rules"},
		{"a rule twice", func(c *machine.Coordination) { c.Rules = append(c.Rules, c.Rules[0]) }, "rule award: the name is empty or used twice"},
		{"no condition", rule(func(r *machine.Rule) { r.When = nil }), "it has no condition, no state or no command"},
		{"no state", rule(func(r *machine.Rule) { r.Of = nil }), "no state or no command"},
		{"no command", rule(func(r *machine.Rule) { r.Say = nil }), "no command"},
		{"an unknown state", rule(func(r *machine.Rule) { r.Of = []machine.State{"limbo"} }), `rule award: state "limbo" is not declared`},
		{"a terminal state", rule(func(r *machine.Rule) { r.Of = []machine.State{"completed"} }), "rule award: members in completed have ended"},
		{"a state without a row", rule(func(r *machine.Rule) { r.Of = []machine.State{"called"} }), "the initiator has no row for command award in called"},
		{"a command without effect", rule(func(r *machine.Rule) { r.Of = []machine.State{"cancelling"} }), "command award does nothing in cancelling"},
		{"an unknown command", rule(func(r *machine.Rule) { r.Say[0].Command = "dance" }), "no row for command dance in proposed"},
		{"a command twice", rule(func(r *machine.Rule) { r.Say[1] = r.Say[0] }), `command "award" is empty or used twice`},
		{"an impossible number", rule(func(r *machine.Rule) { r.Say[0].Min = 2 }), "at least 2 and at most 1"},
		{"a bound on all", rule(func(r *machine.Rule) { r.Say[1].Max = 3 }), "a large group could not be decided"},
		{"an unknown wish", func(c *machine.Coordination) { c.Unbidden = []string{"dance"} }, `unbidden command "dance" is not one of the initiator's agent`},
		{"the responder's wish", func(c *machine.Coordination) { c.Unbidden = []string{"finish"} }, `unbidden command "finish" is not one`},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := tabletest.AwardOne()
			c.change(&group)
			err := CheckCoordination(group)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if err := CheckCoordination(tabletest.AwardOne()); err != nil {
		t.Error(err)
	}
}
