package runtime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// runErrands has a client start conversations.
func (s *clusterSwarm) runErrands(i, a int) {
	name := fmt.Sprintf("asker %d.%d", i, a)
	for s.busy() {
		s.idle(name, s.dice.upTo(2*time.Second))
		c := s.nodes[i]
		if c == nil {
			continue
		}
		c.sim.Yield(name) // at the end of its pause, if it has one
		switch s.dice.n(8) {
		case 0, 1, 2, 3:
			s.delegate(c, name)
		case 4, 5:
			s.ask(c, name)
		case 6:
			s.inform(c, s.rawAgent())
		default:
			s.inform(c, "")
		}
	}
}

// delegate delegates a task, and checks that it ends in time.
func (s *clusterSwarm) delegate(c *clusterNode, name string) {
	to, limit := s.anyAgent(), s.dice.upTo(10*time.Second)
	options := []codons.Option{codons.WithGrace(time.Second), codons.WithPriority(p.Low + p.Priority(s.dice.n(int(p.Bands))))}
	if s.dice.oneIn(2) {
		options = append(options, codons.WithRetry(codons.Retry{First: 300 * time.Millisecond, Jitter: -1}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if s.dice.oneIn(4) {
		c.System().AfterFunc(s.dice.upTo(limit), cancel)
	}
	began := time.Now()
	r, err := delegation.Delegate(ctx, c.client, to, p.TaskRequest{TaskType: "simulate"}, options...)
	c.sim.Yield(name)
	s.note("%s delegated to %s: %s %v", name, to, r.Status, err)
	late := time.Since(began) - limit - c.pausedWithin(began, time.Now())
	if late > clusterGrace && !c.crashed {
		s.problem("%s: a delegation to %s ends %v after its deadline: %v", name, to, late, err)
	}
	if err == nil {
		s.count("success")
	}
}

// ask asks an agent without a codon.
func (s *clusterSwarm) ask(c *clusterNode, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.dice.upTo(3*time.Second))
	defer cancel()
	to := s.rawAgent()
	_, err := c.Ask(ctx, to, p.Raw(`{}`), runtime.WithAct(p.ActRequest))
	c.sim.Yield(name)
	s.note("%s asked %s: %v", name, to, err)
	if err == nil {
		s.count("answer")
	}
}

// inform sends a message without a reply.
func (s *clusterSwarm) inform(c *clusterNode, to p.AgentID) {
	s.mu.Lock()
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	stamp := c.client.Stamp()
	m, err := p.New(p.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: c.client.ID(), Receiver: to, Performative: p.ActInform, Protocol: simSmallTalk,
		Priority: p.Low + p.Priority(s.dice.n(int(p.Bands))), Payload: clusterNotice{serial},
	})
	if err != nil {
		s.problem("%v", err)
		return
	}
	err = c.client.Send(m)
	s.note("%s informed %q: %s %v", c.Name(), to, stamp.ID, err)
}
