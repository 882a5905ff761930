package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Reservation holds the id of an agent that is about to run here, or has just run here, and queues
// the messages for it. It ends with [Reservation.Spawn] or [Reservation.Release]. Its methods may
// be called from any goroutine.
type Reservation struct {
	sys   *System
	entry *Registration
	taken *takenOn // of the agent

	from     atomic.Pointer[cell] // the agent that retires, until it has stopped
	starting atomic.Pointer[cell] // the agent that starts

	mu     sync.Mutex
	notify func()                             // called when the next message is queued; nil: already called, or none was set
	back   []*performatives.Message           // messages that the retiring agent has returned; they precede those of queue
	queue  []*performatives.Message           // messages that have arrived
	to     func(*performatives.Message) error // takes the messages that arrive after the reservation has ended
	length int                                // of back and queue together
}

var _ Destination = (*Reservation)(nil)

// Reserve reserves the id of an agent. The error is [ErrExists], [ErrStopped], or says why the id
// is not valid.
func (s *System) Reserve(id performatives.AgentID) (*Reservation, error) {
	v := &Reservation{sys: s, taken: new(takenOn)}
	entry, err := s.Register(id, v)
	if err != nil {
		return nil, err
	}
	v.entry = entry
	return v, nil
}

// Load returns nil: the agent is of this process.
func (*Reservation) Load() *Load { return nil }

// Wait returns zero.
func (*Reservation) Wait() time.Duration { return 0 }

// Deliver queues a message. It refuses the message as busy when as many wait already as one band of
// a mailbox holds. Once the reservation has ended, Deliver passes the message on.
func (v *Reservation) Deliver(m *performatives.Message) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.to != nil:
		return v.to(m)
	case v.length >= v.sys.Capacity():
		return refusal(m, v.entry.id, performatives.CodeBusy, "the agent is about to start, and too many messages wait for it")
	}
	v.queue = append(v.queue, m)
	v.arrivedLocked()
	return nil
}

func (v *Reservation) arrivedLocked() {
	v.length++
	if fn := v.notify; fn != nil {
		v.notify = nil
		fn()
	}
}

// OnMessage calls fn once: at once if a message waits, and otherwise when the next one is queued.
// fn must not block and must not use v.
func (v *Reservation) OnMessage(fn func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.length > 0 {
		fn()
		return
	}
	v.notify = fn
}

// giveBack queues a message that a stopping agent has not handled, and that the agent's mailbox has
// counted already. If the reservation has ended, giveBack passes the message on.
func (v *Reservation) giveBack(m *performatives.Message) {
	v.mu.Lock()
	if v.to == nil {
		v.back = append(v.back, m)
		v.arrivedLocked()
		v.mu.Unlock()
		return
	}
	err := v.to(m)
	v.mu.Unlock()
	if err != nil {
		v.refuse([]undelivered{{m, err}})
	}
}

// Len returns how many messages wait.
func (v *Reservation) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.length
}

// Spawn starts the agent: see [System.Spawn]. It gets the messages that wait, in their order,
// before any other. spec.ID must be the id that is reserved. After an error the reservation still
// holds it.
func (v *Reservation) Spawn(ctx context.Context, spec Spec) (Self, error) {
	s := v.sys
	c, started, err := s.prepare(spec)
	switch {
	case err != nil:
		return Self{}, err
	case !spec.ID.Is(v.entry.id):
		return Self{}, fmt.Errorf("actors: spawn %q: the reservation is of %q", spec.ID, v.entry.id)
	case ctx.Err() != nil:
		return Self{}, context.Cause(ctx)
	}
	c.taken = v.taken
	v.starting.Store(c)
	s.running.add(1)
	if err := s.spawnIn(s.groups[spec.Group], c); err != nil {
		s.running.add(-1)
		return Self{}, fmt.Errorf("actors: spawn %q: %w", spec.ID, err)
	}
	if started != nil { // messages wait until the agent has started, so that they outlive a start that fails
		self, err := s.awaitStart(ctx, c, started)
		if err != nil {
			return self, err
		}
	}
	if !v.end(c) {
		_ = s.stopActor(ctx, c)
		return Self{}, fmt.Errorf("actors: spawn %q: %w", spec.ID, ErrStopped)
	}
	s.opts.OnChange(spec.ID)
	return Self{c}, nil
}

// end puts an agent in the place of the reservation, and passes the messages that wait on to it. It
// reports false when the id was released before, or the agent has stopped.
func (v *Reservation) end(c *cell) bool {
	v.mu.Lock()
	if v.to != nil {
		v.mu.Unlock()
		return false
	}
	failed := v.openLocked(c.takeWaiting) // before others find the agent
	v.to = c.deliver
	runs := v.entry.swap(&c.Registration)
	v.mu.Unlock()
	v.refuse(failed)
	return runs
}

// waited is a message that has waited in a reservation, which had room for it.
type waited struct{ message *performatives.Message }

// Control exempts the message from the bounds of the mailbox.
func (*waited) Control() {}

// Priority returns that of the message, behind which it keeps its place.
func (w *waited) Priority() performatives.Priority { return w.message.Priority() }

func (w *waited) run(c *cell, ctx actor.Context) { c.receive(ctx, w.message) }

// takeWaiting is take for a message that has waited.
func (c *cell) takeWaiting(m *performatives.Message) error {
	err := c.take(m)
	if errors.Is(err, performatives.CodeBusy) && c.mailbox.Post(&waited{m}) == nil {
		return nil
	}
	return err
}

// Release gives the id back. The waiting messages, and later ones by way of the reservation, go to
// the function to. Its errors are told to the senders. It must not block. Further calls are
// harmless.
func (v *Reservation) Release(to func(*performatives.Message) error) {
	if v.close(to) {
		v.sys.opts.OnChange(v.entry.id)
	}
}

// close passes on all messages, those that wait and those that come. It reports whether it was the
// first call.
func (v *Reservation) close(to func(*performatives.Message) error) bool {
	v.mu.Lock()
	if v.to != nil {
		v.mu.Unlock()
		return false
	}
	v.entry.Remove()
	failed := v.openLocked(to)
	v.mu.Unlock()
	v.refuse(failed)
	return true
}

// undelivered is a message that waited and was not taken.
type undelivered struct {
	message *performatives.Message
	why     error
}

// openLocked passes the messages that wait on to the function to, and has it get those that come.
// It returns those that were not taken, which are to be refused without the lock: a sender may be
// the agent itself.
func (v *Reservation) openLocked(to func(*performatives.Message) error) (failed []undelivered) {
	waiting := slices.Concat(v.back, v.queue)
	v.back, v.queue, v.length, v.to = nil, nil, 0, to
	for _, m := range waiting {
		if err := to(m); err != nil {
			failed = append(failed, undelivered{m, err})
		}
	}
	return failed
}

func (v *Reservation) refuse(all []undelivered) {
	for _, f := range all {
		r := asRefusal(f.message, f.why)
		v.sys.RefuseCopy(v.entry.id, f.message, r)
	}
}

// swap puts another entry of the id in the place of r, whatever their destinations are. It reports
// false when r was removed before.
func (r *Registration) swap(by *Registration) bool {
	s := r.sys
	if !s.takeID(r, by) {
		return false
	}
	s.removeRegistration(r)
	if !s.capabilities.has(by) { // it has stopped meanwhile
		s.registrations.swap(by.id, by, nil)
		s.registrations.swap(by.folded, by, nil)
		s.opts.OnList(by.id)
		return false
	}
	return true
}
