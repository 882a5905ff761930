package codons_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// propose has Eddy ask the person behind the queue.
func propose(ctx context.Context, w *world, what string) *ongoing {
	u, _ := inBackground(ctx, func(ctx context.Context) (codons.Approval, error) {
		return codons.Approve(ctx, w.eddy, "Person", codons.Step{What: what})
	})
	synctest.Wait()
	return u
}

func TestApprovalQueue(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		q := &codons.ApprovalQueue{Capabilities: p.Capabilities{Topics: []string{"Budget"}}}
		if person := w.spawn("Person", q); person.Describe().Topics[0] != "Budget" {
			t.Error("another description")
		}
		first, second := propose(t.Context(), w, "buy a boat"), propose(t.Context(), w, "buy a bike")
		open := q.Open()
		if len(open) != 2 || open[0].ID != 1 || open[0].Step.What != "buy a boat" || open[1].From != "Eddy" {
			t.Fatalf("open: %+v", open)
		}
		if got := open[0].Until.Sub(open[0].Since); got != codons.DefaultDeadline {
			t.Errorf("%v to decide", got)
		}
		if next, err := q.Next(t.Context(), 1); err != nil || next.ID != 2 {
			t.Errorf("after the first comes %+v, %v", next, err)
		}
		if err := errors.Join(q.Approve(2, "healthy"), q.Deny(1, "")); err != nil {
			t.Error(err)
		}
		if got, err := first.wait(); err != nil || got != (codons.Approval{By: "Person"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got, err := second.wait(); err != nil || got != (codons.Approval{Approved: true, By: "Person", Reason: "healthy"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		for _, id := range []int{0, 1, 2, 3} {
			if err := q.Approve(id, ""); !errors.Is(err, codons.ErrNotOpen) {
				t.Errorf("%d: %v", id, err)
			}
		}
		select {
		case <-open[0].Done:
		default:
			t.Error("what was decided is not done")
		}
		w.settled(0)
	})
}

func TestApprovalQueueWaitsForTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		q := &codons.ApprovalQueue{}
		w.spawn("Person", q)
		arrived := make(chan codons.OpenApproval, 8)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer close(arrived)
			for last := 0; ; {
				a, err := q.Next(ctx, last)
				if err != nil {
					return
				}
				last = a.ID
				arrived <- a
				_ = q.Approve(a.ID, "")
			}
		}()
		for _, what := range []string{"a", "b", "c"} {
			if got, err := propose(t.Context(), w, what).wait(); err != nil || !got.(codons.Approval).Approved {
				t.Errorf("got %+v, %v", got, err)
			}
			if a := <-arrived; a.Step.What != what {
				t.Errorf("got %q, want %q", a.Step.What, what)
			}
		}
		cancel()
		if a, more := <-arrived; more {
			t.Errorf("got %+v", a)
		}
	})
}

// TestApprovalQueueForgets what nobody waits for any more, and those it has no room for.
func TestApprovalQueueForgets(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		q := &codons.ApprovalQueue{Limit: 1}
		w.spawn("Person", q)
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := propose(ctx, w, "buy a boat")
		if _, err := propose(t.Context(), w, "buy a bike").wait(); !isCode(err, p.CodeBusy) {
			t.Errorf("got %v", err)
		}
		open := q.Open()
		cancel()
		_, err := withdrawn.wait()
		wantEnd(t, err, "cancelled", p.CodeCanceled)
		<-open[0].Done
		if err := q.Approve(1, ""); !errors.Is(err, codons.ErrNotOpen) || len(q.Open()) != 0 {
			t.Errorf("got %v", err)
		}
		late := propose(t.Context(), w, "buy a bike")
		time.Sleep(codons.DefaultDeadline)
		if _, err := late.wait(); !errors.Is(err, codons.ErrUndecided) {
			t.Errorf("got %v", err)
		}
		if len(q.Open()) != 0 {
			t.Error("it is still open")
		}
		w.settled(0)
	})
}
