package codons_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestReportBackpressure(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		const n = 1000
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			for i := range n {
				if err := t.Progress(0, fmt.Sprint(i)); err != nil {
					return p.InformResult{}, err
				}
			}
			return kit.Result(p.StatusSuccess), nil
		}})
		var heard []string
		_, err := w.Delegate(t.Context(), delegation.WithProgress(func(u p.StatusUpdate) { heard = append(heard, u.Description) }))
		if err != nil || len(heard) != n {
			t.Fatalf("heard %d, %v", len(heard), err)
		}
		for i, s := range heard {
			if s != fmt.Sprint(i) {
				t.Fatalf("report %d is %s", i, s)
			}
		}
	})
}

// TestReportBlocks holds up the conversation that sends the reports.
func TestReportBlocks(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		hold, reported := make(chan struct{}), atomic.Int64{}
		w.Net.Intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActStatusUpdate {
				<-hold
			}
			return false
		})
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, t delegation.Task) (p.InformResult, error) {
			for range 100 {
				if err := t.Progress(0, "x"); err != nil {
					return p.InformResult{}, err
				}
				reported.Add(1)
			}
			return kit.Result(p.StatusSuccess), nil
		}})
		d := w.Start(t.Context())
		synctest.Wait()
		if n := reported.Load(); n < 1 || n > 20 {
			t.Errorf("%d reports were taken while none could be sent", n)
		}
		close(hold)
		if _, err := d.Wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestReportMisuse(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		late, go_ := make(chan error, 2), make(chan struct{})
		w.Add("Jules", &kit.Worker{
			Consider: func(_ context.Context, t delegation.Task) delegation.Decision {
				late <- t.Progress(0, "too early")
				return delegation.Accept()
			},
			Perform: func(_ context.Context, task delegation.Task) (p.InformResult, error) {
				if err := task.Progress(200, "more than all"); err == nil {
					t.Error("an invalid report was taken")
				}
				go func() {
					<-go_
					late <- task.Progress(1, "too late")
				}()
				return kit.Result(p.StatusSuccess), nil
			},
		})
		if _, err := w.Delegate(t.Context()); err != nil {
			t.Error(err)
		}
		close(go_)
		for range 2 {
			if err := <-late; !errors.Is(err, codons.ErrEnded) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestReportsOfEarlierRound has goroutines of a handler report on while it
// returns, and the next round begins.
func TestReportsOfEarlierRound(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Jules", &kit.Worker{Perform: func(_ context.Context, task delegation.Task) (p.InformResult, error) {
			for range 4 {
				go func() {
					for task.Progress(1, "on and on") == nil {
					}
				}()
			}
			if len(task.Previous) < 5 {
				return kit.Asking("more"), nil
			}
			return kit.Result(p.StatusSuccess), nil
		}})
		_, err := w.Delegate(t.Context(), delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), true }))
		if err != nil {
			t.Error(err)
		}
	})
}

// TestDeadlineOvertakesReports has the deadline pass while many reports wait to be handled.
func TestDeadlineOvertakesReports(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		a := w.Peer("Jules")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		held, heard := make(chan struct{}), 0
		d := w.Start(ctx, delegation.WithProgress(func(p.StatusUpdate) { <-held; heard++ }))
		request := a.Expect(p.ActTaskRequest)
		for range 50 {
			a.Reply(request, p.StatusUpdate{Description: "on and on"})
		}
		time.Sleep(2 * time.Minute)
		close(held)
		_, err := d.Wait()
		kit.WantEnd(t, err, "timed_out", p.CodeTimeout)
		if heard != 1 {
			t.Errorf("%d reports were handled, want only the one that was under way at the deadline", heard)
		}
	})
}
