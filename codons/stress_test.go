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
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
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

// The load of TestStress: 4,000 conversations in its long form, and 400 in the short one.
const (
	stressAgents = 16
	stressEach   = 4 // conversations that each caller begins, one after the other
	stressTasks  = 64
)

// stress is one run of TestStress.
type stress struct {
	*kit.World
	*dice
	callers int
	done    atomic.Bool // all callers have returned

	ends      [stressEach][2]atomic.Int64 // good and other ends, by the order at the caller
	performed atomic.Int64
	mu        sync.Mutex
	runs      map[p.MessageID]int // how often the task of a request was performed
	overspent []string            // what succeeded with more than its budget
}

// worker returns a worker that accepts, rejects, fails or waits at random.
func (s *stress) worker() *kit.Worker {
	return &kit.Worker{
		Max: stressTasks,
		Consider: func(context.Context, delegation.Task) delegation.Decision {
			switch s.upTo(40) {
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
		Perform: s.perform,
	}
}

func (s *stress) perform(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	s.performed.Add(1)
	s.mu.Lock()
	s.runs[t.Message.ID()]++
	s.mu.Unlock()
	for range s.upTo(4) {
		_ = t.Progress(1, "x")
	}
	if s.upTo(2) == 0 {
		if err := codons.Spend(ctx, codons.Budget{codons.Tokens: int64(s.upTo(40))}); err != nil {
			return p.InformResult{}, err
		}
	}
	switch s.upTo(14) {
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
		time.Sleep(s.moment()) // without regard to ctx
	case 7, 8:
		select {
		case <-time.After(s.moment()):
		case <-ctx.Done():
			return p.InformResult{}, ctx.Err()
		}
	case 9, 10:
		return delegation.Delegate(ctx, t.Agent, s.someone(), kit.Task())
	}
	return kit.Result(p.StatusSuccess), nil
}

// someone returns one of the agents, which may not be running.
func (s *stress) someone() p.AgentID { return p.AgentID(fmt.Sprint("jules ", s.upTo(stressAgents))) }

// TestStress has many callers delegate to a few agents of random behaviour, which restart, or are
// stopped and spawned again, over a network that loses messages. No caller hangs, no task runs
// twice, and nothing is left. Its long form runs ten times.
func TestStress(t *testing.T) {
	runs, callers := 1, 100
	switch {
	case exhaustive.Enabled():
		runs, callers = 10, 1000
	case racetest.Enabled:
		callers = 50
	}
	seed := uint64(time.Now().UnixNano())
	for run := range runs {
		t.Run(fmt.Sprint("seed ", seed+uint64(run)), func(t *testing.T) {
			kit.InWorldWith(t, codons.Times{Grace: 20 * time.Millisecond}, actors.Options{}, func(t *testing.T, w *kit.World) {
				w.Allow(systemtest.ErrorLogged)
				s := &stress{World: w, dice: &dice{Rand: rand.New(rand.NewPCG(seed, uint64(run)))}, callers: callers, runs: map[p.MessageID]int{}}
				s.test(t)
			})
		})
	}
}

func (s *stress) test(t *testing.T) {
	begun := countBeginnings(s.World)
	violated := kit.Recording(&s.Events, lifecycle.KindViolation)
	s.Allow(systemtest.Violation) // but see below
	s.respawn()
	s.Net.Intercept(func(*p.Message) bool { return s.upTo(50) == 0 })
	respawned := make(chan int)
	go func() { respawned <- s.disturb() }()
	s.call()
	s.done.Store(true)
	stops := <-respawned
	s.Net.Intercept(nil)
	s.respawn()
	time.Sleep(2 * codons.DefaultDeadline) // what the worker alone still has to end
	s.Settled(0)
	s.check(t, stops)
	for i := range stressAgents {
		wantRoom(s.World, p.AgentID(fmt.Sprint("Jules ", i)), stressTasks)
	}
	wantLawful(s.World, violated, begun)
}

// call runs all callers.
func (s *stress) call() {
	var wg sync.WaitGroup
	for range s.callers {
		wg.Go(func() {
			for i := range stressEach {
				time.Sleep(time.Duration(s.upTo(s.callers)) * time.Millisecond)
				end := 0
				if s.roll() != nil {
					end = 1
				}
				s.ends[i][end].Add(1)
			}
		})
	}
	wg.Wait()
}

// check expects as many ends as conversations, work until the end, and no second run of a request.
func (s *stress) check(t *testing.T, stops int) {
	for i := range s.ends {
		good, others := s.ends[i][0].Load(), s.ends[i][1].Load()
		t.Logf("conversation %d of the callers: %d good ends, %d others", i, good, others)
		if good+others != int64(s.callers) || good < int64(s.callers)/20 || others == 0 {
			t.Errorf("of %d conversations, %d had good ends and %d others", s.callers, good, others)
		}
	}
	t.Logf("%d runs of tasks, %d stops of agents, %+v", s.performed.Load(), stops, s.Counts())
	if stops == 0 { // their number depends on the seed
		t.Error("no agent was stopped")
	}
	for id, n := range s.runs {
		if n > 1 {
			t.Errorf("the task of request %s ran %d times", id, n)
		}
	}
	for _, text := range s.overspent {
		t.Error(text)
	}
}

// disturb stops agents until all callers have returned. It spawns these and those that failed too
// often, so that there is somebody to work. It returns the number of stops.
func (s *stress) disturb() (stops int) {
	for !s.done.Load() {
		time.Sleep(s.moment())
		if err := s.StopAgent(context.Background(), s.someone()); err != nil {
			s.T.Error(err)
		}
		stops++
		time.Sleep(s.moment() / 20)
		s.respawn()
	}
	return stops
}

// respawn spawns all agents that are not there.
func (s *stress) respawn() {
	for i := range stressAgents {
		id := p.AgentID(fmt.Sprint("Jules ", i))
		_, err := s.Spawn(context.Background(), actors.Spec{ID: id, New: func() actors.Agent { return s.worker() }})
		if err != nil && !errors.Is(err, actors.ErrExists) {
			s.T.Error(err)
		}
	}
}

// countBeginnings counts from now on how often each conversation begins for the
// side that answers.
func countBeginnings(w *kit.World) func(p.ConversationID) int {
	steps := kit.Recording(&w.Events, lifecycle.KindTransition)
	n := map[p.ConversationID]int{}
	return func(id p.ConversationID) int {
		for _, e := range kit.Published[lifecycle.Transition](w.T, steps) {
			if e.Role == machine.Responder && e.From == machine.Idle {
				n[e.Conversation]++
			}
		}
		return n[id]
	}
}

// wantLawful expects everyone to have kept to the tables, save where a further round
// reached an agent that had restarted and took it for a new task.
func wantLawful(w *kit.World, violated *events.Subscription, begun func(p.ConversationID) int) {
	w.T.Helper()
	if err := w.Monitor.Stop(w.T.Context()); err != nil {
		w.T.Fatal(err)
	}
	for _, v := range kit.Published[lifecycle.Violation](w.T, violated) {
		if begun(v.Conversation) < 2 {
			w.T.Errorf("%s to %s in %s: %v", v.Sender, v.Receiver, v.Conversation, v)
		}
	}
	w.T.Logf("watched: %+v", w.Monitor.Counts())
}

// roll makes one delegation of some kind and returns its end.
func (s *stress) roll() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch s.upTo(6) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, s.moment())
		defer cancel()
	case 1:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.upTo(1000))*time.Microsecond)
		defer cancel()
	}
	to := s.someone()
	opts := []codons.Option{codons.WithRetry(codons.Retry{First: 30 * time.Millisecond}), codons.WithGrace(s.moment())}
	if s.upTo(2) == 0 {
		opts = append(opts, delegation.WithInput(func(context.Context, p.InformResult) (p.TaskRequest, bool) { return kit.Task(), s.upTo(3) > 0 }))
	}
	lease := codons.Budget{codons.Tokens: int64(1 + s.upTo(100))}
	if s.upTo(2) == 0 {
		lease = nil
	} else {
		opts = append(opts, codons.WithBudget(lease))
	}
	del, err := delegation.Start(ctx, s.Eddy, to, kit.Task(), opts...)
	if err != nil {
		return err
	}
	switch s.upTo(8) {
	case 0:
		cancel()
	case 1:
		time.AfterFunc(s.moment(), del.Cancel)
	case 2:
		if self, ok := s.Lookup(to); ok {
			_ = self.Later(func(actors.Agent) {
				if s.upTo(4) == 0 {
					panic("in between")
				}
			})
		}
	}
	r, err := del.Wait()
	final := err == nil && r.Status != p.StatusPartial // a partial one may come before a round that has overspent: TestFurtherRoundOverspends
	if spent := del.Spent()[codons.Tokens]; final && lease != nil && spent > lease[codons.Tokens] {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.overspent = append(s.overspent, fmt.Sprintf("%s succeeded with %d of %d tokens", del.Conversation(), spent, lease[codons.Tokens]))
	}
	return err
}

// wantRoom expects an agent to have all its places: as many tasks as it may have
// are considered, so that none is rejected as busy.
func wantRoom(w *kit.World, id p.AgentID, places int) {
	w.T.Helper()
	var all []*delegation.Delegated
	for range places {
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
