package codons_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// boss decides by a function.
type boss struct {
	plain
	decide func(context.Context, codons.ProposedStep) (codons.Verdict, error)
}

func (b *boss) DecideStep(ctx context.Context, s codons.ProposedStep) (codons.Verdict, error) {
	return b.decide(ctx, s)
}

var deletion = codons.Step{What: "delete the archive", Why: "the disk is full", Data: p.ContentOf([]string{"a", "b"})}

func kindApproval() kind {
	return kind{
		name: "approval", opening: p.ActPropose, answer: p.ActAcceptProposal, agrees: true,
		good: codons.Approval{Approved: true, By: "Shop", Reason: "fine"}, early: true,
		agent: func(h handle) actors.Agent {
			return &boss{decide: func(ctx context.Context, s codons.ProposedStep) (codons.Verdict, error) {
				return codons.Verdict{Accepted: true, Reason: "fine"}, h(ctx, s.Seen)
			}}
		},
		start: func(ctx context.Context, party codons.Party, to p.AgentID, opts ...codons.Option) (*ongoing, error) {
			return inBackground(ctx, func(ctx context.Context) (codons.Approval, error) {
				var all []codons.ApproveOption
				for _, o := range opts {
					all = append(all, o)
				}
				return codons.Approve(ctx, party, to, deletion, all...)
			})
		},
	}
}

// deciding is a boss that decides after a time.
func deciding(after time.Duration, v codons.Verdict) *boss {
	return &boss{decide: func(ctx context.Context, s codons.ProposedStep) (codons.Verdict, error) {
		select {
		case <-time.After(after):
			return v, nil
		case <-ctx.Done():
			return codons.Verdict{}, errors.Join(context.Cause(ctx), s.Validate())
		}
	}}
}

var (
	yes = codons.Verdict{Accepted: true, Reason: "go on"}
	no  = codons.Verdict{Reason: "keep it"}
)

func TestApprovalIsGivenOrDenied(t *testing.T) {
	for _, v := range []codons.Verdict{yes, no} {
		inWorld(t, func(t *testing.T, w *world) {
			var seen []p.AgentID
			w.spawn("Boss", &boss{decide: func(_ context.Context, s codons.ProposedStep) (codons.Verdict, error) {
				files, err := p.Decode[[]string](s.Data)
				if s.What != deletion.What || s.Why != deletion.Why || len(files) != 2 || s.Message.Sender() != "Eddy" {
					t.Errorf("asked about %+v", s)
				}
				return v, errors.Join(s.Seen(), err)
			}})
			got, err := codons.Approve(t.Context(), w.eddy, "Boss", deletion, codons.WithSeen(func(by p.AgentID) { seen = append(seen, by) }))
			if want := (codons.Approval{Approved: v.Accepted, By: "Boss", Reason: v.Reason}); err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
			if len(seen) != 1 || seen[0] != "Boss" {
				t.Errorf("seen by %v", seen)
			}
			w.settled(0)
		})
	}
}

