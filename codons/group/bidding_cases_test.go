package group_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func (b bidding) testTurnedDown(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Allow(systemtest.ErrorLogged)
		answering := func(err error) bidderFuncs {
			return bidderFuncs{Strength: 1, Consider: func(context.Context) error { return err }}
		}
		ids := b.spawn(w,
			answering(&p.Refusal{Code: p.CodeForbidden, Text: "not for you"}),
			answering(&p.Refusal{Code: p.CodeInvalidPayload, Text: "no such thing"}),
			answering(errors.New("secret")),
			bidderFuncs{Strength: 1, Consider: func(context.Context) error { panic("oh") }},
		)
		w.Add("Worker", &kit.Worker{}) // has no role in the protocol
		r := b.run(w, append(ids, "Worker", "Missing"))
		b.wantNone(t, r)
		kit.WantEnd(t, r.Errs["A"], standard.StateRefused, p.CodeForbidden)
		kit.WantEnd(t, r.Errs["B"], standard.StateNotUnderstood, p.CodeInvalidPayload)
		kit.WantEnd(t, r.Errs["C"], standard.StateFailed, p.CodeFailed)
		kit.WantEnd(t, r.Errs["D"], standard.StateFailed, p.CodeInternal)
		kit.WantEnd(t, r.Errs["Worker"], standard.StateRefused, p.CodeIncapable)
		kit.WantEnd(t, r.Errs["Missing"], standard.StateRefused, p.CodeUnknownAgent)
		w.Settled(0)
	})
}

func (b bidding) testRecorded(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		recorded := kit.Recording(&w.Events, codons.KindRecorded)
		wantWinner(t, b.run(w, b.spawn(w, bidderFuncs{Strength: 4}, bidderFuncs{Strength: 3})), "A")
		w.Settled(0)
		var data string
		for _, e := range kit.Published[codons.Recorded](t, recorded) {
			text, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			if e.Record.Agent == "A" || e.Record.Peer == "A" {
				data += string(text)
			}
		}
		for _, want := range b.Recorded {
			if !strings.Contains(data, want) {
				t.Errorf("no %s in %s", want, data)
			}
		}
	})
}

// testNoAnswer has a bidder of which no message arrives. It is out after one round, or stays and
// never wins.
func (b bidding) testNoAnswer(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		ids := b.spawn(w, bidderFuncs{Strength: 9, Consider: blocked}, bidderFuncs{Strength: 4}, bidderFuncs{Strength: 3})
		w.Net.Intercept(func(m *p.Message) bool { return m.Sender() == "A" })
		start := time.Now()
		r := b.run(w, ids)
		kit.WantElapsed(t, start, time.Duration(max(b.SilentRounds, 1))*b.AnswerWithin)
		wantWinner(t, r, "B")
		if b.SilentRounds == 0 {
			kit.WantEnd(t, r.Errs["A"], standard.StateTimedOut, p.CodeTimeout)
		} else if r.Errs["A"] != nil {
			t.Errorf("the silent bidder ended %v", r.Errs["A"])
		}
		w.Settled(0)
	})
}

func (b bidding) testCannotBegin(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		b.spawn(w, bidderFuncs{Strength: 1})
		if _, err := b.Start(t.Context(), w, nil); err == nil {
			t.Error("no bidders, no error")
		}
		if _, err := b.Start(t.Context(), w, []p.AgentID{"A", "a"}); err == nil {
			t.Error("a bidder is named twice, no error")
		}
		if _, err := b.Start(t.Context(), w, []p.AgentID{"A", ""}); !errors.Is(err, p.CodeInvalidPayload) {
			t.Errorf("an empty id: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if run, err := b.Start(ctx, w, []p.AgentID{"A"}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before the start: %v, %v", run, err)
		}
		w.Settled(0)
	})
}

// testCancelled cancels a run while the strongest bidder considers, and while it works.
func (b bidding) testCancelled(t *testing.T) {
	for name, funcs := range map[string]bidderFuncs{
		"considering": {Strength: 9, Consider: blocked},
		"working":     {Strength: 9, Perform: blockedWork},
	} {
		for way, cancel := range map[string]func(context.CancelFunc, biddingRun){
			"Cancel": func(_ context.CancelFunc, run biddingRun) { run.Cancel() },
			"ctx":    func(cancel context.CancelFunc, _ biddingRun) { cancel() },
		} {
			t.Run(name+" by "+way, func(t *testing.T) {
				kit.InWorld(t, func(t *testing.T, w *kit.World) {
					ctx, end := context.WithCancel(t.Context())
					defer end()
					run := b.start(ctx, w, b.spawn(w, funcs, bidderFuncs{Strength: 2}))
					synctest.Wait()
					cancel(end, run)
					r := run.Wait()
					b.wantNone(t, r)
					if !errors.Is(r.Err, context.Canceled) {
						t.Errorf("got %v", r.Err)
					}
					kit.WantEnd(t, r.Errs["A"], standard.StateCancelled, p.CodeCanceled)
					w.Settled(0)
				})
			})
		}
	}
}

