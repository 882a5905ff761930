package codons_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestReportBackpressure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const n = 1000
		w.spawn("Jules", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			for i := range n {
				if err := t.Progress(0, fmt.Sprint(i)); err != nil {
					return p.InformResult{}, err
				}
			}
			return result(p.StatusSuccess), nil
		}})
		var heard []string
		_, err := w.delegate(t.Context(), codons.WithProgress(func(u p.StatusUpdate) { heard = append(heard, u.Description) }))
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

// TestReportWaits holds up the conversation that sends the reports.
func TestReportWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hold, reported := make(chan struct{}), atomic.Int64{}
		w.net.intercept(func(m *p.Message) bool {
			if m.Performative() == p.ActStatusUpdate {
				<-hold
			}
			return false
		})
		w.spawn("Jules", &worker{perform: func(_ context.Context, t codons.Task) (p.InformResult, error) {
			for range 100 {
				if err := t.Progress(0, "x"); err != nil {
					return p.InformResult{}, err
				}
				reported.Add(1)
			}
			return result(p.StatusSuccess), nil
		}})
		d := w.start(t.Context())
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
	inWorld(t, func(t *testing.T, w *world) {
		late, go_ := make(chan error, 2), make(chan struct{})
		w.spawn("Jules", &worker{
			consider: func(_ context.Context, t codons.Task) codons.Decision {
				late <- t.Progress(0, "too early")
				return codons.Accept()
			},
			perform: func(_ context.Context, task codons.Task) (p.InformResult, error) {
				if err := task.Progress(200, "more than all"); err == nil {
					t.Error("an invalid report was taken")
				}
				go func() {
					<-go_
					late <- task.Progress(1, "too late")
				}()
				return result(p.StatusSuccess), nil
			},
		})
		if _, err := w.delegate(t.Context()); err != nil {
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

// TestReportsOfAnEarlierRound has goroutines of a handler report on while it
// returns, and the next round begins.
func TestReportsOfAnEarlierRound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Jules", &worker{perform: func(_ context.Context, task codons.Task) (p.InformResult, error) {
			for range 4 {
				go func() {
					for task.Progress(1, "on and on") == nil {
					}
				}()
			}
			if len(task.Previous) < 5 {
				return asking("more"), nil
			}
			return result(p.StatusSuccess), nil
		}})
		_, err := w.delegate(t.Context(), codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), true }))
		if err != nil {
			t.Error(err)
		}
	})
}
