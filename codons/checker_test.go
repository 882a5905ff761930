package codons

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// insistence is a table whose initiator goes on when it is refused.
func insistence() machine.Table {
	const ask, no, stop = performatives.ActRequest, performatives.ActRefuse, performatives.ActCancel
	return machine.Table{
		Name: "insistence", Live: []machine.State{"asked", "asking", "thinking"}, Terminal: []machine.State{"over"},
		Rows: []machine.Row{
			asks(machine.Idle).When(machine.Command("start")).Goto("asked", machine.Send(ask)),
			asks("asked").When(machine.Receive(no)).Goto("asking"),
			asks("asking").When(machine.Command("stop")).Goto("over", machine.Send(stop)),
			answers(machine.Idle).When(machine.Receive(ask)).Goto("thinking"),
			answers("thinking").When(machine.Command("no")).Goto("over", machine.Send(no)),
			answers("thinking").When(machine.Receive(stop)).Goto("over"),
		},
	}
}

// TestWatchHearsTheRuntime lets a sender act on a refusal that the runtime gave, in a
// table in which it may then say more.
func TestWatchHearsTheRuntime(t *testing.T) {
	for name, refused := range map[string]bool{"refused": true, "not refused": false} {
		t.Run(name, func(t *testing.T) {
			var events actors.Events
			w, err := NewWatch(&events, WatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			m := insistence().MustCompile()
			w.checker.codons = map[string]*watchable{m.Name(): {machine: m, opening: m.Opening()}} // nothing was said yet
			request, err := performatives.New(performatives.Envelope{
				ID: "1", Timestamp: time.Unix(1, 0), Sender: "a", Receiver: "b", Protocol: m.Name(), Performative: performatives.ActRequest, Payload: performatives.Raw(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			cancel, err := request.Follow(performatives.Stamp{ID: "2", Time: time.Unix(2, 0)}, performatives.Cancel{})
			if err != nil {
				t.Fatal(err)
			}
			events.Publish(actors.MessageSent{Message: request})
			if refused {
				events.Publish(actors.MessageRefused{Message: request, Refusal: &performatives.Refusal{Code: performatives.CodeBusy}})
			}
			events.Publish(actors.MessageSent{Message: cancel})
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.Counts(); got.Messages != 2 || (got.Violations == 0) != refused {
				t.Errorf("%+v", got)
			}
		})
	}
}
