package machine_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestProgress(t *testing.T) {
	begin := machine.NewProgress(tabletest.Ping().MustCompile())
	query := machine.Utterance{From: machine.Initiator, Act: p.ActQueryRef}
	asked := begin.After(query)
	if asked == nil || asked.Ended() || begin.After(query) != asked {
		t.Fatalf("after the query: %+v", asked)
	}
	if answered := asked.After(machine.Utterance{From: machine.Responder, Act: p.ActInformRef}); answered == nil || !answered.Ended() {
		t.Errorf("after the answer: %+v", answered)
	}
	if broken := asked.After(machine.Utterance{From: machine.Responder, Act: p.ActPropose}); broken != nil {
		t.Errorf("after a message that the table does not allow: %+v", broken)
	}
}

// An answer whose sender has left out the agreement ends the conversation, and one that could not
// have followed that breaks the table.
func TestProgressWithoutAgreement(t *testing.T) {
	proposed := machine.NewProgress(agreed().MustCompile()).After(machine.Utterance{From: machine.Initiator, Act: p.ActRequest})
	if done := proposed.After(machine.Utterance{From: machine.Responder, Act: p.ActInform}); done == nil || !done.Ended() {
		t.Errorf("after the answer: %+v", done)
	}
	for _, u := range []machine.Utterance{{From: machine.Responder, Act: p.ActInformRef}, {From: machine.Initiator, Act: p.ActInform}} {
		if broken := proposed.After(u); broken != nil {
			t.Errorf("after %v: %+v", u, broken)
		}
	}
	m := machine.NewMonitor(agreed().MustCompile())
	if err := m.Observe(machine.Utterance{From: machine.Initiator, Act: p.ActRequest}); err != nil {
		t.Fatal(err)
	}
	if err := m.Observe(machine.Utterance{From: machine.Responder, Act: p.ActInform}); err == nil {
		t.Error("Observe allows an answer without the agreement")
	}
}

// A conversation with many like messages needs no more Progress values than one with some, and more
// conversations than are shared are judged all the same.
func TestProgressIsBounded(t *testing.T) {
	begin := machine.NewProgress(tabletest.ContractNet().MustCompile())
	at := begin
	for _, u := range reported(0) {
		at = at.After(u)
	}
	report := machine.Utterance{From: machine.Responder, Act: p.ActStatusUpdate}
	seen := map[*machine.Progress]bool{}
	for range 1000 {
		if at = at.After(report); at == nil || at.Ended() {
			t.Fatalf("after %d kinds of progress: %+v", len(seen), at)
		}
		seen[at] = true
	}
	if len(seen) > machine.MaxAlike {
		t.Errorf("%d values for like messages", len(seen))
	}
	for i := range 1000 { // each conversation has another trace
		at := begin
		for _, u := range reported(0) {
			at = at.After(u)
		}
		for bit := range 10 {
			at = at.After(machine.Utterance{From: machine.Responder, Act: p.ActStatusUpdate, Again: i>>bit&1 == 1 && bit > 0})
		}
		if end := at.After(machine.Utterance{From: machine.Responder, Act: p.ActInformResult}); end == nil || !end.Ended() {
			t.Fatalf("%d: after the result: %+v", i, end)
		}
	}
}

// agreed is a table whose responder agrees before it answers.
func agreed() machine.Table {
	const asked, promised, answering, done machine.State = "asked", "promised", "answering", "done"
	return machine.Table{
		Name: "agreed", Title: "Agreed", Purpose: "One request, one agreement, one answer.", Source: "none",
		Live: []machine.State{asked, promised, answering}, Terminal: []machine.State{done},
		Jobs: []machine.Job{{Role: machine.Responder, Name: "answer", Ends: []string{"answer"}}},
		Rows: []machine.Row{
			machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("start")).Goto(asked, machine.Send(p.ActRequest)),
			machine.For(machine.Initiator, asked).When(machine.Receive(p.ActAgree)).Goto(promised),
			machine.For(machine.Initiator, asked, promised).When(machine.Receive(p.ActInform)).Goto(done),
			machine.For(machine.Initiator, done).When(machine.Receive(p.ActAgree)).Stay(machine.Drop("late")),
			machine.For(machine.Responder, machine.Idle).When(machine.Receive(p.ActRequest)).Goto(answering, machine.Send(p.ActAgree), machine.Run("answer")),
			machine.For(machine.Responder, answering).When(machine.Commanded("answer")).Goto(done, machine.Send(p.ActInform)),
		},
		Agree: []machine.Pair{{Initiator: "done", Responder: "done"}},
	}
}
