package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// note returns the table of a conversation of one act that expects no reply. Its
// initiator ends with that act.
func note() machine.Table {
	return machine.Table{
		Name: "note", Title: "Note", Purpose: "One word.", Source: "none", Terminal: []machine.State{"told", "heard"},
		Rows: []machine.Row{
			machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("start")).Goto("told", machine.Send(p.ActInform)),
			machine.For(machine.Initiator, "told").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
			machine.For(machine.Responder, machine.Idle).When(machine.Receive(p.ActInform)).Goto("heard", machine.Report("note")),
			machine.For(machine.Responder, "heard").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
		},
		Agree: []machine.Pair{{Initiator: "told", Responder: "heard"}, {Initiator: "told", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: "lost"}},
	}
}

// TestAConversationOfOneAct explores, draws and monitors a table without live states.
func TestAConversationOfOneAct(t *testing.T) {
	m, err := note().Compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, net := range []Network{{}, Calm()} {
		r, err := Explore(m, net)
		if err != nil || len(r.UnusedPairs) > 0 || len(r.Unexercised) > 0 {
			t.Errorf("%v: %v, %v, %v", r, err, r.UnusedPairs, r.Unexercised)
		}
	}
	want := "sequenceDiagram\n    participant I as initiator\n    participant R as responder\n" +
		"    note over I: command start<br/>idle → told\n    I->>R: INFORM\n    note over R: receive INFORM<br/>idle → heard\n"
	if got := Sequence(note().MustCompile()); got != want {
		t.Errorf("got %s", got)
	}
	o := machine.NewMonitor(m)
	inform := machine.Utterance{From: machine.Initiator, Act: p.ActInform}
	if err := o.Observe(inform); err != nil {
		t.Error(err)
	}
	if err := o.Observe(inform); err == nil {
		t.Error("a second note is legal")
	}
	inform.Again = true
	if err := o.Observe(inform); err != nil {
		t.Error(err)
	}
}

// TestRoundsOfALaterAct: the answer to an earlier call is stale, although the
// conversation was opened by another act.
func TestRoundsOfALaterAct(t *testing.T) {
	r, err := Explore(tabletest.Auction().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range r.Unexercised {
		if strings.Contains(step, "stale") {
			t.Errorf("never taken: %s", step)
		}
	}
	if Sequence(tabletest.Auction().MustCompile()) == "" {
		t.Error("no conversation succeeds")
	}
	o := machine.NewMonitor(tabletest.Auction().MustCompile())
	for _, u := range []machine.Utterance{
		{From: machine.Initiator, Act: p.ActInform},
		{From: machine.Initiator, Act: p.ActCFP},
		{From: machine.Responder, Act: p.ActPropose},
		{From: machine.Initiator, Act: p.ActCFP},
	} {
		if err := o.Observe(u); err != nil {
			t.Fatal(err)
		}
	}
	award := machine.Utterance{From: machine.Initiator, Act: p.ActAcceptProposal}
	if err := o.Observe(award); err == nil {
		t.Error("an award of a bid for an earlier price is legal")
	}
	if err := o.Observe(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); err != nil {
		t.Error(err)
	}
	if err := o.Observe(award); err != nil {
		t.Error(err)
	}
}

// clocks returns a table in which each side has eight armed timers at a time.
func clocks() machine.Table {
	const on, off machine.State = "on", "off"
	table := machine.Table{Name: "clocks", Live: []machine.State{on}, Terminal: []machine.State{off}, Agree: []machine.Pair{
		{Initiator: off, Responder: off}, {Initiator: off, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}},
	}}
	for _, r := range machine.Roles() {
		var arm []machine.Effect
		for i := range 8 {
			name := fmt.Sprint("clock ", i)
			table.Timers = append(table.Timers, machine.Timer{Role: r, Name: name})
			arm = append(arm, machine.Arm(name))
			next := machine.For(r, on).When(machine.Timeout(name)).Stay(machine.Disarm(fmt.Sprint("clock ", (i+1)%8)))
			if i == 7 {
				next = machine.For(r, on).When(machine.Timeout(name)).Goto(off)
			}
			table.Rows = append(table.Rows, next)
		}
		if r == machine.Initiator {
			arm = append(arm, machine.Send(p.ActInform))
			table.Rows = append(table.Rows, machine.For(r, machine.Idle).When(machine.Commanded("start")).Goto(on, arm...))
		} else {
			table.Rows = append(table.Rows, machine.For(r, machine.Idle).When(machine.Receive(p.ActInform)).Goto(on, arm...))
		}
		table.Rows = append(table.Rows, machine.For(r, on, off).When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")))
	}
	return table
}

// TestEightTimers: the expiry of clock 6 disarms clock 7, the only timer that ends a
// side, so a side is stranded. Without that effect it is not.
func TestEightTimers(t *testing.T) {
	if _, err := Explore(clocks().MustCompile(), Network{}); problemOf(err) != Stranded {
		t.Errorf("got %v", err)
	}
	table := clocks()
	for i, r := range table.Rows {
		if len(r.Do) == 1 && r.Do[0] == machine.Disarm("clock 7") {
			table.Rows[i].Do = nil
		}
	}
	m := table.MustCompile()
	r, err := Explore(m, Network{})
	if err != nil || len(r.Unexercised) > 0 {
		t.Errorf("%v, %v, %v", r, err, r.Unexercised)
	}
	if err := machine.NewMonitor(m).Observe(machine.Utterance{From: machine.Initiator, Act: p.ActInform}); err != nil {
		t.Error(err)
	}
}
