package delegation_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// asking is a worker that asks for input when ready is closed, and reports the error of NeedInput.
func asking(ready <-chan struct{}, cause chan<- error) *kit.Worker {
	return &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		<-ready
		_, err := t.NeedInput(ctx, "branch")
		cause <- err
		return p.InformResult{}, err
	}}
}

// TestPartialResultAfterALostCancel has a worker ask for input after the CANCEL of its task was
// lost. The handler is cancelled all the same, and the partial result is the outcome.
func TestPartialResultAfterALostCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ready, cause := make(chan struct{}), make(chan error, 1)
		w.Add("Jules", asking(ready, cause))
		w.Net.Lose(p.ActCancel, 1)
		d := w.Start(t.Context())
		synctest.Wait()
		d.Cancel()
		synctest.Wait()
		close(ready)
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" || d.Unserved() != nil {
			t.Errorf("got %+v, %v, unserved: %v", got, err, d.Unserved())
		}
		if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the handler ended with %v, want the CANCEL", err)
		}
		w.Settled(0)
	})
}

// TestDeclineSurvivesLostMessages loses the CANCEL that declines a further round, or its receipt.
// The waiting handler is cancelled, and the receipt is no dead letter.
func TestDeclineSurvivesLostMessages(t *testing.T) {
	for _, lost := range []p.Performative{p.ActTaskAccept, p.ActCancel, p.ActInform} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			ready, cause := make(chan struct{}), make(chan error, 1)
			close(ready)
			w.Add("Jules", asking(ready, cause))
			dead := kit.Recording(&w.Events, events.KindMessageDeadLettered)
			w.Net.Lose(lost, 1)
			d := w.Start(t.Context(), codons.WithGrace(100*time.Millisecond)) // less than the time until an ordinary retry
			if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" || d.Unserved() != nil {
				t.Errorf("%s lost: got %+v, %v, unserved: %v", lost, got, err, d.Unserved())
			}
			if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
				t.Errorf("%s lost: the handler ended with %v, want the CANCEL", lost, err)
			}
			w.Settled(0)
			if n := len(dead.C); n != 0 {
				t.Errorf("%s lost: %d dead letters", lost, n)
			}
		})
	}
}

// TestDeclineWithoutAnswer has every CANCEL lost, so that the partial result is final after the
// grace.
func TestDeclineWithoutAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ready, cause := make(chan struct{}), make(chan error, 1)
		close(ready)
		w.Add("Jules", asking(ready, cause))
		w.Net.Lose(p.ActCancel, -1)
		start := time.Now()
		d := w.Start(t.Context(), codons.WithGrace(time.Second))
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" || d.Unserved() != nil {
			t.Errorf("got %+v, %v, unserved: %v", got, err, d.Unserved())
		}
		kit.WantElapsed(t, start, time.Second)
		if err := <-cause; !errors.Is(err, codons.ErrDeadline) {
			t.Errorf("the handler ended with %v, want its deadline", err)
		}
		w.Settled(0)
	})
}

// TestReceiptWithoutUsage declines a further round of a worker that gives its usage with the
// partial result only: no work came after it.
func TestReceiptWithoutUsage(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		d := w.Start(t.Context(), codons.WithBudget(codons.Budget{codons.Tokens: 100}))
		e := a.Expect(p.ActTaskRequest).ReplyEnvelope("Jules", a.Stamp(), p.ActInformResult, kit.Asking("branch"))
		e.Receiver, e.Budget = "Eddy", p.ContentOf(codons.Budget{codons.Tokens: 7})
		a.Send(e)
		a.Reply(a.Expect(p.ActCancel), p.Receipt{})
		if got, err := d.Wait(); err != nil || got.RequestForUser() != "branch" {
			t.Errorf("got %+v, %v", got, err)
		}
		if n := d.Spent()[codons.Tokens]; n != 7 {
			t.Errorf("spent %d tokens, want 7", n)
		}
	})
}

// TestWorkerDeadlineBetweenRounds has the deadline of a worker pass while it waits for input, in
// the same handler or after it. The initiator gets a FAILURE, again for a CANCEL that crossed with
// it.
func TestWorkerDeadlineBetweenRounds(t *testing.T) {
	ready := make(chan struct{})
	close(ready)
	for name, worker := range map[string]*kit.Worker{
		"the handler waits": asking(ready, make(chan error, 1)),
		"no handler runs": {Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			return kit.Asking("branch"), nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorldWith(t, codons.Times{Deadline: time.Second}, actors.Options{}, func(t *testing.T, w *kit.World) {
				w.Add("Jules", worker)
				a := w.Peer("peer")
				request := a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
				a.Expect(p.ActTaskAccept)
				a.Expect(p.ActInformResult)
				failure := a.Expect(p.ActFailure)
				if r := failure.AsRefusal(); r.Code != p.CodeTimeout {
					t.Errorf("got %v", r)
				}
				a.Send(request.FollowEnvelope(a.Stamp(), p.ActCancel, p.Cancel{}))
				if again := a.Expect(p.ActFailure); again.ID() != failure.ID() {
					t.Errorf("CANCEL was answered by %+v", again.Payload())
				}
				w.Settled(0)
			})
		})
	}
}

// TestAnswerRenewsTheDeadline has the request of a further round give the waiting handler more
// time.
func TestAnswerRenewsTheDeadline(t *testing.T) {
	kit.InWorldWith(t, codons.Times{Deadline: 10 * time.Second}, actors.Options{}, func(t *testing.T, w *kit.World) {
		deadlines := make(chan time.Duration, 2)
		start := time.Now()
		w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			by, _ := ctx.Deadline()
			deadlines <- by.Sub(start)
			if _, err := task.NeedInput(ctx, "branch"); err != nil {
				return p.InformResult{}, err
			}
			by, _ = ctx.Deadline()
			deadlines <- by.Sub(start)
			<-ctx.Done()
			return p.InformResult{}, ctx.Err()
		}})
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
		a.Expect(p.ActTaskAccept)
		partial := a.Expect(p.ActInformResult)
		time.Sleep(6 * time.Second)
		a.Reply(partial, kit.Task())
		a.Expect(p.ActTaskAccept)
		if f := a.Expect(p.ActFailure).AsRefusal(); f.Code != p.CodeTimeout {
			t.Errorf("got %v", f)
		}
		kit.WantElapsed(t, start, 16*time.Second)
		if first, second := <-deadlines, <-deadlines; first != 10*time.Second || second != 16*time.Second {
			t.Errorf("the deadlines of the handler's ctx are %v and %v", first, second)
		}
		w.Settled(0)
	})
}
