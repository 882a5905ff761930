package mesh

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// watchIdle takes an agent out of memory once it is quiet.
func (p *placer) watchIdle(a *activation, self actors.Self) {
	if a.kind.Idle < 0 || a.kind.Singleton {
		return
	}
	self.After(a.kind.Idle, func(actors.Agent) {
		_ = self.Quiet(func(quiet bool) { // the only error that matters is that the agent has stopped
			if !quiet {
				p.watchIdle(a, self)
				return
			}
			p.node.System.Work(func() { p.passivate(a, self) })
		})
	})
}

// leave waits until an agent has started, and until an earlier attempt of it to leave has ended.
// Then it marks the agent as leaving. It reports false if the agent has gone, or ctx ends before.
func (p *placer) leave(ctx context.Context, a *activation) (begun bool) {
	for !begun && ctx.Err() == nil {
		p.mu.Lock()
		busy, gone := a.busy, p.active[a.Agent.Fold()] != a
		if begun = busy == nil && !gone; begun {
			a.busy, a.leaving = make(chan struct{}), true
		}
		p.mu.Unlock()
		switch {
		case gone:
			return false
		case begun:
			p.node.Events.AgentMoving(a.Agent)
		default:
			await(ctx, p.node.System, busy)
		}
	}
	return begun
}

// retire stops an agent that leaves, unless it has left memory: by [actors.System.Retire], or as
// long as it is quiet.
func (p *placer) retire(
	ctx context.Context, a *activation, stop func(context.Context, performatives.AgentID) (*actors.Reservation, []byte, error),
) (retired, error) {
	p.mu.Lock()
	out := a.passive
	a.passive = nil
	p.mu.Unlock()
	if out != nil {
		return *out, nil
	}
	v, state, err := stop(ctx, a.Agent)
	if err != nil && !errors.Is(err, actors.ErrNotQuiet) { // it has stopped by itself
		p.ended(a)
	}
	return retired{v, state, true}, err
}

// ended forgets an agent that leaves and has stopped: it is not anywhere, or at another node.
func (p *placer) ended(a *activation) {
	p.node.Relay.AgentStopped(a.Agent)
	p.remove(a)
}

// passivate takes an agent out of memory, unless it has something to do by now.
func (p *placer) passivate(a *activation, self actors.Self) {
	if p.leaves(a.Agent) || !p.leave(p.ctx, a) {
		return // what moves it watches it again
	}
	r, err := p.retire(p.ctx, a, p.node.System.RetireQuiet)
	switch {
	case errors.Is(err, actors.ErrNotQuiet):
		p.free(a)
		p.node.cluster.agentChanged(a.Agent) // another node may have begun the next run meanwhile
		p.watchIdle(a, self)
	case err != nil:
	case !r.ran: // it has left memory meanwhile
		p.keep(a, r)
	case r.state != nil, r.Len() > 0: // or messages have come meanwhile: they stay in their order
		p.node.Events.AgentPassivated(a.Agent) // before it begins again
		r.ran = false
		p.keep(a, r)
	default:
		p.node.Events.AgentPassivated(a.Agent)
		r.Release(p.node.Route)
		p.remove(a)
	}
}

// keep keeps an agent that has left memory, with its state, until its next message.
func (p *placer) keep(a *activation, r retired) {
	p.mu.Lock()
	a.passive = &r
	a.freeLocked()
	p.mu.Unlock()
	p.node.cluster.agentChanged(a.Agent)
	r.OnMessage(func() { p.node.System.Work(func() { p.wake(a) }) })
}

// wake starts a passive agent, unless it leaves, or starts already.
func (p *placer) wake(a *activation) {
	p.mu.Lock()
	r := a.passive
	wakes := r != nil && a.busy == nil
	if wakes {
		a.busy = make(chan struct{})
	}
	p.mu.Unlock()
	if wakes {
		p.again(a, *r)
	}
}

// again begins the next run of an agent on this node, which is busy with that.
func (p *placer) again(a *activation, r retired) {
	p.mu.Lock()
	a.Since, a.passive, a.leaving = numberAfter(a.Since), nil, false
	p.mu.Unlock()
	p.start(a, r)
}