// testCancelledAfterBid cancels a run after a bid whose handler has begun a conversation and has
// not waited for it. The receipt says that this conversation has stopped, too.
func (b bidding) testCancelledAfterBid(t *testing.T) {
	for _, c := range []struct {
		name string
		wait func(ctx context.Context, release <-chan struct{})
		end  machine.State
		code p.Code
	}{
		{"stopped", func(ctx context.Context, _ <-chan struct{}) { <-ctx.Done() }, standard.StateCancelled, p.CodeCanceled},
		{"still running", func(_ context.Context, release <-chan struct{}) { <-release }, standard.StateFailed, p.CodeStillRunning},
	} {
		t.Run(c.name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				begun, release := make(chan struct{}, 1), make(chan struct{})
				w.Add("Helper", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
					begun <- struct{}{}
					c.wait(ctx, release)
					return kit.Result(p.StatusSuccess), nil
				}})
				var self actors.Self
				self = w.Add("A", b.Agent(bidderFuncs{Strength: 9, Perform: blockedWork, Consider: func(ctx context.Context) error {
					_, err := delegation.Start(ctx, self, "Helper", kit.Task())
					<-begun
					return err
				}}))
				w.Add("B", b.Agent(bidderFuncs{Strength: 2, Consider: blocked}))
				run := b.start(t.Context(), w, []p.AgentID{"A", "B"})
				time.Sleep(b.AnswerWithin / 2)
				run.Cancel()
				kit.WantEnd(t, run.Wait().Errs["A"], c.end, c.code)
				close(release)
				w.Settled(0)
			})
		})
	}
}

// testResultBeforeCancel has the winner finish before CANCEL arrives. The first
// INFORM_RESULT is lost, and sent again as the answer to CANCEL.
func (b bidding) testResultBeforeCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Lose(p.ActInformResult, 1)
		run := b.start(t.Context(), w, b.spawn(w, bidderFuncs{Strength: 3}, bidderFuncs{Strength: 2}))
		synctest.Wait()
		run.Cancel()
		wantWinner(t, run.Wait(), "A")
		w.Settled(0)
	})
}

func (b bidding) testWorkIgnoresCancel(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		release := make(chan struct{})
		run := b.start(t.Context(), w, b.spawn(w, bidderFuncs{Strength: 3, Perform: func(context.Context) (p.InformResult, error) {
			<-release
			return kit.Result(p.StatusSuccess), nil
		}}, bidderFuncs{Strength: 2}))
		synctest.Wait()
		run.Cancel()
		r := run.Wait()
		kit.WantEnd(t, r.Errs["A"], standard.StateFailed, p.CodeStillRunning)
		w.Settled(1)
		close(release)
		w.Settled(0)
	})
}

// testWorkFails has the winner's work fail. No other bidder gets the work.
func (b bidding) testWorkFails(t *testing.T) {
	for name, c := range map[string]struct {
		perform func(context.Context) (p.InformResult, error)
		code    p.Code
	}{
		"refusal": {func(context.Context) (p.InformResult, error) {
			return p.InformResult{}, &p.Refusal{Code: p.CodeBudget, Text: "no money"}
		}, p.CodeBudget},
		"error":          {func(context.Context) (p.InformResult, error) { return p.InformResult{}, errors.New("x") }, p.CodeFailed},
		"panic":          {func(context.Context) (p.InformResult, error) { panic("oh") }, p.CodeInternal},
		"invalid result": {func(context.Context) (p.InformResult, error) { return p.InformResult{}, nil }, p.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				var other atomic.Bool
				r := b.run(w, b.spawn(w, bidderFuncs{Strength: 9, Perform: c.perform}, bidderFuncs{Strength: 4, Perform: func(context.Context) (p.InformResult, error) {
					other.Store(true)
					return kit.Result(p.StatusSuccess), nil
				}}))
				if r.Winner != "" || r.Err == nil || other.Load() {
					t.Errorf("got %+v; the other bidder works: %v", r, other.Load())
				}
				kit.WantEnd(t, r.Errs["A"], standard.StateFailed, c.code)
				w.Settled(0)
			})
		})
	}
}

