package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// sides is how often each side of each conversation has begun and ended.
type sides struct {
	mu           sync.Mutex
	begun, ended map[string]int
}

func (s *sides) heard(ev actors.Event) {
	e := ev.(codons.Transition)
	key := fmt.Sprint(e.Conversation, " of ", e.Agent, ", ", e.Role)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[key]++
	switch over := slices.Contains(codons.DelegationTable().Terminal, e.From); {
	case over && e.From != e.To: // else it answers what comes late
		s.ended[key] += 100
	case !over && e.Ended:
		s.ended[key]++
	}
}

func (s *sides) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.begun {
		if n := s.ended[key]; n != 1 {
			t.Errorf("%s ended %d times", key, n)
		}
	}
}

// newWhimsical is a worker of all kinds.
func newWhimsical() actors.Agent {
	return worker{func(ctx context.Context, t codons.Task) (performatives.InformResult, error) {
		switch t.Description {
		case "report":
			_ = t.Progress(50, "half")
		case "ask":
			if len(t.Previous) == 0 {
				return performatives.InformResult{Status: performatives.StatusPartial, Details: performatives.ContentOf(map[string]string{"request_for_user": "which?"})}, nil
			}
		case "fail":
			return performatives.InformResult{}, errors.New("as the test wants it")
		case "wait":
			<-ctx.Done()
			return performatives.InformResult{}, ctx.Err()
		}
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, nil
	}}
}

// Whatever becomes of the connection between two nodes, each delegation between them ends
// once on each side, in a state of its table.
func TestDelegationsInAGale(t *testing.T) { eachSeed(t, 2, delegateInAGale) }

func delegateInAGale(t *testing.T, seed uint64) {
	const askers, each = 4, 15
	h := newHub(t, noPeerOptions)
	h.spawn("near", newWhimsical)
	o := connected(t, h, "out", crew{"far": newWhimsical})
	s := &sides{begun: make(map[string]int), ended: make(map[string]int)}
	for _, n := range []*runtime.Node{h.Node, o.Node} {
		t.Cleanup(n.Events().Listen(s.heard, actors.About[codons.Transition]()))
	}
	ticks, over := make(chan struct{}, 8), make(chan struct{})
	var asking, shaking sync.WaitGroup
	for i := range askers {
		party, to := codons.Party(h.Node), performatives.AgentID("far")
		if i%2 > 0 {
			party, to = o.Node, "near"
		}
		asking.Go(func() { delegateAll(t, rand.New(rand.NewPCG(seed, uint64(i))), party, to, each, ticks) })
	}
	shaking.Go(func() {
		shakeUplink(t, rand.New(rand.NewPCG(seed, askers)), h, o, []performatives.AgentID{"far", "out"}, ticks, over)
	})
	asking.Wait()
	close(over)
	shaking.Wait()
	for _, stop := range []func(context.Context) error{o.Node.Stop, h.Node.Stop} {
		if err := stop(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	s.check(t)
}

// delegateAll delegates one task after the other, some of them at once.
func delegateAll(t *testing.T, rng *rand.Rand, party codons.Party, to performatives.AgentID, n int, ticks chan<- struct{}) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for range n {
		ticks <- struct{}{}
		kind := []string{"do", "report", "ask", "fail", "wait"}[rng.IntN(5)]
		cancel := kind == "wait" || rng.IntN(4) == 0
		d, err := codons.StartDelegation(within(t), party, to, performatives.TaskRequest{TaskType: "debug_code", Description: kind},
			codons.WithInput(func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
				return performatives.TaskRequest{TaskType: "debug_code", Description: "ask"}, true
			}))
		if err != nil {
			if code(err) == "" {
				t.Errorf("%s: %v", kind, err)
			}
			continue
		}
		waiting.Go(func() {
			if cancel {
				d.Cancel()
			}
			_, err := d.Wait()
			var end *codons.EndError
			switch {
			case err != nil && !errors.As(err, &end):
				t.Errorf("%s: %v", kind, err)
			case errors.Is(err, context.DeadlineExceeded), errors.Is(err, performatives.CodeTimeout):
				t.Errorf("%s waited in vain: %v", kind, err)
			}
		})
		if rng.IntN(2) == 0 {
			waiting.Wait()
		}
	}
}

// Whatever becomes of the connection between two nodes, each question has one end,
// whichever side asks.
func TestUplinkInAGale(t *testing.T) { eachSeed(t, 2, uplinkInAGale) }

func uplinkInAGale(t *testing.T, seed uint64) {
	h := newHub(t, noPeerOptions)
	o := newOutpost(t, h, "out")
	asked, posed := newFates(), newFates()
	near, far := newHesitant(seed), newHesitant(seed+1)
	spawnBig(t, h.Node, "asker", asked.hear)
	spawnBig(t, h.Node, "near", near.work)
	spawnBig(t, o.Node, "poser", posed.hear)
	spawnBig(t, o.Node, "far", far.work)
	if err := o.up.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	h.visible("far")
	ticks, over := make(chan struct{}, 24), make(chan struct{})
	var asking, shaking sync.WaitGroup
	for i := range 2 {
		asking.Go(func() { askAll(t, h.Node, "asker", "far", i, asked, ticks) })
		asking.Go(func() { askAll(t, o.Node, "poser", "near", i, posed, ticks) })
	}
	shaking.Go(func() {
		shakeUplink(t, rand.New(rand.NewPCG(seed, 2)), h, o, []performatives.AgentID{"far", "poser"}, ticks, over)
	})
	asking.Wait()
	close(over)
	shaking.Wait()
	if seed%2 == 0 { // else the end of the connection ends what is open
		near.release(t, h.Node, "near")
		far.release(t, o.Node, "far")
	} else if err := o.up.Stop(within(t)); err != nil {
		t.Error(err)
	}
	asked.settled(t, "the hub's asker")
	posed.settled(t, "the other")
	for _, stop := range []func(context.Context) error{o.Node.Stop, h.Node.Stop} {
		if err := stop(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	asked.check(t, "the hub's asker")
	posed.check(t, "the other")
}

// shakeUplink has things happen to the connection.
func shakeUplink(t *testing.T, rng *rand.Rand, h *hub, o *outpost, agents []performatives.AgentID, ticks <-chan struct{}, over <-chan struct{}) {
	for {
		for range 4 {
			select {
			case <-over:
				return
			case <-ticks:
			}
		}
		switch rng.IntN(3) {
		case 0:
			o.disconnect()
			if err := o.up.Connect(within(t)); err != nil {
				t.Error(err)
				return
			}
		case 1:
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			for _, s := range h.server.Sessions() {
				_ = s.Stop(ctx) // its end is what is wanted
			}
			cancel()
			o.disconnect() // its end of it
			if err := o.up.Connect(within(t)); err != nil {
				t.Error(err)
				return
			}
		case 2:
			if err := h.StopAgent(within(t), agents[rng.IntN(len(agents))]); err != nil {
				t.Error(err)
			}
			for a := range o.System().Agents() {
				a.Announce(a.Describe()) // it is back
			}
		}
	}
}
