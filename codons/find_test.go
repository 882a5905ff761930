package codons_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// decided is a worker whose mind is made up, and which counts what it performs.
func decided(d codons.Decision, performed *int, err error) *worker {
	return &worker{
		consider: func(context.Context, codons.Task) codons.Decision { return d },
		perform: func(context.Context, codons.Task) (p.InformResult, error) {
			*performed++
			return result(p.StatusSuccess), err
		},
	}
}

// asked are the agents of attempts.
func asked(as []codons.Attempt) (ids []p.AgentID) {
	for _, a := range as {
		ids = append(ids, a.Agent)
	}
	return ids
}

func TestFindAndDelegate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		performed := 0
		w.spawn("Busy", decided(codons.Reject(p.CodeBusy, ""), &performed, nil))
		w.spawn("Lost", decided(codons.NotUnderstood(p.CodeUnknownOntology, ""), &performed, nil))
		w.spawn("Able", decided(codons.Accept(), &performed, nil))
		w.spawn("Spare", decided(codons.Accept(), &performed, nil))
		w.spawn("Poet", &shop{})
		progress := 0
		found, err := codons.FindAndDelegate(t.Context(), w.eddy, codons.Search{
			Among: codons.Agents{"Spare", "Poet", "Able", "Gone", "Lost", "Busy"}, Need: []string{"debugging"},
			Rank: func(a, b codons.Candidate) int {
				best := []p.AgentID{"Busy", "Lost", "Able", "Spare"}
				return cmp.Compare(slices.Index(best, a.Agent), slices.Index(best, b.Agent))
			},
		}, task(), codons.WithAccepted(func(p.TaskAccept) { progress++ }))
		if err != nil || found.Agent != "Able" || found.Result.Status != p.StatusSuccess || performed != 1 || progress != 1 {
			t.Errorf("got %+v, %v, %d performed, %d accepted", found, err, performed, progress)
		}
		if got := asked(found.Earlier); !slices.Equal(got, []p.AgentID{"Busy", "Lost"}) {
			t.Errorf("asked before: %q", got)
		}
		wantEnd(t, found.Earlier[0].Err, "rejected", p.CodeBusy)
		wantEnd(t, found.Earlier[1].Err, "not_understood", p.CodeUnknownOntology)
		w.settled(0)
	})
}

func TestFindNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var nobody *codons.NobodyError
		search := codons.Search{Among: codons.Agents{"Gone"}, Need: []string{"debugging"}}
		if _, err := codons.FindAndDelegate(t.Context(), w.eddy, search, task()); !errors.As(err, &nobody) || len(nobody.Attempts) != 0 {
			t.Errorf("got %v", err)
		}
		performed := 0
		w.spawn("Busy", decided(codons.Reject(p.CodeBusy, ""), &performed, nil))
		_, err := codons.DelegateToAny(t.Context(), w.eddy, []p.AgentID{"Busy", "Gone"}, task())
		if !errors.As(err, &nobody) || len(nobody.Attempts) != 2 || !errors.Is(err, p.CodeBusy) || !errors.Is(err, p.CodeUnknownAgent) {
			t.Errorf("got %v", err)
		}
		if _, err := codons.DelegateToAny(t.Context(), w.eddy, []p.AgentID{"Busy"}, p.TaskRequest{}); !errors.Is(err, p.CodeInvalidPayload) || errors.As(err, new(*codons.NobodyError)) {
			t.Errorf("of no task: %v", err)
		}
		w.settled(0)
	})
}

