package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// maxForwards is how many nodes pass a message on whose receiver is not there any more.
const maxForwards = 3

// note is what nodes tell each other about placement. Of an agent that is handed over, it comes before the messages that have waited.
type note struct {
	Agent      performatives.AgentID `json:"agent"`
	Activation uint64                `json:"activation"` // of the run that has ended
	State      []byte                `json:"state,omitempty"`
	Runs       bool                  `json:"runs,omitempty"`     // it was in memory
	Forwards   int                   `json:"forwards,omitempty"` // how many nodes have passed it on that did not host it

	Leaves bool `json:"leaves,omitempty"` // the node leaves, and State is its part of the directory
	Heard  bool `json:"heard,omitempty"`  // the answer to that: all messages that were on the way have passed
}

// placementProtocol is the protocol of the message with a note.
const placementProtocol = "ribosome-placement"

// watchIdle takes an agent out of memory once it is quiet.
func (p *placer) watchIdle(a *activation, self actors.Self) {
	if a.kind.Idle < 0 || a.kind.Singleton {
		return
	}
	p.node.system.AfterFunc(a.kind.Idle, func() {
		_ = self.Quiet(func(quiet bool) { // the only error that matters is that the agent has stopped
			if !quiet {
				p.watchIdle(a, self)
				return
			}
			p.node.system.Work(func() { p.passivate(a) })
		})
	})
}

// leave marks an agent as moving, and waits until it has started. It reports false when it moves already.
func (p *placer) leave(a *activation) (begun bool) {
	p.mu.Lock()
	if a.moving || p.active[a.id.Fold()] != a {
		p.mu.Unlock()
		return false
	}
	a.moving = true
	starting := a.starting
	p.mu.Unlock()
	<-starting
	publish(p.node, AgentMoving{at(), a.id})
	return true
}

// retire stops an agent that leaves, and returns its id as reserved, and its state.
func (p *placer) retire(ctx context.Context, a *activation) (v *actors.Reservation, state []byte, ran bool, err error) {
	p.mu.Lock()
	out := a.passive
	a.passive = nil
	p.mu.Unlock()
	if out != nil {
		return out.reservation, out.state, false, nil
	}
	v, state, err = p.node.system.Retire(ctx, a.id)
	if err != nil {
		p.remove(a)
	}
	return v, state, true, err
}

// passivate takes an agent out of memory.
func (p *placer) passivate(a *activation) {
	if !p.leave(a) {
		return
	}
	v, state, _, err := p.retire(context.Background(), a) //nolint:forbidigo // no conversation is open
	switch {
	case err != nil: // it has stopped by itself
	case state != nil:
		p.keep(a, v, state)
		publish(p.node, AgentPassivated{at(), a.id})
	case v.Len() > 0: // messages have come meanwhile
		p.again(a, v, nil)
	default:
		p.remove(a)
		v.Release(router{p.node}.Route)
		publish(p.node, AgentPassivated{at(), a.id})
	}
}

// keep keeps the state of an agent until its next message.
func (p *placer) keep(a *activation, v *actors.Reservation, state []byte) {
	p.mu.Lock()
	a.passive, a.moving = &passive{v, state}, false
	p.mu.Unlock()
	p.node.cluster.Load().agentChanged(a.id)
	v.OnMessage(func() { p.node.system.Work(func() { p.wake(a) }) })
}

// wake starts a passive agent, unless it moves.
func (p *placer) wake(a *activation) {
	p.mu.Lock()
	out := a.passive
	if out == nil || a.moving {
		p.mu.Unlock()
		return
	}
	a.passive, a.starting = nil, make(chan struct{})
	p.mu.Unlock()
	p.start(a, out.reservation, out.state)
}

// again starts an agent that was about to leave.
func (p *placer) again(a *activation, v *actors.Reservation, state []byte) {
	p.mu.Lock()
	a.moving, a.starting = false, make(chan struct{})
	p.mu.Unlock()
	p.start(a, v, state)
}

// move hands an agent over to the node that is to run it.
func (p *placer) move(a *activation) {
	ctx, cancel := context.WithTimeout(context.Background(), a.kind.MoveTime) //nolint:forbidigo // of the kind
	defer cancel()
	if err := p.handOver(ctx, a); err != nil {
		p.node.system.Logger().Warn("an agent was not handed over", "agent", a.id, "err", err)
	}
}

// handOver stops an agent, whose conversations may go on until ctx ends, and hands it over to the node that is to run it. If that is this
// one by then, it starts it again.
func (p *placer) handOver(ctx context.Context, a *activation) error {
	if !p.leave(a) {
		return nil
	}
	v, state, ran, err := p.retire(ctx, a)
	if err != nil {
		return err
	}
	to, _ := p.pick(a.id)
	waiting := v.Len()
	switch {
	case to.here:
	case to.link == nil:
		err = fmt.Errorf("no other node hosts the kind %s", a.kind.name)
	default:
		err = p.tell(to.link, note{Agent: a.id, Activation: a.number, State: state, Runs: ran})
	}
	switch drains := p.drains(); {
	case drains && err != nil:
		p.remove(a)
		v.Release(func(m *performatives.Message) error { return refusedCopy(m, performatives.CodeStopped, err.Error()) })
		return err
	case (err != nil || to.here) && ran:
		p.again(a, v, state)
		return err
	case err != nil || to.here:
		p.keep(a, v, state)
		return err
	}
	p.remove(a)
	p.node.records.handedOver(a.id, to.link.link)
	p.node.cluster.Load().handOver(a.id, to.link.peer)
	v.Release(func(m *performatives.Message) error { return to.link.Send(m.Forward()) })
	publish(p.node, AgentMoved{at(), a.id, to.link.peer.Name, waiting})
	return nil
}

