package codons_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestDeadlineReserve has a handler return a partial result after its child has let its
// time pass: of 100 runs, each returns it within its own deadline of a second.
func TestDeadlineReserve(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			_, err := delegation.Delegate(ctx, task.Agent, "Leaf", task.TaskRequest)
			if !errors.Is(err, p.CodeTimeout) {
				t.Errorf("the child: %v", err)
			}
			return kit.Result(p.StatusPartial), nil
		}})
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if got, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task()); err != nil || got.Status != p.StatusPartial {
				t.Errorf("got %+v, %v", got, err)
			}
			cancel()
		}
	})
}

// TestWithDeadlineReserve checks what is kept of a minute: by default a second, of less
// time an eighth, and what the option says.
func TestWithDeadlineReserve(t *testing.T) {
	for _, c := range []struct {
		within time.Duration
		opts   []codons.Option
		want   time.Duration
	}{
		{time.Minute, nil, time.Second},
		{4 * time.Second, nil, 500 * time.Millisecond},
		{time.Minute, []codons.Option{codons.WithDeadlineReserve(10 * time.Second)}, 10 * time.Second},
		{time.Minute, []codons.Option{codons.WithDeadlineReserve(-1)}, 0},
	} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			got := requests(w)
			w.Add("Leaf", &kit.Worker{})
			w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
				return delegation.Delegate(ctx, task.Agent, "Leaf", task.TaskRequest, c.opts...)
			}})
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			if _, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task()); err != nil {
				t.Fatal(err)
			}
			if kept := got("Middle")[0].ReplyBy().Sub(got("Leaf")[0].ReplyBy()); kept != c.want {
				t.Errorf("of %v, %v is kept, want %v", c.within, kept, c.want)
			}
		})
	}
}
