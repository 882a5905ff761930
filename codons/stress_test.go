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
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// dice are random numbers for many goroutines.
type dice struct {
	mu sync.Mutex
	*rand.Rand
}

func (d *dice) upTo(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.IntN(n)
}

// moment is a random time of up to 100 ms.
func (d *dice) moment() time.Duration { return time.Duration(d.upTo(100)) * time.Millisecond }

// fickle is a worker that does anything.
func fickle(d *dice) *worker {
	return &worker{
		max: 8,
		consider: func(context.Context, codons.Task) codons.Decision {
			switch d.upTo(20) {
			case 0:
				panic("considering")
			case 1:
				return codons.Reject(p.CodeIncapable, "")
			case 2:
				return codons.NotUnderstood(p.CodeUnknownOntology, "")
			case 3:
				return codons.Decision{}
			}
			return codons.Accept()
		},
		perform: func(ctx context.Context, t codons.Task) (p.InformResult, error) {
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
				return asking("more"), nil
			case 6:
				time.Sleep(d.moment()) // without regard to ctx
			case 7, 8:
				select {
				case <-time.After(d.moment()):
				case <-ctx.Done():
					return p.InformResult{}, ctx.Err()
				}
			case 9:
				return codons.Delegate(ctx, t.Agent, "Jules 0", task())
			}
			return result(p.StatusSuccess), nil
		},
	}
}

// TestStress has many delegate to a few fickle agents that restart now and then,
// over a network that loses messages.
func TestStress(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	inWorldOf(t, codons.Delegation{Grace: 20 * time.Millisecond}, func(t *testing.T, w *world) {
		begun := w.countBeginnings()
		w.lawless.Store(true) // but see below
		d := &dice{Rand: rand.New(rand.NewPCG(seed, 0))}
		const agents, callers, each = 4, 25, 80
		for i := range agents {
			w.spawn(p.AgentID(fmt.Sprint("Jules ", i)), fickle(d))
		}
		w.net.intercept(func(*p.Message) bool { return d.upTo(50) == 0 })
		var ends [2]atomic.Int64
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range each {
					if err := w.roll(d, agents); err == nil {
						ends[0].Add(1)
					} else {
						ends[1].Add(1)
					}
				}
			})
		}
		wg.Wait()
		w.net.intercept(nil)
		time.Sleep(2 * codons.DefaultDeadline) // what the worker alone still has to end
		w.settled(0)
		if ends[0].Load() == 0 || ends[1].Load() == 0 || ends[0].Load()+ends[1].Load() != callers*each {
			t.Errorf("%d good ends and %d others", ends[0].Load(), ends[1].Load())
		}
		for i := range agents {
			w.wantRoom(p.AgentID(fmt.Sprint("Jules ", i)))
		}
		w.wantLawful(begun)
		t.Logf("%d good ends, %d others, %+v", ends[0].Load(), ends[1].Load(), w.Counts())
	})
}

// countBeginnings counts from now on how often each conversation begins for the
// side that answers.
func (w *world) countBeginnings() func(p.ConversationID) int {
	var mu sync.Mutex
	n := map[p.ConversationID]int{}
	w.Events.Listen(func(ev actors.Event) {
		if e := ev.(codons.Transition); e.Role == machine.Responder && e.From == machine.Idle {
			mu.Lock()
			n[e.Conversation]++
			mu.Unlock()
		}
	}, actors.About[codons.Transition]())
	return func(id p.ConversationID) int {
		mu.Lock()
		defer mu.Unlock()
		return n[id]
	}
}

// wantLawful expects everyone to have kept to the tables, save where a further round
// reached an agent that had restarted and took it for a new task.
func (w *world) wantLawful(begun func(p.ConversationID) int) {
	w.t.Helper()
	if err := w.monitor.watch.Stop(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range w.monitor.violations {
		if begun(v.Conversation) < 2 {
			w.t.Errorf("%s to %s in %s: %v", v.Sender, v.Receiver, v.Conversation, v)
		}
	}
	w.t.Logf("watched: %+v", w.monitor.watch.Counts())
}

// roll makes one delegation of some kind and returns its end.
func (w *world) roll(d *dice, agents int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if d.upTo(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, d.moment())
		defer cancel()
	}
	to := p.AgentID(fmt.Sprint("jules ", d.upTo(agents)))
	var opts []codons.DelegateOption
	if d.upTo(2) == 0 {
		opts = append(opts, codons.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return task(), d.upTo(3) > 0 }))
	}
	opts = append(opts, codons.WithRetry(codons.Retry{First: 30 * time.Millisecond}), codons.WithGrace(d.moment()))
	del, err := codons.StartDelegation(ctx, w.eddy, to, task(), opts...)
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
func (w *world) wantRoom(id p.AgentID) {
	w.t.Helper()
	var all []*codons.Delegated
	for range 8 {
		d, err := codons.StartDelegation(w.t.Context(), w.eddy, id, task())
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, d)
	}
	for _, d := range all {
		if _, err := d.Wait(); errors.Is(err, p.CodeBusy) {
			w.t.Errorf("%s has lost a place", id)
		}
	}
	synctest.Wait()
}
