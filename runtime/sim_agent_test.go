package runtime_test

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	requests "github.com/ribosome-agents/ribosome/codons/request"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// simAgent is an agent of the simulated swarm.
type simAgent struct {
	swarm  *simSwarm
	id     p.AgentID
	worked int
}

// newSimAgent returns an agent. Every second one has Start and Stop hooks.
func newSimAgent(s *simSwarm, id p.AgentID) actors.Agent {
	c := &simAgent{swarm: s, id: id}
	if id[len(id)-1]%2 == 0 {
		return &simStarter{c}
	}
	return c
}

// Describe returns the capabilities common to all agents.
func (c *simAgent) Describe() p.Capabilities {
	return p.Capabilities{
		Topics:  []string{"Simulation", string(c.id)},
		Actions: []p.Action{{Name: "SIMULATE", Description: "does something"}},
	}
}

// MaxTasks is low, so that some tasks are refused as busy.
func (c *simAgent) MaxTasks() int { return 2 }

// ConsiderTask returns a random decision.
func (c *simAgent) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	d := pick(c.swarm.dice, decisions)
	c.swarm.deeds.count(d.name)
	return d.do()
}

// PerformTask runs a random option of works.
func (c *simAgent) PerformTask(ctx context.Context, t delegation.Task) (p.InformResult, error) {
	w := pick(c.swarm.dice, works)
	c.swarm.deeds.count(w.name)
	return w.do(&job{c.swarm, ctx, t, "job " + string(c.id) + " " + string(t.Message.ID())})
}

// HandleRequest runs a random option of services.
func (c *simAgent) HandleRequest(ctx context.Context, r requests.Requested) (any, error) {
	s := pick(c.swarm.dice, services)
	c.swarm.deeds.count(s.name)
	return s.do(&service{c.swarm, ctx, r, "service " + string(c.id) + " " + string(r.Message.ID())})
}

// Receive replies to messages without a codon.
func (c *simAgent) Receive(x *actors.Context, m *p.Message) {
	c.swarm.handled(m)
	if m.Performative().ExpectsReply() && m.Protocol() == simSmallTalk { // another one is late, for an agent that has come back
		_ = x.ReplyAs(m, p.ActInform, p.Raw(`{}`)) // it has been dead-lettered
	}
}

func (c *simAgent) work() { c.worked++ }

// simStarter is a simAgent with hooks.
type simStarter struct{ *simAgent }

// Start sends a message, and fails at random.
func (s *simStarter) Start(c *actors.Context) error {
	if s.swarm.dice.oneIn(20) {
		return errors.New("starting")
	}
	x := simErrand{simSwarm: s.swarm, self: c.Self}
	_ = c.Send(x.message(s.swarm.randomAgent(), p.ActInform)) // it has been dead-lettered
	return nil
}

// Stop sends a message.
func (s *simStarter) Stop(c *actors.Context) {
	x := simErrand{simSwarm: s.swarm, self: c.Self}
	_ = c.Send(x.message(s.swarm.randomAgent(), p.ActInform)) // it has been dead-lettered
}
