package delegation_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

var soon = codons.WithRetry(codons.Retry{First: 300 * time.Millisecond, Jitter: -1})

// slowWorker returns a worker that takes two seconds to decide and two to work, and counts its
// tasks.
func slowWorker(performed *int) *kit.Worker {
	return &kit.Worker{
		Consider: func(context.Context, delegation.Task) delegation.Decision {
			time.Sleep(2 * time.Second)
			return delegation.Accept()
		},
		Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			*performed++
			time.Sleep(2 * time.Second)
			return kit.Result(p.StatusSuccess), nil
		},
	}
}

// TestRefusedCopy has a full mailbox refuse repetitions of a request whose first copy is being
// considered or performed.
func TestRefusedCopy(t *testing.T) {
	for _, lost := range []p.Performative{p.ActFailure, p.ActTaskAccept} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			performed := 0
			w.Add("Jules", slowWorker(&performed))
			w.RefuseRepeats(p.ActTaskRequest, lost)
			if _, err := w.Delegate(t.Context(), soon); err != nil || performed != 1 || w.Counts().Refused == 0 {
				t.Errorf("%s lost: got %v, performed %d times, %d refusals", lost, err, performed, w.Counts().Refused)
			}
			w.Settled(0)
		})
	}
}

// TestRefusedCopyOfCancel has a full mailbox refuse the CANCEL. The receipt for its repetition ends
// the wait.
func TestRefusedCopyOfCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		refused := 0
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActCancel || refused == 2 {
				return false
			}
			refused++
			w.Work(func() { w.RefuseCopy(m.Receiver(), m, &p.Refusal{Code: p.CodeBusy}) })
			return true
		})
		d := w.Start(t.Context(), soon)
		time.Sleep(time.Second)
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		w.Settled(0)
	})
}

// TestAllCopiesRefused ends the wait when the runtime has refused every copy, and not before.
func TestAllCopiesRefused(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var copies []*p.Message
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() != p.ActTaskRequest {
				return false
			}
			copies = append(copies, m)
			if len(copies) == 3 {
				for i := range copies {
					w.AfterFunc(time.Duration(i)*100*time.Millisecond, func() { w.RefuseCopy("Jules", m, &p.Refusal{Code: p.CodeStopped}) })
				}
			}
			return true
		})
		records := kit.Recording(&w.Events, codons.KindRecorded)
		start := time.Now()
		_, err := w.Delegate(t.Context(), codons.WithRetry(codons.Retry{First: time.Second, Jitter: -1}))
		kit.WantEnd(t, err, "rejected", p.CodeStopped)
		kit.WantElapsed(t, start, 3200*time.Millisecond) // 1 + 2, and the last refusal
		counted := 0
		for _, e := range (<-records.C).Event.(codons.Recorded).Record.Events {
			if e.On == machine.Undeliverable(p.ActTaskRequest) {
				counted++
			}
		}
		if counted != 2 {
			t.Errorf("%d refusals are recorded, want those before the last", counted)
		}
	})
}

// TestRefusedCopyAfterProgress has a runtime refuse the request after the worker has accepted it.
func TestRefusedCopyAfterProgress(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		performed := 0
		w.Add("Jules", slowWorker(&performed))
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActTaskRequest {
				w.AfterFunc(3*time.Second, func() { w.RefuseCopy(m.Receiver(), m, &p.Refusal{Code: p.CodeStopped}) })
			}
			return false
		})
		if _, err := w.Delegate(t.Context()); err != nil || performed != 1 {
			t.Errorf("got %v, performed %d times", err, performed)
		}
	})
}
