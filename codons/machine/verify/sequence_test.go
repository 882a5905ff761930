package verify

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// feed is a long-lived conversation: it ends when one side ends it.
func feed() machine.Table {
	i, r := machine.Initiator, machine.Responder
	return machine.Table{
		Name: "feed", Title: "Feed", Purpose: "p", Source: "s",
		Live: []machine.State{"open", "closing"}, Terminal: []machine.State{"lost", "closed", "over"},
		Timers: []machine.Timer{{Role: i, Name: "silence", Doc: "d"}, {Role: r, Name: "silence", Doc: "d"}},
		Rows: []machine.Row{
			machine.For(i, machine.Idle).When(machine.Commanded("start")).Goto("open", machine.Send(p.ActSubscribe), machine.Arm("silence")).Because("b"),
			machine.For(i, "open", "closing").When(machine.Timeout("silence")).Goto("lost").Because("b"),
			machine.For(i, "open", "closing").When(machine.Receive(p.ActInform)).Stay().Because("b"),
			machine.For(i, "open", "closing").When(machine.Receive(p.ActFailure)).Goto("over").Because("b"),
			machine.For(i, "open").When(machine.Commanded("cancel")).Goto("closing", machine.Send(p.ActCancel)).Because("b"),
			machine.For(i, "closing").When(machine.Receive(p.ActAgree)).Goto("closed").Because("b"),
			machine.For(r, machine.Idle).When(machine.Receive(p.ActSubscribe)).Goto("open", machine.Arm("silence")).Because("b"),
			machine.For(r, "open").When(machine.Timeout("silence")).Goto("lost").Because("b"),
			machine.For(r, "open").When(machine.Commanded("publish")).Stay(machine.Send(p.ActInform)).Because("b"),
			machine.For(r, "open").When(machine.Commanded("close")).Goto("over", machine.Send(p.ActFailure)).Because("b"),
			machine.For(r, machine.Idle, "open").When(machine.Receive(p.ActCancel)).Goto("closed", machine.Send(p.ActAgree)).Because("b"),
			machine.For(i, "closed", "over").When(machine.Receive(p.ActInform)).Stay(machine.Drop("late")).Because("b"),
			machine.For(r, "closed").When(machine.Receive(p.ActSubscribe)).Stay(machine.Drop("late")).Because("b"),
			machine.For(r, "over").When(machine.Receive(p.ActCancel)).Stay(machine.Drop("late")).Because("b"),
		},
		Agree: []machine.Pair{{Initiator: "closed", Responder: "closed"}, {Initiator: "over", Responder: "over"}},
	}
}

func TestSequenceOfALongLivedConversation(t *testing.T) {
	want := `sequenceDiagram
    participant I as initiator
    participant R as responder
    note over I: command start<br/>idle → open
    I->>R: SUBSCRIBE
    note over R: receive SUBSCRIBE<br/>idle → open
    R->>I: INFORM
    R->>I: INFORM #2
    note over I: command cancel<br/>open → closing
    I->>R: CANCEL
    note over R: receive CANCEL<br/>open → closed
    R->>I: AGREE
    note over I: receive AGREE<br/>closing → closed
`
	if got := Sequence(feed().MustCompile()); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSequenceWithoutAnEnd(t *testing.T) {
	table := feed()
	for i, row := range table.Rows {
		if row.On[0] == machine.Commanded("cancel") {
			table.Rows[i].On[0] = machine.Commanded("leave")
		}
	}
	if got := Sequence(table.MustCompile()); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestSequenceEndsInTheFirstTerminalState(t *testing.T) {
	table := feed()
	table.Terminal = []machine.State{"over", "closed", "lost"}
	want := `sequenceDiagram
    participant I as initiator
    participant R as responder
    note over I: command start<br/>idle → open
    I->>R: SUBSCRIBE
    note over R: receive SUBSCRIBE<br/>idle → open
    note over R: command close<br/>open → over
    R->>I: FAILURE
    note over I: receive FAILURE<br/>open → over
`
	if got := Sequence(table.MustCompile()); got != want {
		t.Errorf("got %s", got)
	}
}
