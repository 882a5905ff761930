package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// retirement is the end of an agent that is to continue elsewhere: see [System.Retire].
type retirement struct {
	reservation *Reservation
	ifQuiet     bool   // the agent is to retire only if it is quiet
	finished    latch  // open once no conversation is open, except long-lived ones, or the agent does not retire
	err         error  // why it does not; valid once finished is open
	state       []byte // of a [Movable] agent; valid once the agent has stopped
}

// retireTime is the time in which the hooks of an agent that retires must return.
const retireTime = 10 * time.Second

// Retire stops an agent of this process that is to continue elsewhere, or later. From now on the
// agent opens no conversation for a message of another, and its Receive gets none. Its open
// conversations continue until they end or ctx does; those that are left, and those that are
// long-lived, then fail with [performatives.CodeMoved].
//
// Retire returns once the agent has stopped, with the reservation of its id and the state of a
// [Movable] agent. The messages that the agent has not handled wait in the reservation. The error
// is [ErrStopped] when there is no such agent, or it retires or stops already; or it says that a
// hook of the agent has not returned, and then the messages are refused. Retire must not be called
// by the agent's own code: with the ctx of a handler or a decision of the agent, the error is
// [ErrSelfWait].
func (s *System) Retire(ctx context.Context, id performatives.AgentID) (*Reservation, []byte, error) {
	return s.retire(ctx, id, &retirement{})
}

// RetireQuiet is [System.Retire] for an agent that is quiet: see [Self.Quiet]. When it has a
// conversation, or has got a message since the last call of Quiet, the error is [ErrNotQuiet], and
// the agent goes on.
func (s *System) RetireQuiet(ctx context.Context, id performatives.AgentID) (*Reservation, []byte, error) {
	return s.retire(ctx, id, &retirement{ifQuiet: true})
}

// ErrNotQuiet is the error of [System.RetireQuiet].
var ErrNotQuiet = errors.New("the agent is not quiet")

func (s *System) retire(ctx context.Context, id performatives.AgentID, t *retirement) (*Reservation, []byte, error) {
	c, ok := s.lookup(id)
	if !ok {
		return nil, nil, fmt.Errorf("actors: retire %q: %w", id, ErrStopped)
	}
	if caller, ok := s.callerOf(ctx); ok && caller.Agent.c == c {
		return nil, nil, fmt.Errorf("actors: retire %q: %w", id, caller.selfWait())
	}
	v := &Reservation{sys: s, taken: cmp.Or(c.taken, new(takenOn))}
	v.entry = s.newRegistration(c.id, v) // not in the directory before the agent stops
	v.from.Store(c)
	t.reservation = v
	if !t.ifQuiet && !c.retiring.CompareAndSwap(nil, t) || (Self{c}).post(&retire{t}) != nil {
		return nil, nil, fmt.Errorf("actors: retire %q: %w", id, ErrStopped)
	}
	turn := s.stepSimulation(t.finished.isOpen)
	end := ctx.Done()
	if t.ifQuiet { // it has nothing to wait for
		end = nil
	}
	select {
	case <-t.finished.done():
	case <-c.done.done():
	case <-end:
	}
	turn()
	if t.finished.isOpen() && t.err != nil {
		return nil, nil, fmt.Errorf("actors: retire %q: %w", id, t.err)
	}
	if !c.swap(v.entry) {
		v.close(stoppedRefusal(c.id))
		return nil, nil, fmt.Errorf("actors: retire %q: %w", id, ErrStopped)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTime)
	defer cancel()
	err := s.stopActor(stop, c)
	turn()
	if err != nil {
		v.Release(stoppedRefusal(c.id))
		return nil, nil, err
	}
	v.from.Store(nil)
	return v, t.state, nil
}

// stoppedRefusal returns a function that refuses messages, as by an agent that has stopped.
func stoppedRefusal(id performatives.AgentID) func(*performatives.Message) error {
	return func(m *performatives.Message) error { return refusal(m, id, performatives.CodeStopped, "") }
}

// Retiring reports whether [System.Retire] was called for the agent. Safe for concurrent use.
func (s Self) Retiring() bool { return s.c.retiring.Load() != nil }

// Quiet has fn called on the agent's actor. It says whether no conversation is open, and no message
// has come to the agent since fn was called before, or since the start. It fails like [Self.Later].
func (s Self) Quiet(fn func(quiet bool)) error { return s.post(&quiet{fn}) }

type quiet struct{ fn func(bool) }

func (q *quiet) run(c *cell, _ actor.Context) {
	is := c.quiet()
	c.used = false
	q.fn(is)
}

// retire is the command that begins a retirement, behind the urgent messages that the agent has
// got.
type retire struct{ *retirement }

func (r *retire) run(c *cell, _ actor.Context) {
	switch {
	case !r.ifQuiet:
	case !c.quiet():
		r.err = ErrNotQuiet
	case !c.retiring.CompareAndSwap(nil, r.retirement):
		r.err = ErrStopped
	}
	if r.err == nil {
		r.check(c)
		return
	}
	r.finished.open()
}

// quiet reports whether no conversation is open, and no message has come since [Self.Quiet].
func (c *cell) quiet() bool { return !c.used && len(c.conversations.byID) == 0 }

// check ends the wait for the conversations if none is open. It runs on the agent's actor.
func (t *retirement) check(c *cell) {
	if c.finite == 0 {
		t.finished.open()
	}
}

// snapshot takes the state of a movable agent that runs. It runs on the agent's actor, and does
// nothing for nil.
func (t *retirement) snapshot(c *cell) {
	m, ok := c.agent.(Movable)
	if t == nil || !ok || !c.running {
		return
	}
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = panicError(v)
		}
		if err != nil {
			t.state = nil
			Self{c}.Logger().Error("the state of an agent is lost: its Snapshot failed", "err", err)
		}
	}()
	t.state, err = m.Snapshot()
}

// reservationOf returns the reservation of an id, or nil.
func (s *System) reservationOf(id performatives.AgentID) *Reservation {
	r, ok := s.Find(id)
	if !ok || r.local != nil {
		return nil
	}
	v, _ := r.destination.(*Reservation)
	return v
}

// giveBack queues a message that an agent which retires has got and not handled. It reports false
// if there is none.
func (s *System) giveBack(m *performatives.Message) bool {
	v := s.reservationOf(m.Receiver())
	if v == nil || v.from.Load() == nil {
		return false
	}
	v.giveBack(m)
	return true
}

// cellAt returns the agent of this process with that id, also one that a reservation is about to
// become or was.
func (s *System) cellAt(id performatives.AgentID) (*cell, bool) {
	if v := s.reservationOf(id); v != nil {
		if c := v.starting.Load(); c != nil {
			return c, true
		}
		c := v.from.Load()
		return c, c != nil
	}
	return s.lookup(id)
}
