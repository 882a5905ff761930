package machine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestStep(t *testing.T) {
	m := tabletest.Ping().MustCompile()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := m.Start(machine.Initiator, at)
	c, do, err := m.Step(c, machine.Event{On: machine.Commanded("start"), At: at.Add(time.Second)})
	if err != nil || c.State != "asked" || c.Steps != 1 || !c.Updated.Equal(at.Add(time.Second)) {
		t.Fatalf("start: %+v, %v", c, err)
	}
	if len(do) != 2 || do[0] != machine.Send(p.ActQueryRef) || do[1] != machine.Arm("deadline") {
		t.Fatalf("start: effects %v", do)
	}
	if c, _, err = m.Step(c, machine.Event{On: machine.ReceiveTagged(p.ActInformRef, "whatever")}); err != nil || c.State != "done" {
		t.Fatalf("a tag without a row is not ignored: %+v, %v", c, err)
	}
	if !m.Terminal(c.State) || m.Terminal("asked") {
		t.Error("done is terminal and asked is not")
	}
}

func TestStepRefusesUnexpectedEvents(t *testing.T) {
	m := tabletest.Ping().MustCompile()
	c := m.Start(machine.Responder, time.Time{})
	after, do, err := m.Step(c, machine.Event{On: machine.Receive(p.ActCancel), At: time.Unix(1, 0)})
	var unexpected *machine.UnexpectedError
	if !errors.As(err, &unexpected) || after != c || do != nil {
		t.Fatalf("%+v, %v, %v", after, do, err)
	}
	want := machine.UnexpectedError{Table: "ping", Role: machine.Responder, State: machine.Idle, On: machine.Receive(p.ActCancel)}
	if *unexpected != want {
		t.Errorf("got %+v, want %+v", *unexpected, want)
	}
}

// A wildcard stands for events, and is none.
func TestAWildcardIsNoEvent(t *testing.T) {
	m := tabletest.Ping().MustCompile()
	c := machine.Status{Role: machine.Initiator, State: "done"}
	if _, _, err := m.Step(c, machine.Event{On: machine.Duplicate(p.ActQueryIf)}); err != nil { // the table has the wildcard there
		t.Error(err)
	}
	for _, on := range []machine.Symbol{machine.OtherDuplicates(), machine.OtherNotices(), machine.OtherRequests(), machine.OtherRefusedCopies()} {
		if _, do, err := m.Step(c, machine.Event{On: on}); err == nil || m.Takes(c, on) || m.Find(c.Role, c.State, on) != nil {
			t.Errorf("%s: %v", on, do)
		}
	}
}

func TestConversationIsJSON(t *testing.T) {
	c := machine.Status{Role: machine.Responder, State: "done", Steps: 2, Updated: time.Unix(9, 0).UTC()}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back machine.Status
	if err := json.Unmarshal(text, &back); err != nil || back != c {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	m := tabletest.Ping().MustCompile()
	c := m.Start(machine.Initiator, time.Time{})
	e := machine.Event{On: machine.Commanded("start"), At: time.Unix(1, 0)}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.Step(c, e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkStep(b *testing.B) {
	m := tabletest.Ping().MustCompile()
	c := m.Start(machine.Initiator, time.Time{})
	e := machine.Event{On: machine.Commanded("start"), At: time.Unix(1, 0)}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := m.Step(c, e); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAnImpossibleStepPanics adds a transition that Compile would refuse.
func TestAnImpossibleStepPanics(t *testing.T) {
	m := tabletest.Ping().MustCompile()
	m.Corrupt(machine.Transition{Role: machine.Initiator, From: "done", On: machine.Commanded("back"), To: "asked"})
	defer func() {
		if text, _ := recover().(string); text != "machine: ping: initiator would leave the terminal state done for asked" {
			t.Errorf("panic %q", text)
		}
	}()
	_, _, _ = m.Step(machine.Status{Role: machine.Initiator, State: "done"}, machine.Event{On: machine.Commanded("back")})
}

// TestStaleTagged has a row for a stale answer with a tag. One without it, or with another, counts
// as a fresh one.
func TestStaleTagged(t *testing.T) {
	table := tabletest.Ping()
	table.Rows = append(table.Rows, machine.Row{
		Role: machine.Initiator, From: []machine.State{"asked"}, On: []machine.Symbol{machine.StaleTagged(p.ActInformRef, "pass")}, Do: []machine.Effect{machine.Drop("stale")}, Why: "late",
	})
	m := table.MustCompile()
	for tag, want := range map[string]machine.State{"pass": "asked", "": "done", "other": "done"} {
		if got := m.Find(machine.Initiator, "asked", machine.StaleTagged(p.ActInformRef, tag)); got == nil || got.To != want {
			t.Errorf("a stale answer with the tag %q: %+v, want the state %s", tag, got, want)
		}
	}
}
