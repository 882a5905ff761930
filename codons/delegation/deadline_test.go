package delegation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestDeadline(t *testing.T) {
	t.Run("handler stops at the deadline", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			cause := make(chan error, 1)
			w.Add("Jules", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return p.InformResult{}, ctx.Err()
			}})
			abandoned := kit.Recording(&w.Events, events.KindJobAbandoned)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := w.Delegate(ctx)
			kit.WantElapsed(t, start, time.Second)
			wantTimeout(t, err)
			if err := <-cause; !errors.Is(err, codons.ErrDeadline) && !errors.Is(err, codons.ErrEnded) {
				t.Errorf("the handler's cause is %v", err)
			}
			time.Sleep(time.Minute) // of the synctest bubble: longer than the grace
			if len(abandoned.C) != 0 {
				t.Error("a handler that returned was published as abandoned")
			}
			w.Settled(0)
		})
	})
	t.Run("handler ignores the deadline", func(t *testing.T) {
		kit.InWorldWith(t, codons.Times{Grace: time.Second}, actors.Options{}, func(t *testing.T, w *kit.World) {
			release := make(chan struct{})
			w.Add("Jules", &kit.Worker{Max: 1, Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
				<-release
				return kit.Result(p.StatusSuccess), nil
			}})
			abandoned := kit.Recording(&w.Events, events.KindJobAbandoned)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, err := w.Delegate(ctx)
			kit.WantElapsed(t, start, time.Second)
			wantTimeout(t, err)
			w.Settled(1)
			if ev := (<-abandoned.C).Event.(events.WorkAbandoned); ev.Agent != "Jules" {
				t.Errorf("got %+v", ev)
			}
			kit.WantElapsed(t, start, 2*time.Second)
			_, err = w.Delegate(t.Context())
			kit.WantEnd(t, err, "rejected", p.CodeBusy) // the handler still holds its slot
			close(release)
			w.Settled(0)
			if _, err := w.Delegate(t.Context()); err != nil {
				t.Errorf("the slot was not released: %v", err)
			}
			if len(abandoned.C) != 0 {
				t.Error("the handler was published as abandoned twice")
			}
		})
	})
	t.Run("default deadline", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
			start := time.Now()
			_, err := w.Delegate(t.Context())
			kit.WantElapsed(t, start, codons.DefaultDeadline)
			wantTimeout(t, err)
		})
	})
	t.Run("deadline of the worker", func(t *testing.T) {
		kit.InWorldWith(t, codons.Times{Deadline: time.Second}, actors.Options{}, func(t *testing.T, w *kit.World) {
			w.Add("Jules", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task]})
			a := w.Peer("peer")
			a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task()})
			start := time.Now()
			a.Expect(p.ActTaskAccept)
			if f := a.Expect(p.ActFailure).AsRefusal(); f.Code != p.CodeTimeout {
				t.Errorf("got %v", f)
			}
			kit.WantElapsed(t, start, time.Second)
		})
	})
	t.Run("passed before the request arrives", func(t *testing.T) {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			considered := false
			w.Add("Jules", &kit.Worker{Consider: func(context.Context, delegation.Task) delegation.Decision {
				considered = true
				return delegation.Accept()
			}})
			a := w.Peer("peer")
			a.Send(p.Envelope{Receiver: "Jules", Payload: kit.Task(), ReplyBy: time.Now().Add(-time.Second)})
			if r := a.Expect(p.ActTaskReject).AsRefusal(); r.Code != p.CodeExpired || considered {
				t.Errorf("got %v, considered %t", r, considered)
			}
			w.Settled(0)
		})
	})
}

// TestFurtherRoundHasItsOwnDeadline has a peer give the worker more time with its answer. The
// worker uses it, whether it considers the further round or its handler has waited for the answer.
func TestFurtherRoundHasItsOwnDeadline(t *testing.T) {
	for name, perform := range map[string]func(context.Context, delegation.Task) (p.InformResult, error){
		"the handler waits": func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if _, err := t.NeedInput(ctx, "branch"); err != nil {
				return p.InformResult{}, err
			}
			return fiveMinutes(ctx)
		},
		"the worker considers": func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			if len(t.Previous) == 0 {
				return kit.Asking("branch"), nil
			}
			return fiveMinutes(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Add("Jules", &kit.Worker{Perform: perform})
				a := w.Peer("peer")
				round := func(minutes time.Duration) *p.Message {
					a.Send(p.Envelope{Receiver: "Jules", ConversationID: "c", Payload: kit.Task(), ReplyBy: time.Now().Add(minutes * time.Minute)})
					a.Expect(p.ActTaskAccept)
					return a.Expect(p.ActInformResult)
				}
				round(1)
				if r, err := p.PayloadAs[p.InformResult](round(10)); err != nil || r.Status != p.StatusSuccess {
					t.Errorf("got %+v, %v", r, err)
				}
				w.Settled(0)
			})
		})
	}
}

// fiveMinutes works for that time, or until the end of ctx.
func fiveMinutes(ctx context.Context) (p.InformResult, error) {
	select {
	case <-ctx.Done():
		return p.InformResult{}, context.Cause(ctx)
	case <-time.After(5 * time.Minute):
		return kit.Result(p.StatusSuccess), nil
	}
}

// wantTimeout expects that a deadline ended the delegation: that of the initiator or that of
// the worker, because either timer may fire first.
func wantTimeout(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, p.CodeTimeout) {
		t.Errorf("got %v", err)
	}
	if end := kit.EndOf(t, err); end.State == "timed_out" && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", err)
	}
}
