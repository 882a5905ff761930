package machine_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

func TestDue(t *testing.T) {
	c := tabletest.SellOne()
	for _, at := range []struct {
		states []machine.State
		want   string // the rule, empty for none
		about  []int
	}{
		{[]machine.State{"opened", machine.Idle}, "", nil},
		{[]machine.State{"opened", "calling"}, "call", []int{0, 1}},
		{[]machine.State{"calling", "bid", "closed", "bid"}, "sell", []int{1, 3}},
		{[]machine.State{"sold", "calling", "bid"}, "close", []int{1, 2}},
		{[]machine.State{"sold", "closed"}, "", nil},
		{nil, "", nil},
	} {
		rule, due := c.Due(at.states)
		switch {
		case due != (at.want != ""):
			t.Errorf("%s: due %v", at.states, due)
		case due && (rule.Name != at.want || !reflect.DeepEqual(rule.About(at.states), at.about)):
			t.Errorf("%s: %s about %d", at.states, rule.Name, rule.About(at.states))
		}
	}
}

func TestCheckDecisions(t *testing.T) {
	states := []machine.State{"proposed", "refused", "proposed", "proposed"}
	rule := machine.Rule{
		Name: "award", Of: []machine.State{"proposed"},
		Say: []machine.Choice{{Command: "award", Min: 1, Max: 1}, {Command: "decline"}},
	}
	for _, c := range []struct {
		commands []string
		want     string // empty for allowed
	}{
		{[]string{"award", "", "decline", "decline"}, ""},
		{[]string{"decline", "", "decline", "award"}, ""},
		{[]string{"award", "", "decline"}, "machine: rule award: it is about another number of members"},
		{[]string{"award", "decline", "decline", "decline"}, "machine: rule award: member 1: decline: the rule is not about a member in refused"},
		{[]string{"award", "", "", "decline"}, "machine: rule award: member 2: the member gets no command"},
		{[]string{"award", "", "dance", "decline"}, "machine: rule award: member 2: dance: the rule has no such command"},
		{[]string{"award", "", "award", "decline"}, "machine: rule award: award: too many members get it"},
		{[]string{"decline", "", "decline", "decline"}, "machine: rule award: award: too few members get it"},
	} {
		err := rule.Check(states, c.commands)
		var wrong *machine.DecisionError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.commands, err)
		case c.want != "" && (!errors.As(err, &wrong) || err.Error() != c.want):
			t.Errorf("%q: got %v, want %s", c.commands, err, c.want)
		}
	}
}

func TestCensus(t *testing.T) {
	c := machine.NewCensus("a", "b", "a", "c")
	if c.Len() != 4 || c.Count("a") != 2 || c.Count("a", "c", "a") != 3 || c.Count() != 0 {
		t.Errorf("%d members, %d, %d, %d", c.Len(), c.Count("a"), c.Count("a", "c", "a"), c.Count())
	}
}

func TestChoiceReads(t *testing.T) {
	for c, want := range map[machine.Choice]string{
		{Command: "go"}: "go", {Command: "go", Max: 2}: "go (at most 2)", {Command: "go", Min: 2}: "go (at least 2)",
		{Command: "go", Min: 1, Max: 1}: "go (exactly 1)", {Command: "go", Min: 1, Max: 2}: "go (1 to 2)",
	} {
		if got := c.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
