package runtime_test

import (
	"context"
	"errors"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// citizen is an agent of the simulated swarm.
type citizen struct {
	swarm  *simSwarm
	id     p.AgentID
	worked int
}

// newCitizen makes an agent. Every other has something to do as it starts.
func newCitizen(s *simSwarm, id p.AgentID) actors.Agent {
	c := &citizen{swarm: s, id: id}
	if id[len(id)-1]%2 == 0 {
		return &starter{c}
	}
	return c
}

// Describe returns what is true of all citizens.
func (c *citizen) Describe() p.Capabilities {
	return p.Capabilities{
		Topics:  []string{"Simulation", string(c.id)},
		Actions: []p.Action{{Name: "SIMULATE", Description: "does something"}},
	}
}

// MaxTasks is so low that some tasks are rejected as busy.
func (c *citizen) MaxTasks() int { return 2 }

// ConsiderTask decides as the dice fall.
func (c *citizen) ConsiderTask(context.Context, codons.Task) codons.Decision {
	d := pick(c.swarm.dice, decisions)
	c.swarm.deeds.count(d.name)
	return d.do()
}

// PerformTask does something as the dice fall.
func (c *citizen) PerformTask(ctx context.Context, t codons.Task) (p.InformResult, error) {
	w := pick(c.swarm.dice, works)
	c.swarm.deeds.count(w.name)
	return w.do(&job{c.swarm, ctx, t, "job " + string(c.id) + " " + string(t.Message.ID())})
}

// HandleRequest does something as the dice fall.
func (c *citizen) HandleRequest(ctx context.Context, r codons.Requested) (any, error) {
	s := pick(c.swarm.dice, services)
	c.swarm.deeds.count(s.name)
	return s.do(&service{c.swarm, ctx, r, "service " + string(c.id) + " " + string(r.Message.ID())})
}

// Receive answers what belongs to no codon.
func (c *citizen) Receive(x *actors.Context, m *p.Message) {
	c.swarm.handled(m)
	if m.Performative().ExpectsReply() {
		_ = x.ReplyAs(m, p.ActInform, p.Raw(`{}`)) // it has been dead-lettered
	}
}

func (c *citizen) work() { c.worked++ }

// starter is a citizen with hooks.
type starter struct{ *citizen }

// Start tells someone, and fails now and then.
func (s *starter) Start(c *actors.Context) error {
	if s.swarm.dice.oneIn(20) {
		return errors.New("starting")
	}
	x := errand{simSwarm: s.swarm, self: c.Self}
	_ = c.Send(x.message(s.swarm.anyone(), p.ActInform)) // it has been dead-lettered
	return nil
}

// Stop tells someone.
func (s *starter) Stop(c *actors.Context) {
	x := errand{simSwarm: s.swarm, self: c.Self}
	_ = c.Send(x.message(s.swarm.anyone(), p.ActInform)) // it has been dead-lettered
}
