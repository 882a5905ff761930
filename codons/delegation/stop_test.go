package delegation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestStopOfAnAgent(t *testing.T) {
	t.Run("worker stops", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			cause := make(chan error, 1)
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.Start(t.Context())
			synctest.Wait()
			if err := w.StopAgent(t.Context(), "Jules"); err != nil {
				t.Fatal(err)
			}
			_, err := d.Wait()
			kit.WantEnd(t, err, "failed", p.CodeStopped)
			if err := <-cause; !errors.Is(err, codons.ErrEnded) {
				t.Errorf("the handler's cause is %v", err)
			}
			w.Settled(0)
		})
	})
	t.Run("initiator stops", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			cause := make(chan error, 1)
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			d := w.Start(t.Context())
			synctest.Wait()
			if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
				t.Fatal(err)
			}
			_, err := d.Wait()
			kit.WantEnd(t, err, "abandoned", p.CodeStopped)
			if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
				t.Errorf("the handler's cause is %v", err)
			}
			if _, err := w.Delegate(t.Context()); !errors.Is(err, actors.ErrStopped) {
				t.Errorf("a stopped party: %v", err)
			}
			w.Settled(0)
		})
	})
	t.Run("worker stops with queued requests", func(t *testing.T) { // none of them begins
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			block, entered := make(chan struct{}), make(chan struct{}, 64)
			w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				entered <- struct{}{}
				<-block
				return delegation.Accept()
			}, Perform: kit.UntilDone[p.InformResult, delegation.Task]})
			var all []*delegation.Delegated
			for range 32 {
				all = append(all, w.Start(t.Context()))
			}
			<-entered
			start := time.Now()
			if err := stopBlocked(w, "Jules", block); err != nil {
				t.Fatal(err)
			}
			for _, d := range all {
				if _, err := d.Wait(); !errors.Is(err, p.CodeStopped) {
					t.Errorf("got %v", err)
				}
			}
			kit.WantElapsed(t, start, 0)
			w.Settled(0)
		})
	})
}

// TestStopBetweenTwoRounds stops an agent while the initiator has a question that is not
// answered: the peer is told at once. The initiator's agent may stop, or the worker, whose handler
// waits or has returned.
func TestStopBetweenTwoRounds(t *testing.T) {
	t.Run("initiator stops", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			a := w.Peer("Jules")
			asked := make(chan error, 1)
			d := w.Start(t.Context(), delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
				<-ctx.Done()
				asked <- context.Cause(ctx)
				return p.TaskRequest{}, false
			}))
			request := a.Expect(p.ActTaskRequest)
			a.Reply(request, kit.Asking("branch"))
			synctest.Wait()
			start := time.Now()
			if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
				t.Fatal(err)
			}
			a.Expect(p.ActCancel)
			_, err := d.Wait()
			kit.WantEnd(t, err, "abandoned", p.CodeStopped)
			if err := <-asked; err == nil {
				t.Error("the function that answers was not stopped")
			}
			kit.WantElapsed(t, start, 0)
			w.Settled(0)
		})
	})
	for name, perform := range map[string]func(context.Context, delegation.Task) (p.InformResult, error){
		"worker stops after its question": func(context.Context, delegation.Task) (p.InformResult, error) { return kit.Asking("branch"), nil },
		"worker stops as it waits":        askFor("branch"),
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: perform})
				a := w.Peer("peer")
				a.Send(p.Envelope{Receiver: "Jules", ConversationID: "c", Performative: p.ActTaskRequest, Protocol: "task-delegation", Payload: kit.Task()})
				a.Expect(p.ActTaskAccept)
				a.Expect(p.ActInformResult)
				synctest.Wait()
				start := time.Now()
				if err := w.StopAgent(t.Context(), "Jules"); err != nil {
					t.Fatal(err)
				}
				if got := a.Expect(p.ActFailure).AsRefusal(); !errors.Is(got, p.CodeStopped) {
					t.Errorf("got %v", got)
				}
				kit.WantElapsed(t, start, 0)
				w.Settled(0)
			})
		})
	}
}

// stopBlocked stops an agent whose actor is blocked, and then unblocks it.
func stopBlocked(w *kit.World, id p.AgentID, block chan struct{}) error {
	stopped := make(chan error, 1)
	go func() { stopped <- w.StopAgent(w.T.Context(), id) }()
	synctest.Wait()
	close(block)
	return <-stopped
}
