package codons_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestRepeatAfterTheAgentFailedDeciding has a request come again on which the agent
// has failed: whoever asked has been told that nothing will be done.
func TestRepeatAfterTheAgentFailedDeciding(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var considered, performed atomic.Int64
		w.spawn("Jules", &worker{
			consider: func(context.Context, codons.Task) codons.Decision {
				if considered.Add(1) == 1 {
					panic("deciding")
				}
				return codons.Accept()
			},
			perform: func(context.Context, codons.Task) (p.InformResult, error) {
				performed.Add(1)
				return result(p.StatusSuccess), nil
			},
		})
		a := w.puppet("puppet")
		request := a.say(p.Envelope{Receiver: "Jules", Payload: task(), ConversationID: "chat"})
		a.next(p.ActFailure)
		time.Sleep(time.Minute) // the agent is there again
		a.send(request)
		a.next(p.ActFailure)
		a.say(p.Envelope{Receiver: "Jules", Payload: p.Cancel{}, ConversationID: "chat", Protocol: codons.Delegation{}.Name()})
		a.next(p.ActFailure)
		if considered.Load() != 1 || performed.Load() != 0 {
			t.Errorf("considered %d times, performed %d times; want once, and never", considered.Load(), performed.Load())
		}
		a.say(p.Envelope{Receiver: "Jules", Payload: task(), ConversationID: "chat"}) // another of that name
		a.next(p.ActTaskAccept)
		a.next(p.ActInformResult)
		w.settled(0)
	})
}
