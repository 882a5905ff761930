package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
)

type nodeLinksOptions = nodelink.LinksOptions

// clusterRaw is one activation of an agent without a codon.
type clusterRaw struct {
	swarm *clusterSwarm
	node  *clusterNode
	name  string
	seen  map[p.MessageID]bool
	last  map[clusterOrder]int // the serials of the latest notices
}

// clusterWorker is one activation of an agent that performs tasks.
type clusterWorker struct{ *clusterRaw }

// newAgent returns an activation. The last agent of each node has no codon.
func (s *clusterSwarm) newAgent(c *clusterNode, id p.AgentID) actors.Agent {
	s.mu.Lock()
	s.runs++
	raw := &clusterRaw{
		swarm: s, node: c, name: fmt.Sprintf("%s.%d", id, s.runs), seen: make(map[p.MessageID]bool), last: make(map[clusterOrder]int),
	}
	s.mu.Unlock()
	if id[len(id)-1] == '0'+clusterAgents-1 {
		return raw
	}
	return clusterWorker{raw}
}

// Describe returns capabilities that differ by node and activation.
func (a *clusterRaw) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"simulation", a.name}, Actions: []p.Action{{Name: "simulate"}}}
}

// once reports a message that the activation has had before.
func (a *clusterRaw) once(m *p.Message) {
	a.swarm.mu.Lock()
	before := a.seen[m.ID()]
	a.seen[m.ID()] = true
	a.swarm.mu.Unlock()
	if before {
		a.swarm.problem("%s has %s of %s twice", a.name, m.ID(), m.Sender())
	}
}

// clusterNotice is the payload of a message without a reply.
type clusterNotice struct {
	Serial int `json:"serial"` // grows with the time at which it was sent
}

// clusterOrder identifies what is delivered in order.
type clusterOrder struct {
	from p.AgentID
	band int
}

// inOrder checks that the messages of one sender come in the order in which they were sent, in each
// band.
func (a *clusterRaw) inOrder(m *p.Message) {
	n, err := p.PayloadAs[clusterNotice](m)
	if err != nil {
		a.swarm.problem("%v", err)
	}
	if placement.KindOf(m.Receiver()) == clusterKind {
		return // what an earlier activation is passed on may come later
	}
	of := clusterOrder{m.Sender().Fold(), m.Priority().Band()}
	if n.Serial <= a.last[of] {
		a.swarm.problem("%s has %s of %s after one that was sent later in its band", a.name, m.ID(), m.Sender())
	}
	a.last[of] = n.Serial
}

// Receive answers what is asked.
func (a *clusterRaw) Receive(x *actors.Context, m *p.Message) {
	a.swarm.handled(m)
	if m.Protocol() == simSmallTalk {
		a.once(m)
		a.inOrder(m)
		return
	}
	if m.Performative() == p.ActRequest {
		a.once(m)
		_ = x.ReplyAs(m, p.ActInform, p.Raw(`{}`)) // it has been dead-lettered
	}
}

// ConsiderTask accepts most tasks.
func (a clusterWorker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	if a.swarm.dice.oneIn(20) {
		return delegation.Reject(p.CodeIncapable, "not me")
	}
	return delegation.Accept()
}

// PerformTask works for a while.
func (a clusterWorker) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	a.swarm.count("a job")
	a.once(t.Message)
	a.swarm.note("%s begins %s of %s", a.name, t.Message.ID(), t.Message.Sender())
	for range a.swarm.dice.n(4) {
		select {
		case <-time.After(a.swarm.dice.upTo(2 * time.Second)):
		case <-ctx.Done():
		}
		a.node.sim.Yield("job " + a.name + " " + string(t.Message.ID()))
		if ctx.Err() != nil {
			return p.InformResult{}, context.Cause(ctx)
		}
		_ = t.Progress(50, "going on") // the conversation may have ended
		a.node.sim.Yield("job " + a.name + " " + string(t.Message.ID()))
	}
	return success, nil
}
