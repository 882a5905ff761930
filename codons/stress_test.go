package codons_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// dice returns random numbers. Safe for concurrent use.
type dice struct {
	mu sync.Mutex
	*rand.Rand
}

func (d *dice) upTo(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.IntN(n)
}

// moment returns a random time of up to 100 ms.
func (d *dice) moment() time.Duration { return time.Duration(d.upTo(100)) * time.Millisecond }

// randomWorker returns a worker that accepts, rejects, fails or waits at random.
func randomWorker(d *dice) *kit.Worker {
	return &kit.Worker{
		Max: 8,
		Consider: func(context.Context, delegation.Task) delegation.Decision {
			switch d.upTo(20) {
			case 0:
				panic("considering")
			case 1:
				return delegation.Reject(p.CodeIncapable, "")
			case 2:
				return delegation.NotUnderstood(p.CodeUnknownOntology, "")
			case 3:
				return delegation.Decision{}
			}
			return delegation.Accept()
		},
		Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			for range d.upTo(4) {
				_ = t.Progress(1, "x")
			}
			switch d.upTo(12) {
			case 0:
				panic("performing")
			case 1:
				return p.InformResult{}, errors.New("performing")
			case 2:
				goruntime.Goexit()
			case 3:
				return p.InformResult{}, nil
			case 4, 5:
				return kit.Asking("more"), nil
			case 6:
				time.Sleep(d.moment()) // without regard to ctx
			case 7, 8:
				select {
				case <-time.After(d.moment()):
				case <-ctx.Done():
					return p.InformResult{}, ctx.Err()
				}
			case 9:
				return delegation.Delegate(ctx, t.Agent, "Jules 0", kit.Task())
			}
			return kit.Result(p.StatusSuccess), nil
		},
	}
}

// TestStress has many callers delegate to a few agents of random behaviour that restart now and then, over a
// network that loses messages.
func TestStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	kit.InWorldOf(t, codons.Times{Grace: 20 * time.Millisecond}, func(t *testing.T, w *kit.World) {
		begun := countBeginnings(w)
		w.AllowViolations.Store(true) // but see below
		d := &dice{Rand: rand.New(rand.NewPCG(seed, 0))}
		const agents, callers, each = 4, 25, 80
		for i := range agents {
			w.Add(p.AgentID(fmt.Sprint("Jules ", i)), randomWorker(d))
		}
		w.Net.Intercept(func(*p.Message) bool { return d.upTo(50) == 0 })
		var ends [2]atomic.Int64
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					if err := roll(w, d, agents); err == nil {
						ends[0].Add(1)
					} else {
						ends[1].Add(1)
					}
				}
			})
		}
		wg.Wait()
		w.Net.Intercept(nil)
		time.Sleep(2 * codons.DefaultDeadline) // what the worker alone still has to end
		w.Settled(0)
		if ends[0].Load() == 0 || ends[1].Load() == 0 || ends[0].Load()+ends[1].Load() != callers*each {
			t.Errorf("%d good ends and %d others", ends[0].Load(), ends[1].Load())
		}
		for i := range agents {
			wantRoom(w, p.AgentID(fmt.Sprint("Jules ", i)))
		}
		wantLawful(w, begun)
		t.Logf("%d good ends, %d others, %+v", ends[0].Load(), ends[1].Load(), w.Counts())
	})
}

// countBeginnings counts from now on how often each conversation begins for the
// side that answers.
func countBeginnings(w *kit.World) func(p.ConversationID) int {
	steps := kit.Recording(&w.Events, codons.KindTransition)
	n := map[p.ConversationID]int{}
	return func(id p.ConversationID) int {
		for _, e := range kit.Published[codons.Transition](w.T, steps) {
			if e.Role == machine.Responder && e.From == machine.Idle {
				n[e.Conversation]++
			}
		}
		return n[id]
	}
}

// wantLawful expects everyone to have kept to the tables, save where a further round
// reached an agent that had restarted and took it for a new task.
func wantLawful(w *kit.World, begun func(p.ConversationID) int) {
	w.T.Helper()
	if err := w.Monitor.Watch.Stop(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	for _, v := range w.Monitor.Violations() {
		if begun(v.Conversation) < 2 {
			w.T.Errorf("%s to %s in %s: %v", v.Sender, v.Receiver, v.Conversation, v)
		}
	}
	w.T.Logf("watched: %+v", w.Monitor.Watch.Counts())
}

// roll makes one delegation of some kind and returns its end.
func roll(w *kit.World, d *dice, agents int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d.upTo(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, d.moment())
		defer cancel()
	}
	to := p.AgentID(fmt.Sprint("jules ", d.upTo(agents)))
	var opts []codons.Option
	if d.upTo(2) == 0 {
		opts = append(opts, delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), d.upTo(3) > 0 }))
	}
	opts = append(opts, codons.WithRetry(codons.Retry{First: 30 * time.Millisecond}), codons.WithGrace(d.moment()))
	del, err := delegation.Start(ctx, w.Eddy, to, kit.Task(), opts...)
	if err != nil {
		return err
	}
	switch d.upTo(8) {
	case 0:
		cancel()
	case 1:
		time.AfterFunc(d.moment(), del.Cancel)
	case 2:
		if self, ok := w.Lookup(to); ok {
			_ = self.Later(func(actors.Agent) {
				if d.upTo(4) == 0 {
					panic("in between")
				}
			})
		}
	}
	_, err = del.Wait()
	return err
}

// wantRoom expects an agent to have all its places: as many tasks as it may have
// are considered, so that none is rejected as busy.
func wantRoom(w *kit.World, id p.AgentID) {
	w.T.Helper()
	var all []*delegation.Delegated
	for range 8 {
		d, err := delegation.Start(w.T.Context(), w.Eddy, id, kit.Task())
		if err != nil {
			w.T.Fatal(err)
		}
		all = append(all, d)
	}
	for _, d := range all {
		if _, err := d.Wait(); errors.Is(err, p.CodeBusy) {
			w.T.Errorf("%s has lost a place", id)
		}
	}
	synctest.Wait()
}
