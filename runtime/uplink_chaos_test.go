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
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// conversationEnds counts the beginnings and ends of each side of each conversation. An agent of the
// outpost has another name in each of its sessions, so that a CANCEL by the next session opens a
// side of its own.
type conversationEnds struct {
	steps        []*record // of each node
	begun, ended map[string]int
}

func (s *conversationEnds) observe(ev events.Event) {
	e := ev.(lifecycle.Transition)
	key := fmt.Sprint(e.Conversation, " of ", e.Agent, " with ", e.Peer, ", ", e.Role)
	s.begun[key]++
	switch over := slices.Contains(delegation.Table().Terminal, e.From); {
	case over && e.From != e.To: // a terminal state that stays the same handles a late message
		s.ended[key] += 100
	case s.ended[key] > 0 && e.From == machine.Idle && e.On == machine.Receive(performatives.ActCancel):
		// The CANCEL of an initiator whose deadline has passed came after the request's tombstone
		// had gone. It opens a side that ends at once and runs nothing.
	case !over && e.Ended:
		s.ended[key]++
	}
}

func (s *conversationEnds) check(t *testing.T) {
	t.Helper()
	for _, r := range s.steps {
		for _, ev := range r.all() {
			s.observe(ev)
		}
	}
	for key := range s.begun {
		if n := s.ended[key]; n != 1 {
			t.Errorf("%s ended %d times", key, n)
		}
	}
}

// newChaosWorker returns a worker whose behaviour is selected by the task's description.
func newChaosWorker() actors.Agent {
	return worker{func(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
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

// Each delegation between two nodes ends once on each side, in a terminal state of its
// table, however their connection ends.
func TestDelegationChaos(t *testing.T) { eachSeed(t, 2, runDelegationChaos) }

func runDelegationChaos(t *testing.T, seed uint64) {
	const askers, each = 4, 15
	h := newHub(t, noPeerOptions)
	h.spawn("near", newChaosWorker)
	o := connected(t, h, "out", crew{"far": newChaosWorker})
	s := &conversationEnds{begun: make(map[string]int), ended: make(map[string]int)}
	for _, n := range []*runtime.Node{h.Node, o.Node} {
		s.steps = append(s.steps, listen(t, n, lifecycle.KindTransition))
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
		disturbUplink(t, rand.New(rand.NewPCG(seed, askers)), h, o, func() {
			for a := range o.System().Agents() {
				a.Announce(a.Describe())
			}
		}, ticks, over)
	})
	asking.Wait()
	close(over)
	shaking.Wait()
	for _, stop := range []func(context.Context) error{o.Node.Stop, h.Node.Stop} {
		if err := stop(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	s.check(t)
}

// delegateAll delegates tasks, some of them concurrently.
func delegateAll(t *testing.T, rng *rand.Rand, party codons.Party, to performatives.AgentID, n int, ticks chan<- struct{}) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for range n {
		ticks <- struct{}{}
		kind := []string{"do", "report", "ask", "fail", "wait"}[rng.IntN(5)]
		cancel := kind == "wait" || rng.IntN(4) == 0
		d, err := delegation.Start(patience.Context(t), party, to, performatives.TaskRequest{TaskType: "debug_code", Description: kind},
			delegation.WithInput(func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
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

// Each request between two nodes gets one reply, in both directions, however their
// connection ends.
func TestUplinkChaos(t *testing.T) { eachSeed(t, 2, runUplinkChaos) }

func runUplinkChaos(t *testing.T, seed uint64) {
	h := newHub(t, noPeerOptions)
	o := newOutpost(t, h, "out")
	asked, posed := newReplyTracker(), newReplyTracker()
	near, far := newRandomResponder(seed), newRandomResponder(seed+1)
	spawnBig(t, h.Node, "asker", asked.receive)
	spawnBig(t, h.Node, "near", near.work)
	spawnBig(t, o.Node, "poser", posed.receive)
	spawnBig(t, o.Node, "far", far.work)
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("far")
	ticks, over := make(chan struct{}, 24), make(chan struct{})
	var asking, shaking sync.WaitGroup
	for i := range 2 {
		asking.Go(func() { askAll(t, h.Node, "asker", "far", i, asked, ticks) })
		asking.Go(func() { askAll(t, o.Node, "poser", "near", i, posed, ticks) })
	}
	shaking.Go(func() {
		disturbUplink(t, rand.New(rand.NewPCG(seed, 2)), h, o, func() {
			spawnAgain(t, o.Node, "far", always(scripted{receive: far.work, topics: []string{"x"}}), runtime.WithCapacity(1<<16))
		}, ticks, over)
	})
	asking.Wait()
	close(over)
	shaking.Wait()
	if seed%2 == 0 { // otherwise the end of the connection ends the pending requests
		near.release(t, h.Node, "near")
		far.release(t, o.Node, "far")
	} else if err := o.up.Stop(patience.Context(t)); err != nil {
		t.Error(err)
	}
	asked.awaitAll(t, "the hub's asker")
	posed.awaitAll(t, "the other")
	for _, stop := range []func(context.Context) error{o.Node.Stop, h.Node.Stop} {
		if err := stop(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
	}
	asked.check(t, "the hub's asker")
	posed.check(t, "the other")
}

// spawnAgain stops an agent and starts another under its id.
func spawnAgain(t *testing.T, n *runtime.Node, id performatives.AgentID, create func() actors.Agent, opts ...runtime.SpawnOption) {
	if err := errors.Join(n.StopAgent(patience.Context(t), id), n.Spawn(patience.Context(t), id, create, opts...)); err != nil {
		t.Error(err)
	}
}

// disturbUplink cuts and stops the connection and disturbs an agent at random.
func disturbUplink(t *testing.T, rng *rand.Rand, h *hub, o *outpost, disturb func(), ticks <-chan struct{}, over <-chan struct{}) {
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
			if err := o.up.Connect(patience.Context(t)); err != nil {
				t.Error(err)
				return
			}
		case 1:
			ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
			for _, s := range h.server.Sessions() {
				_ = s.Stop(ctx) // the session ends in any case
			}
			cancel()
			o.disconnect() // from the outpost's end
			if err := o.up.Connect(patience.Context(t)); err != nil {
				t.Error(err)
				return
			}
		case 2:
			disturb()
		}
	}
}
