package codons_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestDuplicateAfterFailedDecision repeats a request over which the agent has failed: the reply is
// replayed, and nothing runs.
func TestDuplicateAfterFailedDecision(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
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

// faulty is a stamper that panics in the calls that its plan says.
type faulty struct {
	mu   sync.Mutex
	plan []bool
}

func (s *faulty) Stamp() p.Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.plan) > 0 {
		fails := s.plan[0]
		if s.plan = s.plan[1:]; fails {
			panic("no stamp")
		}
	}
	return p.Stamp{ID: p.NewID(), Time: time.Now()}
}

func (s *faulty) next(plan ...bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// TestSlotOfFailedConversation has a conversation fail over its TASK_ACCEPT, when no handler runs
// yet, and again while it stops. The slot of the task is released.
func TestSlotOfFailedConversation(t *testing.T) {
	s := &faulty{}
	kit.InWorldWith(t, codons.Times{}, actors.Options{Stamper: s}, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		var performed atomic.Int64
		fails := true
		w.Add("Jules", &kit.Worker{
			Max: 1,
			Consider: func(context.Context, delegation.Task) delegation.Decision {
				if fails {
					s.next(true, false, true) // the TASK_ACCEPT, the refusal of the request, and the FAILURE of the stop
				}
				return delegation.Accept()
			},
			Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
				performed.Add(1)
				return kit.Result(p.StatusSuccess), nil
			},
		})
		_, err := w.Delegate(t.Context())
		if !errors.Is(err, p.CodeInternal) || performed.Load() != 0 {
			t.Errorf("performed %d times, %v", performed.Load(), err)
		}
		w.Settled(0)
		fails = false
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Errorf("the slot was not released: %v", err)
		}
		w.Settled(0)
	})
}
