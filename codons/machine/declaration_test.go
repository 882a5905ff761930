package machine_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
)

// An end that is declared for a state is before one that is declared for all.
func TestEndOfATable(t *testing.T) {
	late, other := machine.Timeout("deadline"), machine.Timeout("retry")
	var table machine.Table
	table.Ends = []machine.Ending{
		{Role: machine.Initiator, On: late, To: "all"},
		{Role: machine.Initiator, On: late, In: []machine.State{"a", "b"}, To: "some"},
		{Role: machine.Responder, On: other, In: []machine.State{"a"}, To: "theirs"},
	}
	for _, test := range []struct {
		role     machine.Role
		state    machine.State
		on       machine.Symbol
		want     machine.State
		declared bool
	}{
		{machine.Initiator, "a", late, "some", true},
		{machine.Initiator, "b", late, "some", true},
		{machine.Initiator, "c", late, "all", true},
		{machine.Initiator, "a", other, "", false},
		{machine.Responder, "a", late, "", false},
		{machine.Responder, "a", other, "theirs", true},
		{machine.Responder, "b", other, "", false},
	} {
		if to, declared := table.End(test.role, test.state, test.on); to != test.want || declared != test.declared {
			t.Errorf("%s in %s on %s: %q, %v", test.role, test.state, test.on, to, declared)
		}
	}
}

// An exception is about some rows, and a renewal about those of some states or of all.
func TestCovers(t *testing.T) {
	on := machine.Timeout("deadline")
	e := machine.Exception{Rule: "r", Role: machine.Initiator, In: []machine.State{"a", "b"}, On: []machine.Symbol{machine.PeerLost(), on}}
	for _, test := range []struct {
		rule  string
		role  machine.Role
		state machine.State
		on    machine.Symbol
		want  bool
	}{
		{"r", machine.Initiator, "b", on, true},
		{"s", machine.Initiator, "b", on, false},
		{"r", machine.Responder, "b", on, false},
		{"r", machine.Initiator, "c", on, false},
		{"r", machine.Initiator, "b", machine.Timeout("retry"), false},
	} {
		transition := &machine.Transition{Role: test.role, From: test.state, On: test.on}
		if got := e.Covers(test.rule, transition); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
		some, all := machine.Renewal{Role: e.Role, In: e.In, On: e.On}, machine.Renewal{Role: e.Role, On: e.On}
		if got := some.Covers(transition); test.rule == e.Rule && got != test.want {
			t.Errorf("a renewal: %+v: %v", test, got)
		}
		if got := all.Covers(transition); got != (test.role == e.Role && test.on == on) {
			t.Errorf("a renewal in all states: %+v: %v", test, got)
		}
	}
}

// A command without a declaration opens the conversation, or may be given.
func TestCommandKind(t *testing.T) {
	table := tabletest.Ping()
	table.Rows = append(table.Rows, machine.For(machine.Initiator, "asked").When(machine.Commanded("stop")).Goto("lost"))
	table.Commands = []machine.AgentCommand{
		{Role: machine.Initiator, Name: "stop", In: []machine.State{"asked"}, Kind: machine.CommandStops}, {Role: machine.Initiator, Name: "start", In: []machine.State{machine.Idle}},
	}
	m := table.MustCompile()
	for _, test := range []struct {
		role  machine.Role
		state machine.State
		name  string
		want  machine.CommandKind
	}{
		{machine.Initiator, "asked", "stop", machine.CommandStops},
		{machine.Initiator, machine.Idle, "start", machine.CommandMay},
		{machine.Initiator, machine.Idle, "other", machine.CommandOpens},
		{machine.Initiator, "done", "stop", machine.CommandMay},
		{machine.Responder, "asked", "stop", machine.CommandMay},
		{machine.Responder, machine.Idle, "start", machine.CommandOpens},
		{machine.Initiator, "limbo", "start", machine.CommandMay},
	} {
		if got := m.CommandKind(test.role, test.state, test.name); got != test.want {
			t.Errorf("%s of the %s in %s: %d, want %d", test.name, test.role, test.state, got, test.want)
		}
	}
}

func TestRestHas(t *testing.T) {
	always := machine.Rest{Initiator: []machine.State{"a"}, Responder: []machine.State{"b", "c"}}
	once := always
	once.ToldOnce = true
	for _, lost := range []bool{false, true} {
		for pair, want := range map[[2]machine.State]bool{{"a", "b"}: true, {"a", "c"}: true, {"b", "b"}: false, {"a", "a"}: false, {"b", "a"}: false} {
			if got := always.Has(pair[0], pair[1], lost); got != want {
				t.Errorf("%v, lost: %v: %v", pair, lost, got)
			}
			if got := once.Has(pair[0], pair[1], lost); got != (want && lost) {
				t.Errorf("%v, told once, lost: %v: %v", pair, lost, got)
			}
		}
	}
}