// TestEscalation has the first of three approvers not decide, in each of its ways.
func TestEscalation(t *testing.T) {
	for name, c := range map[string]struct {
		first   actors.Agent // nil: there is none
		by      p.AgentID
		elapsed time.Duration
		said    []string
	}{
		"decides in time":  {deciding(19*time.Second-1, yes), "First", 19*time.Second - 1, []string{"PROPOSE", "ACCEPT_PROPOSAL"}},
		"decides too late": {deciding(19*time.Second+1, yes), "Second", 29 * time.Second, []string{"PROPOSE", "CANCEL", "INFORM"}},
		"refuses": {&boss{decide: func(context.Context, codons.ProposedStep) (codons.Verdict, error) {
			return yes, &p.Refusal{Code: p.CodeForbidden}
		}}, "Second", 10 * time.Second, []string{"PROPOSE", "REFUSE"}},
		"panics":         {&boss{decide: func(context.Context, codons.ProposedStep) (codons.Verdict, error) { panic("oh") }}, "Second", 10 * time.Second, []string{"PROPOSE", "FAILURE internal_error"}},
		"is not there":   {nil, "Second", 10 * time.Second, []string{"PROPOSE"}},
		"is no approver": {plain{}, "Second", 10 * time.Second, []string{"PROPOSE", "REJECT_PROPOSAL"}},
		"does not even stop": {&boss{decide: func(context.Context, codons.ProposedStep) (codons.Verdict, error) {
			time.Sleep(time.Hour)
			return yes, nil
		}}, "Second", 30 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if c.first != nil {
					w.spawn("First", c.first)
				}
				w.spawn("Second", deciding(10*time.Second, yes))
				w.spawn("Third", deciding(0, no))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				got, err := codons.Approve(ctx, w.eddy, "First", deletion, codons.WithEscalation("Second", "Third"))
				if err != nil || !got.Approved || got.By != c.by || got.Default {
					t.Errorf("got %+v, %v", got, err)
				}
				wantElapsed(t, start, c.elapsed)
				if c.said == nil {
					time.Sleep(2 * time.Hour)
					return
				}
				again := func(line string) bool { return endsIn(line, "(again)") }
				for i, line := range slices.DeleteFunc(w.monitor.lines(), again) {
					if i < len(c.said) && !endsIn(line, c.said[i]) {
						t.Errorf("said %q, want %s", line, c.said[i])
					}
				}
				w.settled(0)
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
		inWorld(t, func(t *testing.T, w *world) {
			w.spawn("Boss", never)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			got, err := codons.Approve(ctx, w.eddy, "Nobody", deletion, codons.WithEscalation("Boss"), codons.WithDefault(fallback))
			if err != nil || got.Approved != fallback || !got.Default || got.By != "" || got.Reason == "" {
				t.Errorf("got %+v, %v", got, err)
			}
			w.settled(0)
		})
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Boss", never)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := codons.Approve(ctx, w.eddy, "Nobody", deletion, codons.WithEscalation("Boss"))
		if !errors.Is(err, codons.ErrUndecided) || !errors.Is(err, p.CodeUnknownAgent) || !errors.Is(err, p.CodeCanceled) {
			t.Errorf("got %v", err)
		}
		start := time.Now() // without a deadline
		if _, err := codons.Approve(t.Context(), w.eddy, "Boss", deletion); !errors.Is(err, codons.ErrUndecided) {
			t.Errorf("got %v", err)
		}
		wantElapsed(t, start, codons.DefaultDeadline-time.Second)
		expired, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if got, err := codons.Approve(expired, w.eddy, "Boss", deletion, codons.WithDefault(false)); err != nil || !got.Default {
			t.Errorf("after the deadline: %+v, %v", got, err)
		}
	})
}

// TestApprovalThatIsNoLongerWanted ends without a decision, whatever the default.
func TestApprovalThatIsNoLongerWanted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Boss", deciding(time.Hour, yes))
		for _, end := range []func(context.CancelFunc){
			func(cancel context.CancelFunc) { cancel() },
			func(context.CancelFunc) { _ = w.StopAgent(t.Context(), "Eddy") },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			u, _ := inBackground(ctx, func(ctx context.Context) (codons.Approval, error) {
				return codons.Approve(ctx, w.eddy, "Boss", deletion, codons.WithDefault(true))
			})
			synctest.Wait()
			end(cancel)
			if got, err := u.wait(); err == nil || got != (codons.Approval{}) || errors.Is(err, codons.ErrUndecided) {
				t.Errorf("got %+v, %v", got, err)
			}
			w.settled(0)
		}
		_, err := codons.Approve(t.Context(), w.eddy, "Boss", deletion, codons.WithDefault(true))
		if !errors.Is(err, actors.ErrStopped) {
			t.Errorf("got %v", err)
		}
	})
}

// TestInvalidSteps are not asked about, and not decided about.
func TestInvalidSteps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Boss", deciding(0, yes))
		if got, err := codons.Approve(t.Context(), w.eddy, "Boss", codons.Step{}, codons.WithDefault(true)); !isCode(err, p.CodeInvalidPayload) || got.Approved {
			t.Errorf("got %+v, %v", got, err)
		}
		a := w.puppet("puppet")
		a.say(p.Envelope{Receiver: "Boss", Performative: p.ActPropose, Protocol: "approval", Payload: p.Raw(`{"why":"x"}`)})
		if r := a.next(p.ActNotUnderstood).AsRefusal(); r.Code != p.CodeInvalidPayload {
			t.Errorf("got %v", r)
		}
		a.say(p.Envelope{Receiver: "Boss", Performative: p.ActPropose, Protocol: "approval", Payload: p.Raw(`{"what":"x","data":[1]}`)})
		a.next(p.ActAcceptProposal)
	})
}
