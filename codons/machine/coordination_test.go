package machine

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestValidateRefuses(t *testing.T) {
	rule := func(change func(*Rule)) func(*Coordination) { return func(c *Coordination) { change(&c.Rules[0]) } }
	for _, c := range []struct {
		name   string
		change func(*Coordination)
		want   string
	}{
		{"no name", func(c *Coordination) { c.Name = "" }, "the coordination has no name"},
		{"no machine", func(c *Coordination) { c.Machine = nil }, "has no machine"},
		{"no rules", func(c *Coordination) { c.Rules = nil }, "has no rules"},
		{"a rule twice", func(c *Coordination) { c.Rules = append(c.Rules, c.Rules[0]) }, "rule award: the name is empty or there twice"},
		{"no condition", rule(func(r *Rule) { r.When = nil }), "it has no condition"},
		{"about nobody", rule(func(r *Rule) { r.Of = nil }), "is about no state"},
		{"no word", rule(func(r *Rule) { r.Say = nil }), "says nothing"},
		{"an unknown state", rule(func(r *Rule) { r.Of = []State{"limbo"} }), `rule award: state "limbo" is not declared`},
		{"a terminal state", rule(func(r *Rule) { r.Of = []State{completed} }), "rule award: members in completed have ended"},
		{"a state without a row", rule(func(r *Rule) { r.Of = []State{called} }), "the initiator has no row for command award in called"},
		{"a command without effect", rule(func(r *Rule) { r.Of = []State{cancelling} }), "command award does nothing in cancelling"},
		{"an unknown command", rule(func(r *Rule) { r.Say[0].Command = "dance" }), "no row for command dance in proposed"},
		{"a command twice", rule(func(r *Rule) { r.Say[1] = r.Say[0] }), `command "award" is empty or there twice`},
		{"an impossible number", rule(func(r *Rule) { r.Say[0].Min = 2 }), "at least 2 and at most 1"},
		{"a bound on all", rule(func(r *Rule) { r.Say[1].Max = 3 }), "a large group could not be decided"},
		{"a nameless never", func(c *Coordination) { c.Never[0].Name = "" }, "has no name or no condition"},
		{"an unknown wish", func(c *Coordination) { c.Unbidden = []string{"dance"} }, `unbidden command "dance" is none of the initiator's agent`},
		{"the responder's wish", func(c *Coordination) { c.Unbidden = []string{"finish"} }, `unbidden command "finish" is none`},
	} {
		t.Run(c.name, func(t *testing.T) {
			group := awardOne()
			c.change(&group)
			err := group.Validate()
			var fault *CoordinationError
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if err := awardOne().Validate(); err != nil {
		t.Error(err)
	}
}

func TestDue(t *testing.T) {
	c := sellOne()
	for _, at := range []struct {
		states []State
		want   string // the rule, empty for none
		about  []int
	}{
		{[]State{"opened", Idle}, "", nil},
		{[]State{"opened", "calling"}, "call", []int{0, 1}},
		{[]State{"calling", "bid", "closed", "bid"}, "sell", []int{1, 3}},
		{[]State{"sold", "calling", "bid"}, "close", []int{1, 2}},
		{[]State{"sold", "closed"}, "", nil},
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
	states := []State{proposed, refused, proposed, proposed}
	rule := Rule{
		Name: "award", Of: []State{proposed},
		Say: []Choice{{Command: "award", Min: 1, Max: 1}, {Command: "decline"}},
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
		var wrong *DecisionError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.commands, err)
		case c.want != "" && (!errors.As(err, &wrong) || err.Error() != c.want):
			t.Errorf("%q: got %v, want %s", c.commands, err, c.want)
		}
	}
}

func TestCensus(t *testing.T) {
	c := NewCensus("a", "b", "a", "c")
	if c.Len() != 4 || c.Count("a") != 2 || c.Count("a", "c", "a") != 3 || c.Count() != 0 {
		t.Errorf("%d members, %d, %d, %d", c.Len(), c.Count("a"), c.Count("a", "c", "a"), c.Count())
	}
}

func TestChoiceReads(t *testing.T) {
	for c, want := range map[Choice]string{
		{Command: "go"}: "go", {Command: "go", Max: 2}: "go (at most 2)", {Command: "go", Min: 2}: "go (at least 2)",
		{Command: "go", Min: 1, Max: 1}: "go (exactly 1)", {Command: "go", Min: 1, Max: 2}: "go (1 to 2)",
	} {
		if got := c.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
