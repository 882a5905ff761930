package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// propose begins an approval of Eddy by the agent Person.
func propose(ctx context.Context, w *kit.World, what string) *kit.Ongoing {
	u, _ := kit.InBackground(ctx, func(ctx context.Context) (approval.Approval, error) {
		return approval.Approve(ctx, w.Eddy, "Person", approval.Step{What: what})
	})
	synctest.Wait()
	return u
}

func TestQueue(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		q := &approval.Queue{Capabilities: p.Capabilities{Topics: []string{"Budget"}}}
		if person := w.Add("Person", q); person.Describe().Topics[0] != "Budget" {
			t.Error("not the description of the queue")
		}
		first, second := propose(t.Context(), w, "buy a boat"), propose(t.Context(), w, "buy a bike")
		open := q.Open()
		if len(open) != 2 || open[0].ID != 1 || open[0].Step.What != "buy a boat" || open[1].From != "Eddy" {
			t.Fatalf("open: %+v", open)
		}
		if got := open[0].Until.Sub(open[0].Since); got != codons.DefaultDeadline {
			t.Errorf("the time to decide is %v", got)
		}
		if next, err := q.Next(t.Context(), 1); err != nil || next.ID != 2 {
			t.Errorf("the step after the first is %+v, %v", next, err)
		}
		if err := errors.Join(q.Approve(2, "healthy"), q.Deny(1, "")); err != nil {
			t.Error(err)
		}
		if got, err := first.Wait(); err != nil || got != (approval.Approval{By: "Person"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got, err := second.Wait(); err != nil || got != (approval.Approval{Approved: true, By: "Person", Reason: "healthy"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		for _, id := range []int{0, 1, 2, 3} {
			if err := q.Approve(id, ""); !errors.Is(err, approval.ErrNotOpen) {
				t.Errorf("%d: %v", id, err)
			}
		}
		select {
		case <-open[0].Done:
		default:
			t.Error("Done of a decided step is open")
		}
		w.Settled(0)
	})
}

func TestQueueNext(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		q := &approval.Queue{}
		w.Add("Person", q)
		arrived := make(chan approval.Open, 8)
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
			if got, err := propose(t.Context(), w, what).Wait(); err != nil || !got.(approval.Approval).Approved {
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

// The queue removes steps that were withdrawn or whose deadline has passed, and refuses those
// above its limit.
func TestQueueRemovesSteps(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		q := &approval.Queue{Limit: 1}
		w.Add("Person", q)
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := propose(ctx, w, "buy a boat")
		if _, err := propose(t.Context(), w, "buy a bike").Wait(); !errors.Is(err, p.CodeBusy) {
			t.Errorf("got %v", err)
		}
		open := q.Open()
		cancel()
		_, err := withdrawn.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		<-open[0].Done
		if err := q.Approve(1, ""); !errors.Is(err, approval.ErrNotOpen) || len(q.Open()) != 0 {
			t.Errorf("got %v", err)
		}
		late := propose(t.Context(), w, "buy a bike")
		time.Sleep(codons.DefaultDeadline)
		if _, err := late.Wait(); !errors.Is(err, approval.ErrUndecided) {
			t.Errorf("got %v", err)
		}
		if len(q.Open()) != 0 {
			t.Error("the step is still open")
		}
		w.Settled(0)
	})
}
