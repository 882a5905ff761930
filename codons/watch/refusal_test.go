package watch_test

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/watch"
	"github.com/ribosome-agents/ribosome/performatives"
)

// cancelAfterRefusal is a table whose initiator sends CANCEL after a refusal.
func cancelAfterRefusal() machine.Table {
	const ask, no, stop = performatives.ActRequest, performatives.ActRefuse, performatives.ActCancel
	return machine.Table{
		Name: "cancel-after-refusal", Live: []machine.State{"asked", "asking", "thinking"}, Terminal: []machine.State{"over"},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded("start")).Goto("asked", machine.Send(ask)),
			machine.Asks("asked").When(machine.Receive(no)).Goto("asking"),
			machine.Asks("asking").When(machine.Commanded("stop")).Goto("over", machine.Send(stop)),
			machine.Answers(machine.Idle).When(machine.Receive(ask)).Goto("thinking"),
			machine.Answers("thinking").When(machine.Commanded("no")).Goto("over", machine.Send(no)),
			machine.Answers("thinking").When(machine.Receive(stop)).Goto("over"),
		},
	}
}

// A refusal by the runtime counts as the peer's: a message that is legal only after a refusal
// is no violation then.
func TestRefusalOfTheRuntimeCountsAsThePeers(t *testing.T) {
	for name, refused := range map[string]bool{"refused": true, "not refused": false} {
		t.Run(name, func(t *testing.T) {
			var stream events.Stream
			codon := codons.MustDefine(codons.Definition{Table: cancelAfterRefusal(), Complete: true})
			w, err := watch.New(&stream, watch.Options{Codons: []*codons.Codon{codon}})
			if err != nil {
				t.Fatal(err)
			}
			request, err := performatives.New(performatives.Envelope{
				ID: "1", Timestamp: time.Unix(1, 0), Sender: "a", Receiver: "b", Protocol: codon.Name(), Performative: performatives.ActRequest, Payload: performatives.Raw(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			cancel, err := request.Follow(performatives.Stamp{ID: "2", Time: time.Unix(2, 0)}, performatives.Cancel{})
			if err != nil {
				t.Fatal(err)
			}
			stream.Publish(events.MessageSent{Message: request})
			if refused {
				stream.Publish(events.MessageRefused{Message: request, Refusal: &performatives.Refusal{Code: performatives.CodeBusy}})
			}
			stream.Publish(events.MessageSent{Message: cancel})
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.Counts(); got.Messages != 2 || (got.Violations == 0) != refused {
				t.Errorf("%+v", got)
			}
		})
	}
}

// toldAndConfirmed is a table whose opening act by itself expects no reply.
func toldAndConfirmed() machine.Table {
	const tell, yes = performatives.ActInform, performatives.ActConfirm
	return machine.Table{
		Name: "told-and-confirmed", Live: []machine.State{"told", "thinking"}, Terminal: []machine.State{"over"},
		Rows: []machine.Row{
			machine.Asks(machine.Idle).When(machine.Commanded("start")).Goto("told", machine.Send(tell)),
			machine.Asks("told").When(machine.Receive(yes)).Goto("over"),
			machine.Answers(machine.Idle).When(machine.Receive(tell)).Goto("thinking"),
			machine.Answers("thinking").When(machine.Commanded("yes")).Goto("over", machine.Send(yes)),
		},
	}
}

// The FAILURE with which the runtime answers a repeated opening act is no violation, although the
// act expects no reply.
func TestFailureOfTheRuntimeToAnInform(t *testing.T) {
	for name, refused := range map[string]bool{"refused": true, "not refused": false} {
		t.Run(name, func(t *testing.T) {
			var stream events.Stream
			codon := codons.MustDefine(codons.Definition{Table: toldAndConfirmed(), Complete: true})
			w, err := watch.New(&stream, watch.Options{Codons: []*codons.Codon{codon}})
			if err != nil {
				t.Fatal(err)
			}
			told, err := performatives.New(performatives.Envelope{
				ID: "1", Timestamp: time.Unix(1, 0), Sender: "a", Receiver: "b", Protocol: codon.Name(), Performative: performatives.ActInform, Payload: performatives.Raw(`{}`),
			})
			if err != nil {
				t.Fatal(err)
			}
			failure := performatives.Failure{ErrorCode: performatives.CodeConversationEnded, ErrorText: "it has ended"}
			answer, err := told.ReplyFrom("b", performatives.Stamp{ID: "2", Time: time.Unix(2, 0)}, performatives.ActFailure, failure)
			if err != nil {
				t.Fatal(err)
			}
			stream.Publish(events.MessageSent{Message: told})
			if refused {
				stream.Publish(events.MessageRefused{Message: told, Refusal: &performatives.Refusal{Code: performatives.CodeConversationEnded}})
			}
			stream.Publish(events.MessageSent{Message: answer})
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.Counts(); got.Messages != 2 || (got.Violations == 0) != refused {
				t.Errorf("%+v", got)
			}
		})
	}
}
