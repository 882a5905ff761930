package machine

import (
	"fmt"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// note is a conversation of one act that expects no reply, whose initiator ends
// with it.
func note() Table {
	return Table{
		Name: "note", Title: "Note", Purpose: "One word.", Source: "none", Terminal: []State{"told", "heard"},
		Rows: []Row{
			For(Initiator, Idle).When(Command("start")).Goto("told", Send(p.ActInform)),
			For(Initiator, "told").When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),
			For(Responder, Idle).When(Receive(p.ActInform)).Goto("heard", Report("note")),
			For(Responder, "heard").When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),
		},
		Agree: []Pair{{Initiator: "told", Responder: "heard"}, {Initiator: "told", Responder: Idle, Rough: true, Note: "lost"}},
	}
}

// TestAConversationOfOneAct takes a table without live states through everything.
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
	if got := note().Sequence(); got != want {
		t.Errorf("got %s", got)
	}
	o := NewMonitor(m)
	inform := Utterance{From: Initiator, Act: p.ActInform}
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
	r, err := Explore(auction().MustCompile(), Network{})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range r.Unexercised {
		if strings.Contains(step, "stale") {
			t.Errorf("never taken: %s", step)
		}
	}
	if auction().Sequence() == "" {
		t.Error("no conversation ends well")
	}
	o := NewMonitor(auction().MustCompile())
	for _, u := range []Utterance{
		{From: Initiator, Act: p.ActInform},
		{From: Initiator, Act: p.ActCFP},
		{From: Responder, Act: p.ActPropose},
		{From: Initiator, Act: p.ActCFP},
	} {
		if err := o.Observe(u); err != nil {
			t.Fatal(err)
		}
	}
	award := Utterance{From: Initiator, Act: p.ActAcceptProposal}
	if err := o.Observe(award); err == nil {
		t.Error("a bid for an earlier price is taken")
	}
	if err := o.Observe(Utterance{From: Responder, Act: p.ActPropose}); err != nil {
		t.Error(err)
	}
	if err := o.Observe(award); err != nil {
		t.Error(err)
	}
}

// TestAReceiptIsNeverStale cancels in a second round what the responder knows of
// the first: its receipt answers the CANCEL.
func TestAReceiptIsNeverStale(t *testing.T) {
	var me side
	me.hear(p.ActRequest, 3, nil)
	me.hear(p.ActCancel, 5, []Effect{Refuse(p.CodeCanceled)})
	me.hear(p.ActInform, 6, nil)
	if got := me.about(p.ActInform); got != 4 {
		t.Errorf("before CANCEL, INFORM is about %d", got)
	}
	me.hear(p.ActCancel, 7, nil)
	for act, want := range map[p.Performative]uint8{p.ActInform: 8, p.ActFailure: 8, p.ActInformResult: 4} {
		if got := me.about(act); got != want {
			t.Errorf("after CANCEL, %s is about %d, want %d", act, got, want)
		}
	}
}

// clocks is a table in which each side runs eight timers at a time.
func clocks() Table {
	const on, off State = "on", "off"
	table := Table{Name: "clocks", Live: []State{on}, Terminal: []State{off}, Agree: []Pair{
		{Initiator: off, Responder: off}, {Initiator: off, Responder: Idle, Rough: true},
	}}
	for _, r := range Roles() {
		var arm []Effect
		for i := range 8 {
			name := fmt.Sprint("clock ", i)
			table.Timers = append(table.Timers, Timer{Role: r, Name: name})
			arm = append(arm, Arm(name))
			next := For(r, on).When(Timeout(name)).Stay(Disarm(fmt.Sprint("clock ", (i+1)%8)))
			if i == 7 {
				next = For(r, on).When(Timeout(name)).Goto(off)
			}
			table.Rows = append(table.Rows, next)
		}
		if r == Initiator {
			arm = append(arm, Send(p.ActInform))
			table.Rows = append(table.Rows, For(r, Idle).When(Command("start")).Goto(on, arm...))
		} else {
			table.Rows = append(table.Rows, For(r, Idle).When(Receive(p.ActInform)).Goto(on, arm...))
		}
		table.Rows = append(table.Rows, For(r, on, off).When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")))
	}
	return table
}

// TestEightTimers: clock 6 stops the only one that ends a side, and nothing else
// does, so a side is stranded; with the last clock left running it is not.
func TestEightTimers(t *testing.T) {
	if _, err := Explore(clocks().MustCompile(), Network{}); problemOf(err) != Stranded {
		t.Errorf("got %v", err)
	}
	table := clocks()
	for i, r := range table.Rows {
		if len(r.Do) == 1 && r.Do[0] == Disarm("clock 7") {
			table.Rows[i].Do = nil
		}
	}
	m := table.MustCompile()
	r, err := Explore(m, Network{})
	if err != nil || len(r.Unexercised) > 0 {
		t.Errorf("%v, %v, %v", r, err, r.Unexercised)
	}
	if err := NewMonitor(m).Observe(Utterance{From: Initiator, Act: p.ActInform}); err != nil {
		t.Error(err)
	}
}
