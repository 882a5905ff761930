package machine

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// ping is the smallest table with both roles, a timer, a job and an afterlife.
func ping() Table {
	const asked, answering, done, lost State = "asked", "answering", "done", "lost"
	return Table{
		Name: "ping", Title: "Ping", Purpose: "One question, one answer.", Source: "none",
		Live: []State{asked, answering}, Terminal: []State{done, lost},
		Jobs: []Job{{Role: Responder, Name: "answer", Ends: []string{"answer"}}},
		Timers: []Timer{
			{Role: Initiator, Name: "deadline"},
			{Role: Responder, Name: "deadline"},
		},
		Rows: []Row{
			For(Initiator, Idle).When(Command("start")).Goto(asked, Send(p.ActQueryRef), Arm("deadline")),
			For(Initiator, asked).When(Receive(p.ActInformRef)).Goto(done).Because("the answer"),
			For(Initiator, asked).When(Timeout("deadline")).Goto(lost),
			For(Initiator, done, lost).When(Receive(p.ActInformRef)).Stay(Drop("late")),
			For(Initiator, done, lost).When(OtherDuplicates()).Stay(Drop("duplicate")),

			For(Responder, Idle).When(Receive(p.ActQueryRef)).Goto(answering, Run("answer"), Arm("deadline")),
			For(Responder, answering).When(Command("answer")).Goto(done, Send(p.ActInformRef)),
			For(Responder, answering).When(Duplicate(p.ActQueryRef)).Stay(Drop("duplicate")),
			For(Responder, answering).When(Timeout("deadline")).Goto(lost, Stop("answer")),
			For(Responder, done).When(Duplicate(p.ActQueryRef)).Stay(Resend(p.ActInformRef)),
			For(Responder, lost).When(Duplicate(p.ActQueryRef)).Stay(Drop("duplicate")),
			For(Responder, lost).When(Command("answer")).Stay(Drop("late")),
		},
		Agree: []Pair{
			{Initiator: "done", Responder: "done"},
			{Initiator: "lost", Responder: "lost"},
			{Initiator: "lost", Responder: "done", Note: "the answer was lost or late"},
			{Initiator: "lost", Responder: Idle, Note: "the question was lost"},
		},
	}
}

func TestStep(t *testing.T) {
	m := ping().MustCompile()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := m.Start(Initiator, at)
	c, do, err := m.Step(c, Event{On: Command("start"), At: at.Add(time.Second)})
	if err != nil || c.State != "asked" || c.Steps != 1 || !c.Updated.Equal(at.Add(time.Second)) {
		t.Fatalf("start: %+v, %v", c, err)
	}
	if len(do) != 2 || do[0] != Send(p.ActQueryRef) || do[1] != Arm("deadline") {
		t.Fatalf("start: effects %v", do)
	}
	if c, _, err = m.Step(c, Event{On: ReceiveTagged(p.ActInformRef, "whatever")}); err != nil || c.State != "done" {
		t.Fatalf("an unknown tag means nothing: %+v, %v", c, err)
	}
	if !m.Terminal(c.State) || m.Terminal("asked") {
		t.Error("done is terminal and asked is not")
	}
}

func TestStepRefusesUnexpectedEvents(t *testing.T) {
	m := ping().MustCompile()
	c := m.Start(Responder, time.Time{})
	after, do, err := m.Step(c, Event{On: Receive(p.ActCancel), At: time.Unix(1, 0)})
	var unexpected *UnexpectedError
	if !errors.As(err, &unexpected) || after != c || do != nil {
		t.Fatalf("%+v, %v, %v", after, do, err)
	}
	want := UnexpectedError{Table: "ping", Role: Responder, State: Idle, On: Receive(p.ActCancel)}
	if *unexpected != want {
		t.Errorf("got %+v, want %+v", *unexpected, want)
	}
}

func TestConversationIsJSON(t *testing.T) {
	c := Conversation{Role: Responder, State: "done", Steps: 2, Updated: time.Unix(9, 0).UTC()}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Conversation
	if err := json.Unmarshal(text, &back); err != nil || back != c {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	m := ping().MustCompile()
	c := m.Start(Initiator, time.Time{})
	e := Event{On: Command("start"), At: time.Unix(1, 0)}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.Step(c, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStep(b *testing.B) {
	m := ping().MustCompile()
	c := m.Start(Initiator, time.Time{})
	e := Event{On: Command("start"), At: time.Unix(1, 0)}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.Step(c, e); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAnImpossibleStepPanics corrupts a machine, which Compile would not.
func TestAnImpossibleStepPanics(t *testing.T) {
	m := ping().MustCompile()
	m.steps[key{Initiator, "done", Command("back")}] = &step{to: "asked"}
	defer func() {
		if text, _ := recover().(string); text != "machine: ping: initiator would leave the terminal state done for asked" {
			t.Errorf("panic %q", text)
		}
	}()
	_, _, _ = m.Step(Conversation{Role: Initiator, State: "done"}, Event{On: Command("back")})
}
