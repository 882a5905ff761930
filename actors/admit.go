package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/admission"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Permit is the node's permission to work on a request. [Self.Admit] fills in its zero value.
type Permit struct {
	c      *cell
	ticket admission.Ticket
	work   QueuedWork
}

// QueuedWork is work that begins when the node has room for it.
type QueuedWork interface {
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
		return s.c.sys.overloaded(m, busy, nodeOverloaded)
	}
	return nil
}

// Work runs w like [Self.Work], once the node's processors have room for it. When ctx ends before
// that, w is left. Before either has returned, Work must not be called again.
func (p *Permit) Work(ctx context.Context, w QueuedWork) {
	s := p.c.sys
	if s.gate == nil {
		s.workFor(p.c, w.Run)
		return
	}
	p.work = w
	s.countWork(p.c, 1) // also while it is queued
	if turn := p.ticket.Begin(p); turn != 0 {
		context.AfterFunc(ctx, func() {
			if p.ticket.Leave(turn) {
				defer s.countWork(p.c, -1)
				w.Left()
			}
		})
	}
}

// Start runs the work on a goroutine of its own. Only the node calls it.
func (p *Permit) Start() {
	go func() {
		growStack(0)
		defer p.c.sys.countWork(p.c, -1)
		defer p.ticket.Return()
		if s := p.ticket.Sample(); s != nil {
			defer s.End()
		}
		p.work.Run()
	}()
}

// growStack makes a new goroutine's stack as large as a handler of an agent needs, while there is
// little on it to copy.
//
//go:noinline
func growStack(i int) byte {
	var room [5 << 10]byte
	return room[i]
}

// Release gives the permit back: nothing more is begun with it. It may be called more than once,
// also for a permit that Admit has not filled in.
func (p *Permit) Release() { p.ticket.Release() }

// Foresee returns the refusal that m would meet, the request that is to open the conversation,
// before anything is spent on it: this node does not keep up with its messages; the receiver is an
// agent of this node, and its mailbox or the node has no room; or the receiver is an agent of
// another process, which is behind with this node's messages. Nil means that the request may be
// sent.
//
// Foresee slows a caller in a loop down, no longer than ctx lasts. A refusal takes 10 ms. A request
// that may be sent waits for [System.Pause]. If a quarter of the time for which actors wait for a
// processor is longer, it waits for that. It waits for 250 ms at most.
//
// For URGENT and HIGH requests the result is nil at once. It is called before [Self.Begin].
func (a *ConversationActor) Foresee(ctx context.Context, s *System, m *performatives.Message) *performatives.Refusal {
	if s.gate == nil || m.Priority() > performatives.Normal {
		return nil
	}
	a.peer, _ = s.Find(m.Receiver())
	wait, where := s.obstacle(m, a.peer)
	pause := 10 * time.Millisecond
	if wait == 0 {
		if pause = s.Pause(m, a.peer); s.pool != nil {
			pause = max(pause, s.pool.wait.Delay()/4)
		}
	}
	if pause > 0 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	if wait == 0 {
		return nil
	}
	return s.overloaded(m, s.gate.Refuse(wait), where)
}

// Pause returns the time for which the reader of m, a message of another process, reads no more:
// the flow control of the connection then slows the other process down. It is a few milliseconds
// for a request of NORMAL or LOW priority while this node does not keep up with its messages, or
// the receiver refuses requests as busy. Otherwise it is zero. to is the entry of the receiver,
// or nil. Safe for concurrent use.
func (s *System) Pause(m *performatives.Message, to *Registration) time.Duration {
	switch {
	case s.gate == nil, m.InReplyTo() != "", m.Priority() > performatives.Normal:
	case s.pool != nil && s.pool.wait.Delay() > 50*time.Millisecond:
		return 5 * time.Millisecond
	case to == nil || to.local == nil:
	case to.local.refused.Load() != 0 && nowMillis()-to.local.refused.Load() < 10:
		return time.Millisecond
	}
	return 0
}

// nowMillis is a clock of milliseconds.
func nowMillis() uint32 { return uint32(time.Now().UnixMilli()) } //nolint:gosec // it wraps

// NoteBusy notes that the agent refuses a request as busy, for [System.Pause].
func (s Self) NoteBusy() { s.c.noteBusy() }

func (c *cell) noteBusy() { c.refused.Store(nowMillis()) }

// obstacle returns the wait for which a request is not to be sent, with the overloaded part, and
// zero for no such wait. r is the receiver, nil if it was not found.
func (s *System) obstacle(m *performatives.Message, r *Registration) (wait time.Duration, where string) {
	most := time.Second // for which it may wait, at more than one place
	if by := m.ReplyBy(); !by.IsZero() {
		most = min(time.Until(by)/8, most)
	}
	if s.pool != nil {
		if wait = s.pool.wait.Delay(); wait > 0 && wait > most {
			return wait, nodeOverloaded
		}
	}
	switch {
	case r == nil:
		return 0, ""
	case r.local == nil:
		if wait = r.Destination().Wait(); wait > 0 && wait > most {
			return wait, "the connection to the agent is congested"
		}
		return 0, ""
	}
	if b := r.local.mailbox.bands[m.Priority().Band()].Load(); b != nil {
		if wait = b.delay(); wait > 0 && wait > most {
			return wait, nodeOverloaded
		}
	}
	return s.gate.Look(s.admission(r.local, m, false, m.ReplyBy())), nodeOverloaded
}

const nodeOverloaded = "the node is overloaded"

func (s *System) overloaded(m *performatives.Message, busy *admission.Busy, where string) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeBusy, About: m.ID(), RetryAfter: busy.Again,
		Text: fmt.Sprintf("%s: the request would wait for %v", where, busy.Wait.Round(time.Millisecond)),
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
	if events.Wants[events.Overload](&s.Events) {
		s.Events.Publish(events.Overload{At: events.At{Time: time.Now()}, Refusing: c.Refusing, Refused: c.Refused, Queued: c.Waiting, Working: c.UnderWay})
	}
}
