package codons_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestDuplicateAfterFailedDecision repeats a request over which the agent has failed: the reply is replayed, and nothing runs.
func TestDuplicateAfterFailedDecision(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var considered, performed atomic.Int64
		w.Add("Jules", &kit.Worker{
			Consider: func(context.Context, delegation.Task) delegation.Decision {
				if considered.Add(1) == 1 {
					panic("deciding")
				}
				return delegation.Accept()
			},
			Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
				performed.Add(1)
				return kit.Result(p.StatusSuccess), nil
			},
		})
		a := w.Peer("peer")
		request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task(), ConversationID: "chat"})
		a.Expect(p.ActFailure)
		time.Sleep(time.Minute) // virtual time: the agent has restarted
		a.SendAgain(request)
		a.Expect(p.ActFailure)
		a.Send(p.Envelope{Receiver: "Jules", Payload: p.Cancel{}, ConversationID: "chat", Protocol: "task-delegation"})
		a.Expect(p.ActFailure)
		if considered.Load() != 1 || performed.Load() != 0 {
			t.Errorf("considered %d times, performed %d times; want once, and never", considered.Load(), performed.Load())
		}
		a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task(), ConversationID: "chat"}) // another of that name
		a.Expect(p.ActTaskAccept)
		a.Expect(p.ActInformResult)
		w.Settled(0)
	})
}