// testCallerStops stops Eddy while the strongest bidder considers, and while it works.
func (b bidding) testCallerStops(t *testing.T) {
	for name, funcs := range map[string]bidderFuncs{
		"considering": {Strength: 9, Consider: blocked},
		"working":     {Strength: 9, Perform: blockedWork},
	} {
		t.Run(name, func(t *testing.T) {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				run := b.start(t.Context(), w, b.spawn(w, funcs, bidderFuncs{Strength: 2}))
				synctest.Wait()
				if err := w.StopAgent(t.Context(), "Eddy"); err != nil {
					t.Fatal(err)
				}
				r := run.Wait()
				if r.Winner != "" || !errors.Is(r.Err, p.CodeStopped) {
					t.Errorf("got %+v", r)
				}
				kit.WantEnd(t, r.Errs["A"], standard.StateAbandoned, p.CodeStopped)
				w.Settled(0)
			})
		})
	}
}

// counted is a run in which the calls of the winner's functions are counted.
func (b bidding) counted(t *testing.T, w *kit.World) (considered, performed int64) {
	t.Helper()
	var c, d atomic.Int64
	r := b.run(w, b.spawn(w, bidderFuncs{
		Strength: 4,
		Consider: func(context.Context) error { c.Add(1); return nil },
		Perform: func(context.Context) (p.InformResult, error) {
			d.Add(1)
			return kit.Result(p.StatusSuccess), nil
		},
	}, bidderFuncs{Strength: 3}))
	wantWinner(t, r, "A")
	if len(r.Errs) > 0 {
		for id, err := range r.Errs {
			if end := kit.EndOf(t, err); end.State != standard.StateRejected {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	time.Sleep(codons.DefaultDeadline) // a bidder that has not received its last message asks for it
	w.Settled(0)
	return c.Load(), d.Load()
}

// testLostMessages loses messages of each act. The winner considers as often as without a
// loss, and works once.
func (b bidding) testLostMessages(t *testing.T) {
	var want int64
	kit.InWorld(t, func(t *testing.T, w *kit.World) { want, _ = b.counted(t, w) })
	for _, act := range b.Acts {
		for _, lost := range []struct{ from, to int }{{0, 2}, {1, 2}, {2, 3}} {
			kit.InWorld(t, func(t *testing.T, w *kit.World) {
				sent := 0
				w.Net.Intercept(func(m *p.Message) bool {
					if m.Performative() != act {
						return false
					}
					sent++
					return sent > lost.from && sent <= lost.to
				})
				if considered, performed := b.counted(t, w); considered != want || performed != 1 {
					t.Errorf("%s lost after %d: considered %d times, want %d; worked %d times", act, lost.from, considered, want, performed)
				}
			})
		}
	}
}

// testDuplicates delivers every message twice.
func (b bidding) testDuplicates(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Net.Intercept(func(m *p.Message) bool {
			_ = w.Deliver(m.Receiver(), m)
			return false
		})
		wantWinner(t, b.run(w, b.spawn(w, bidderFuncs{Strength: 4}, bidderFuncs{Strength: 3})), "A")
		w.Settled(0)
	})
}

// testRefusedCopies has a full mailbox refuse the copies of a request that is under way.
func (b bidding) testRefusedCopies(t *testing.T) {
	for _, act := range b.Acts {
		if !act.ExpectsReply() || slices.Contains(b.Once, act) {
			continue
		}
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			w.RefuseRepeats(act, p.ActAgree)
			performed := atomic.Int32{}
			slow := func(strength int) bidderFuncs {
				return bidderFuncs{
					Strength: strength,
					Consider: func(context.Context) error { time.Sleep(b.AnswerWithin / 2); return nil },
					Perform: func(context.Context) (p.InformResult, error) {
						performed.Add(1)
						time.Sleep(10 * time.Second)
						return kit.Result(p.StatusSuccess), nil
					},
				}
			}
			got := b.run(w, b.spawn(w, slow(4), slow(3)))
			if got.Winner != "A" || performed.Load() != 1 || w.Counts().Refused == 0 {
				t.Errorf("%s: got %+v, worked %d times, %d refusals", act, got, performed.Load(), w.Counts().Refused)
			}
			time.Sleep(time.Hour)
			w.Settled(0)
		})
	}
}