func (p *placer) drains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draining
}

// tell sends a note. One about an agent passes all messages, and any other comes behind all.
func (p *placer) tell(l *nodeLink, h note) error {
	priority := performatives.Urgent
	if h.Agent == "" {
		priority = performatives.Low
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	stamp := p.node.system.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Sender: p.node.self.ID(), Receiver: performatives.AgentID(l.peer.Name),
		Protocol: placementProtocol, Priority: priority, Payload: performatives.Raw(text),
	})
	if err != nil {
		return err
	}
	return l.Send(m)
}

// told takes in a note of another node.
func (p *placer) told(l *nodeLink, m *performatives.Message) {
	log := p.node.system.Logger().With("peer", l.peer.Name)
	h, err := performatives.PayloadAs[note](m)
	if err != nil {
		log.Warn("a note about the placement was not understood", "err", err)
		return
	}
	switch {
	case h.Leaves:
		p.node.cluster.Load().leaves(h.State)
		_ = p.tell(l, note{Heard: true}) // an error means that the node has gone
	case h.Heard:
		p.node.cluster.Load().heardFarewell(l.peer)
	default:
		p.takeOver(l, h)
	}
}

// takeOver takes over an agent from another node.
func (p *placer) takeOver(l *nodeLink, h note) {
	log := p.node.system.Logger().With("peer", l.peer.Name)
	p.node.cluster.Load().released(h.Agent, l.peer, h.Activation)
	at, placed := p.pick(h.Agent)
	if !placed || at.kind == nil || !p.hosts(at.kind) {
		p.passOn(h, at.link)
		return
	}
	v, a, err := p.reserve(at.kind, h.Agent, h.Activation)
	switch {
	case err != nil:
		log.Warn("an agent that was handed over runs already, and its state is lost", "agent", h.Agent, "state", len(h.State), "err", err)
	case h.Runs:
		p.start(a, v, h.State)
	default:
		close(a.starting)
		p.keep(a, v, h.State)
	}
}

// passOn hands an agent on that was handed over to a node which does not host its kind any more.
func (p *placer) passOn(h note, to *nodeLink) {
	h.Forwards++
	err := errors.New("no other node hosts the kind")
	if to != nil && h.Forwards <= maxForwards {
		err = p.tell(to, h)
	}
	if err != nil {
		p.node.system.Logger().Error("an agent that was handed over was not passed on", "agent", h.Agent, "state", len(h.State), "err", err)
	}
}

// hosts reports whether the node hosts a kind.
func (p *placer) hosts(k *kind) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return k.hosts && !p.draining
}

// yield stops an agent that runs on another node, too, and began later here.
func (p *placer) yield(id performatives.AgentID, to *nodeLink) {
	p.mu.Lock()
	a := p.active[id.Fold()]
	p.mu.Unlock()
	if a == nil || !p.leave(a) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), yieldTime) //nolint:forbidigo // it ends here
	defer cancel()
	v, _, _, err := p.retire(ctx, a)
	if err != nil {
		return
	}
	p.remove(a)
	p.node.records.handedOver(a.id, to.link)
	v.Release(func(m *performatives.Message) error { return to.Send(m.Forward()) })
}

// yieldTime is how long the conversations of an agent go on that another node runs, too.
const yieldTime = time.Second

// movers is how many agents are handed over at once when the node drains.
const movers = 64

// drain hands over all agents. Their conversations may go on until ctx ends.
func (p *placer) drain(ctx context.Context) (failed int) {
	p.mu.Lock()
	p.draining = true
	var all []*activation
	for _, a := range p.active {
		all = append(all, a)
	}
	var names []string
	for name, k := range p.kinds {
		if k.hosts {
			names = append(names, name)
		}
	}
	p.mu.Unlock()
	for _, name := range names {
		p.node.cluster.Load().hosting(name, false)
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	room := make(chan struct{}, movers)
	for _, a := range all {
		room <- struct{}{}
		wait.Go(func() {
			defer func() { <-room }()
			if err := p.handOver(ctx, a); err != nil {
				p.node.system.Logger().Warn("an agent was not handed over", "agent", a.id, "err", err)
				mu.Lock()
				failed++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return failed
}

// Drain hands over the agents of kinds to other nodes, and then stops the node as [Node.Stop] does. From now on the node activates no agent.
// The conversations of the agents may go on until half of ctx's time is left, at most three seconds; those that are left then fail with
// [performatives.CodeMoved]. The messages that wait, and those that still come, are passed on.
//
// The error is that of Stop, or says how many agents were not handed over, because no other node hosts their kind.
func (n *Node) Drain(ctx context.Context) error {
	move, cancel := drainTime(ctx)
	defer cancel()
	n.cluster.Load().leaving()
	failed := n.placer.drain(move)
	n.cluster.Load().farewell(move)
	err := n.Stop(ctx)
	if err == nil && failed > 0 {
		err = fmt.Errorf("runtime: %d agents were not handed over: their kinds are hosted by no other node", failed)
	}
	return err
}

// drainTime returns ctx without the time that is kept for the stop.
func drainTime(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/2, 3*time.Second)))
}