// TestWhoFollowsWhom has a first agent that fails in some way, and says whether a
// second may do the task.
func TestWhoFollowsWhom(t *testing.T) {
	hangs := &worker{perform: patient}
	fails := func() *worker { return decided(codons.Accept(), new(int), errors.New("oh")) }
	slow := &worker{consider: func(context.Context, codons.Task) codons.Decision {
		time.Sleep(4 * time.Minute)
		return codons.Accept()
	}, perform: patient}
	for name, c := range map[string]struct {
		first   *worker
		opts    []codons.DelegateOption
		follows bool
		code    p.Code
	}{
		"rejects":                    {decided(codons.Reject(p.CodeIncapable, ""), new(int), nil), nil, true, p.CodeIncapable},
		"fails":                      {fails(), nil, false, p.CodeFailed},
		"fails, safe to repeat":      {fails(), []codons.DelegateOption{codons.SafeToRepeat()}, true, p.CodeFailed},
		"hangs":                      {hangs, nil, false, p.CodeTimeout},
		"hangs, safe to repeat":      {hangs, []codons.DelegateOption{codons.SafeToRepeat()}, true, p.CodeTimeout},
		"does not make up its mind":  {slow, nil, true, p.CodeTimeout},
		"and does not, safe to try":  {slow, []codons.DelegateOption{codons.SafeToRepeat()}, true, p.CodeTimeout},
		"reports and hangs, no word": {reporting(), nil, false, p.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				performed := 0
				w.spawn("First", c.first)
				w.spawn("Second", decided(codons.Accept(), &performed, nil))
				if name == "reports and hangs, no word" {
					w.net.lose(p.ActTaskAccept, -1)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
				defer cancel()
				found, err := codons.DelegateToAny(ctx, w.eddy, []p.AgentID{"First", "Second"}, task(), c.opts...)
				first := found.Earlier
				var nobody *codons.NobodyError
				if errors.As(err, &nobody) {
					first = nobody.Attempts
				}
				if (err == nil) != c.follows || c.follows != (performed == 1) || len(first) != 1 || !errors.Is(first[0].Err, c.code) {
					t.Errorf("got %+v, %v, performed %d times", found, err, performed)
				}
				time.Sleep(time.Hour)
				w.settled(0)
			})
		})
	}
}

// reporting is a worker that reports once, and then works until it is stopped.
func reporting() *worker {
	return &worker{perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
		if err := t.Progress(1, "begun"); err != nil {
			return p.InformResult{}, err
		}
		return patient(ctx, t)
	}}
}

func TestFindIsCancelled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		performed, cause := 0, make(chan error, 1)
		w.spawn("First", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return p.InformResult{}, ctx.Err()
		}})
		w.spawn("Second", decided(codons.Accept(), &performed, nil))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := codons.DelegateToAny(ctx, w.eddy, []p.AgentID{"First", "Second"}, task(), codons.SafeToRepeat())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || performed != 0 {
			t.Errorf("got %v, performed %d times", err, performed)
		}
		if err := <-cause; !errors.Is(err, codons.ErrCanceled) {
			t.Errorf("the handler's cause is %v", err)
		}
		w.settled(0)
	})
}

// TestFindDoesNotWaitForTheMute asks one that never answers.
func TestFindDoesNotWaitForTheMute(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool { return m.Receiver() == "Mute" })
		w.spawn("Mute", &worker{})
		w.spawn("Jules", &worker{})
		start := time.Now()
		found, err := codons.FindAndDelegate(t.Context(), w.eddy, codons.Search{Among: codons.Agents{"Mute", "Jules"}}, task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		wantElapsed(t, start, codons.DefaultAskTime)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		found, err = codons.DelegateToAny(ctx, w.eddy, []p.AgentID{"Mute", "Jules"}, task())
		if err != nil || found.Agent != "Jules" || !errors.Is(found.Earlier[0].Err, p.CodeTimeout) {
			t.Errorf("got %+v, %v", found, err)
		}
		w.settled(0)
	})
}

// TestFindAmongMany asks more than it does at a time, of whom one never answers.
func TestFindAmongMany(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool { return m.Receiver() == "Mute" })
		w.spawn("Mute", &worker{})
		many := codons.Agents{"Mute"}
		for i := range 512 {
			many = append(many, p.AgentID(fmt.Sprint("Poet ", i)))
			w.spawn(many[i+1], &shop{})
		}
		w.spawn("Jules", &worker{})
		search := codons.Search{Among: append(many, "Jules"), Need: []string{"debugging"}}
		found, err := codons.FindAndDelegate(t.Context(), w.eddy, search, task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		w.settled(0)
	})
}

// TestFindHasNoTimeForAll has so many never answer that the others are not asked.
func TestFindHasNoTimeForAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.intercept(func(m *p.Message) bool { return m.Receiver() == "Mute" })
		w.spawn("Mute", &worker{})
		w.spawn("Jules", &worker{})
		many := append(codons.Agents{"Jules"}, slices.Repeat(codons.Agents{"Mute"}, 600)...)
		found, err := codons.FindAndDelegate(t.Context(), w.eddy, codons.Search{Among: many}, task())
		if err != nil || found.Agent != "Jules" {
			t.Errorf("got %+v, %v", found, err)
		}
		w.settled(0)
	})
}
