package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Permit is the node's permission to work on a request. [Self.Admit] fills in its zero value.
type Permit struct {
	c      *cell
	ticket admission.Ticket
	work   Admitted
}

// Admitted is work that begins when the node has room for it.
type Admitted interface {
	// Run does the work, on a goroutine of its own.
	Run()
	// Left is called in place of Run when the ctx of the work has ended while it was queued.
	Left()
}

// Admit asks the node whether the agent may take on a request now. The node takes on what its
// processors can do in time, URGENT and HIGH before the rest, and in turn among its agents and the
// askers of an agent. within says that the request belongs to work that was taken on before, here
// or elsewhere: it comes before others of its priority. The zero deadline means none. The result
// is nil, or has [performatives.CodeBusy].
func (s Self) Admit(p *Permit, m *performatives.Message, within bool, deadline time.Time) *performatives.Refusal {
	p.c = s.c
	gate := s.c.sys.gate
	if gate == nil {
		return nil
	}
	if busy := gate.Take(&p.ticket, s.c.sys.admission(s.c, m, within, deadline)); busy != nil {
		return s.c.sys.overloaded(m, busy)
	}
	return nil
}

// Work runs w like [Self.Work], once the node's processors have room for it. When ctx ends before
// that, w is left. Before either has returned, Work must not be called again.
func (p *Permit) Work(ctx context.Context, w Admitted) {
	s := p.c.sys
	if s.gate == nil {
		s.workFor(p.c, w.Run)
		return
	}
	p.work = w
	s.countWork(p.c, 1) // also while it is queued
	if !p.ticket.Begin(p) {
		context.AfterFunc(ctx, func() {
			if p.ticket.Leave() {
				defer s.countWork(p.c, -1)
				w.Left()
			}
		})
	}
}

// Start runs the work on a goroutine of its own. Only the node calls it.
func (p *Permit) Start() { go p.run() }

func (p *Permit) run() {
	defer p.c.sys.countWork(p.c, -1)
	defer p.ticket.Return()
	p.work.Run()
}

// Release gives the permit back: nothing more is begun with it. It may be called more than once,
// also for a permit that Admit has not filled in.
func (p *Permit) Release() {
	if p.c != nil && p.c.sys.gate != nil {
		p.ticket.Release()
	}
}

// Foresee returns the refusal that a new request would meet on this node, before anything is
// spent on it: the node does not keep up with its messages, or the receiver is an agent of this
// node, and its mailbox or the node has no room. Nil means that it may be sent. It foresees nothing
// for URGENT and HIGH requests. Safe for concurrent use.
func (s *System) Foresee(m *performatives.Message) *performatives.Refusal {
	if s.gate == nil || m.Priority() > performatives.Normal {
		return nil
	}
	if s.pool != nil {
		if d := s.pool.wait.delay(); d > 0 && d > foreseen(m) {
			return s.overloaded(m, s.gate.Refuse(d))
		}
	}
	c, ok := s.lookup(m.Receiver())
	if !ok {
		return nil
	}
	if b := c.mailbox.bands[m.Priority().Band()].Load(); b != nil {
		if d := b.delay(); d > 0 && d > foreseen(m) {
			return s.overloaded(m, s.gate.Refuse(d))
		}
	}
	if busy := s.gate.Look(s.admission(c, m, false, m.ReplyBy())); busy != nil {
		return s.overloaded(m, busy)
	}
	return nil
}

// foreseen returns how long agents and conversations may wait for a processor, or messages for
// their agent, when a request is sent: it waits there more than once.
func foreseen(m *performatives.Message) time.Duration {
	if by := m.ReplyBy(); !by.IsZero() {
		return min(time.Until(by)/8, time.Second)
	}
	return time.Second
}

func (s *System) overloaded(m *performatives.Message, busy *admission.Busy) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeBusy, About: m.ID(), RetryAfter: busy.Again,
		Text: fmt.Sprintf("the node is overloaded: the request would wait for %v", busy.Wait.Round(time.Millisecond)),
	}
}

// admission returns what the gate has to know of a request to c.
func (s *System) admission(c *cell, m *performatives.Message, within bool, deadline time.Time) admission.Request {
	r := admission.Request{
		Band: 2*(performatives.Bands-1-m.Priority().Band()) + 1, Agent: string(c.id), Asker: string(m.Sender()), Deadline: deadline,
	}
	if within {
		r.Band--
	}
	return r
}

// overloadChanged logs and publishes that the node begins or ends to refuse.
func (s *System) overloadChanged(c admission.Counts) {
	args := []any{"refused", c.Refused, "queued", c.Waiting, "working", c.UnderWay, "delay", c.Delay}
	if c.Refusing {
		s.opts.Logger.Warn("the node is overloaded: it refuses as busy what its processors cannot do in time", args...)
	} else {
		s.opts.Logger.Info("the node is not overloaded any more: it takes on all work", args...)
	}
	if Wants[Overload](&s.Events) {
		s.Events.Publish(Overload{At: At{time.Now()}, Refusing: c.Refusing, Refused: c.Refused, Queued: c.Waiting, Working: c.UnderWay})
	}
}