// move hands an agent over to the node that is to run it. Once the agent can leave, its
// conversations may go on for as long as its kind says, or for the time that the drain has for
// them. If the next node is this one by then, it starts the agent again. The error is nil if the
// agent has gone.
func (p *placer) move(a *activation) error {
	if !p.leave(p.offers, a) {
		return context.Cause(p.offers)
	}
	talk, cancel := context.WithTimeout(p.moves, a.kind.MoveTime)
	defer cancel()
	if p.draining.Load() {
		talk = p.moves
	}
	r, err := p.retire(talk, a, p.node.System.Retire)
	if err != nil {
		return err
	}
	to, err := p.offerInTurn(a, r)
	switch {
	case to != nil:
		waiting := r.Len()
		p.node.cluster.handOver(a.Agent, to.peer)
		p.release(a, r, to)
		p.remove(a) // later than the entry: see [route.View].Run
		p.node.Events.AgentMoved(a.Agent, to.peer.Name, waiting)
	case err != nil:
		p.node.System.Logger().Error("an agent was not handed over, and its state is lost", "agent", a.Agent, "state", len(r.state), "err", err)
		r.Release(func(m *performatives.Message) error { return m.Refused(performatives.CodeStopped, err.Error()) })
		p.ended(a)
	case r.ran:
		p.again(a, r)
	default:
		p.keep(a, r)
	}
	return err
}

// offerInTurn is offerAround when few other agents are being offered, until there are to be no more
// offers.
func (p *placer) offerInTurn(a *activation, r retired) (*nodeLink, error) {
	if await(p.offers, p.node.System, p.room); p.offers.Err() != nil {
		return nil, context.Cause(p.offers)
	}
	defer func() { p.room <- struct{}{} }()
	return p.offerAround(p.offers, a, r)
}

// release gives back the id of an agent that runs on another node, to which its messages and
// records go.
func (p *placer) release(a *activation, r retired, to *nodeLink) {
	p.node.Relay.Moved(a.Agent, nil, to.Link)
	r.Release(func(m *performatives.Message) error {
		err := to.Send(m.Forward())
		if err != nil && to.Ended() && p.reroute(m, func(error) { p.node.System.RefuseCopy(m.Receiver(), m, wire.AsRefusal(err)) }) {
			return nil
		}
		return err
	})
	p.node.Relay.Moved(a.Agent, nil, to.Link) // those of messages that have come in between
}

// yield stops an agent that runs on another node, too, and began later here.
func (p *placer) yield(id performatives.AgentID, to *nodeLink) {
	p.mu.Lock()
	a := p.active[id.Fold()]
	p.mu.Unlock()
	if a == nil || !p.leave(p.ctx, a) {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, yieldTime)
	defer cancel()
	if r, err := p.retire(ctx, a, p.node.System.Retire); err == nil {
		p.node.System.Logger().Warn("an activation stops, and its state is lost: another node has activated the agent before",
			"agent", id, "peer", to.peer.Name, "state", len(r.state))
		p.release(a, r, to)
		p.ended(a)
	}
}

// handOverAll hands over all agents, and hosts none any more.
func (p *placer) handOverAll() (failed int) {
	p.drain()
	all, _ := p.placed()
	stayed := make(chan bool)
	for _, a := range all {
		p.node.System.Work(func() { stayed <- p.move(a) != nil })
	}
	turn := p.node.System.Turn()
	for range all {
		if <-stayed {
			failed++
		}
	}
	turn()
	return failed
}

// HandOver is that of package runtime.
func (n *Mesh) HandOver(ctx context.Context) error {
	if n.leaving.Swap(true) {
		if await(ctx, n.System, n.handedOver); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return n.handOverErr
	}
	defer close(n.handedOver)
	talk, cancel := timeBefore(ctx, 1)
	defer cancel()
	defer context.AfterFunc(talk, n.placer.hurry)()
	offers, cancelOffers := timeBefore(ctx, 2)
	defer cancelOffers()
	defer context.AfterFunc(offers, n.placer.stopOffers)()
	if members := n.cluster.members; members != nil {
		if err := members.Update(members.Self().Labels, true); err != nil {
			n.System.Logger().Debug("the other nodes were not told that this one is leaving", "err", err)
		}
	}
	failed := n.placer.handOverAll()
	n.cluster.farewell(offers)
	if failed > 0 {
		n.handOverErr = fmt.Errorf("runtime: %d agents were not handed over: no other node hosts their kinds, or has taken them in time", failed)
	}
	return n.handOverErr
}
