package approval_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// deciding returns an approver that decides after a time.
func deciding(after time.Duration, v approval.Verdict) *approver {
	return &approver{decide: func(ctx context.Context, s approval.ProposedStep) (approval.Verdict, error) {
		select {
		case <-time.After(after):
			return v, nil
		case <-ctx.Done():
			return approval.Verdict{}, errors.Join(context.Cause(ctx), s.Validate())
		}
	}}
}

var (
	yes = approval.Verdict{Accepted: true, Reason: "go on"}
	no  = approval.Verdict{Reason: "keep it"}
)

func TestApprove(t *testing.T) {
	for _, v := range []approval.Verdict{yes, no} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			var seen []p.AgentID
			w.Add("Boss", &approver{decide: func(_ context.Context, s approval.ProposedStep) (approval.Verdict, error) {
				files, err := p.Decode[[]string](s.Data)
				if s.What != deletion.What || s.Why != deletion.Why || len(files) != 2 || s.Message.Sender() != "Eddy" {
					t.Errorf("asked about %+v", s)
				}
				return v, errors.Join(s.Seen(), err)
			}})
			got, err := approval.Approve(t.Context(), w.Eddy, "Boss", deletion, approval.WithSeen(func(by p.AgentID) { seen = append(seen, by) }))
			if want := (approval.Approval{Approved: v.Accepted, By: "Boss", Reason: v.Reason}); err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
			if len(seen) != 1 || seen[0] != "Boss" {
				t.Errorf("seen by %v", seen)
			}
			w.Settled(0)
		})
	}
}

// The first of three approvers does not decide, in each possible way.
func TestEscalation(t *testing.T) {
	for name, c := range map[string]struct {
		first   actors.Agent // nil: no such agent
		by      p.AgentID
		elapsed time.Duration
		said    []string
	}{
		"decides in time":  {deciding(19*time.Second-1, yes), "First", 19*time.Second - 1, []string{"PROPOSE", "ACCEPT_PROPOSAL"}},
		"decides too late": {deciding(19*time.Second+1, yes), "Second", 29 * time.Second, []string{"PROPOSE", "CANCEL", "INFORM"}},
		"refuses": {&approver{decide: func(context.Context, approval.ProposedStep) (approval.Verdict, error) {
			return yes, &p.Refusal{Code: p.CodeForbidden}
		}}, "Second", 10 * time.Second, []string{"PROPOSE", "REFUSE"}},
		"panics":         {&approver{decide: func(context.Context, approval.ProposedStep) (approval.Verdict, error) { panic("oh") }}, "Second", 10 * time.Second, []string{"PROPOSE", "FAILURE internal_error"}},
		"does not exist": {nil, "Second", 10 * time.Second, []string{"PROPOSE"}},
		"is no approver": {kit.Plain{}, "Second", 10 * time.Second, []string{"PROPOSE", "REJECT_PROPOSAL"}},
		"ignores CANCEL": {&approver{decide: func(context.Context, approval.ProposedStep) (approval.Verdict, error) {
			time.Sleep(time.Hour)
			return yes, nil
		}}, "Second", 30 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				if c.first != nil {
					w.Add("First", c.first)
				}
				w.Add("Second", deciding(10*time.Second, yes))
				w.Add("Third", deciding(0, no))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				got, err := approval.Approve(ctx, w.Eddy, "First", deletion, approval.WithEscalation("Second", "Third"))
				if err != nil || !got.Approved || got.By != c.by || got.Default {
					t.Errorf("got %+v, %v", got, err)
				}
				kit.WantElapsed(t, start, c.elapsed)
				if c.said == nil {
					time.Sleep(2 * time.Hour)
					return
				}
				again := func(line string) bool { return endsIn(line, "(again)") }
				for i, line := range slices.DeleteFunc(w.Lines(), again) {
					if i < len(c.said) && !endsIn(line, c.said[i]) {
						t.Errorf("said %q, want %s", line, c.said[i])
					}
				}
				w.Settled(0)
			})
		})
	}
}

func endsIn(line, act string) bool {
	return len(line) > len(act) && line[len(line)-len(act):] == act
}

func TestApprovalByDefault(t *testing.T) {
	never := deciding(time.Hour, yes)
	for _, fallback := range []bool{true, false} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.Add("Boss", never)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := approval.Approve(ctx, w.Eddy, "Nobody", deletion, approval.WithEscalation("Boss"), approval.WithDefault(fallback))
			if err != nil || got.Approved != fallback || !got.Default || got.By != "" || got.Reason == "" {
				t.Errorf("got %+v, %v", got, err)
			}
			w.Settled(0)
		})
	}
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Boss", never)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := approval.Approve(ctx, w.Eddy, "Nobody", deletion, approval.WithEscalation("Boss"))
		if !errors.Is(err, approval.ErrUndecided) || !errors.Is(err, p.CodeUnknownAgent) || !errors.Is(err, p.CodeCanceled) {
			t.Errorf("got %v", err)
		}
		start := time.Now() // without a deadline
		if _, err := approval.Approve(t.Context(), w.Eddy, "Boss", deletion); !errors.Is(err, approval.ErrUndecided) {
			t.Errorf("got %v", err)
		}
		kit.WantElapsed(t, start, codons.DefaultDeadline-time.Second)
		expired, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if got, err := approval.Approve(expired, w.Eddy, "Boss", deletion, approval.WithDefault(false)); err != nil || !got.Default {
			t.Errorf("after the deadline: %+v, %v", got, err)
		}
	})
}

// A cancelled approval, or one whose party stops, ends without a decision in spite of a default.
func TestWithdrawnApproval(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Boss", deciding(time.Hour, yes))
		for _, end := range []func(context.CancelFunc){
			func(cancel context.CancelFunc) { cancel() },
			func(context.CancelFunc) { _ = w.StopAgent(t.Context(), "Eddy") },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			u, _ := kit.InBackground(ctx, func(ctx context.Context) (approval.Approval, error) {
				return approval.Approve(ctx, w.Eddy, "Boss", deletion, approval.WithDefault(true))
			})
			synctest.Wait()
			end(cancel)
			if got, err := u.Wait(); err == nil || got != (approval.Approval{}) || errors.Is(err, approval.ErrUndecided) {
				t.Errorf("got %+v, %v", got, err)
			}
			w.Settled(0)
		}
		_, err := approval.Approve(t.Context(), w.Eddy, "Boss", deletion, approval.WithDefault(true))
		if !errors.Is(err, actors.ErrStopped) {
			t.Errorf("got %v", err)
		}
	})
}

// An invalid step is refused on both sides.
func TestInvalidSteps(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Boss", deciding(0, yes))
		if got, err := approval.Approve(t.Context(), w.Eddy, "Boss", approval.Step{}, approval.WithDefault(true)); !errors.Is(err, p.CodeInvalidPayload) || got.Approved {
			t.Errorf("got %+v, %v", got, err)
		}
		a := w.Peer("peer")
		a.Send(p.Envelope{Receiver: "Boss", Performative: p.ActPropose, Protocol: "approval", Payload: p.Raw(`{"why":"x"}`)})
		if r := a.Expect(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		a.Send(p.Envelope{Receiver: "Boss", Performative: p.ActPropose, Protocol: "approval", Payload: p.Raw(`{"what":"x","data":[1]}`)})
		a.Expect(p.ActAcceptProposal)
	})
}
