package actors

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Ask sends message to pid and waits for the reply: the first message sent to the
// request's sender, by the receiver or by an actor that the receiver forwards the request
// to. It waits until timeout has passed or ctx ends. A timeout of zero or less means no
// timeout. A message handler must not call Ask, because that blocks its actor.
//
// A reply that is an error is returned as the error, for example the [*MailboxRefusal] of a full
// mailbox. Ask fails at once with [ErrStopped] when there is no such actor or it has
// stopped, with [ErrTimeout] after the timeout, and with the cause of ctx when ctx ends
// first. A reply that arrives later goes to the dead letters of the actor system.
func Ask(ctx context.Context, system *actor.ActorSystem, pid *actor.PID, message any, timeout time.Duration) (any, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("actors: ask: %w", EndOf(ctx))
	}
	slots := slotsOf(system)
	s := slots.acquire()
	r := &askEnvelope{sender: actor.PID{Address: s.pid.Address, Id: s.pid.Id, RequestId: s.open(timeout)}}
	r.envelope = actor.MessageEnvelope{Message: message, Sender: &r.sender}
	system.Root.Send(pid, &r.envelope)
	answer, err := s.wait(ctx)
	slots.release(s)
	return unwrapAnswer(answer, err)
}

// askEnvelope is an envelope and its sender in one allocation. It is not reused, because
// the receiver may keep a pointer to either.
type askEnvelope struct {
	envelope actor.MessageEnvelope
	sender   actor.PID
}

// unwrapAnswer returns a reply that is an error as the error.
func unwrapAnswer(answer any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	switch a := answer.(type) {
	case *actor.DeadLetterResponse:
		return nil, ErrStopped
	case error:
		return nil, a
	}
	return answer, nil
}

// replySlot receives the reply of one ask at a time. It is registered as a process of its
// own and reused. The asks of one slot differ by the RequestId of their sender PID, so
// that a late reply to an earlier ask is detected.
type replySlot struct {
	system *actor.ActorSystem
	pid    *actor.PID
	ready  chan struct{} // capacity 1

	mu        sync.Mutex
	requestID uint32 // RequestId of the latest ask
	pending   bool   // the latest ask has neither a reply nor an error
	answer    any
	err       error
	deadline  time.Time // deadline of the latest ask, or zero
	timer     *time.Timer
	timerAt   time.Time // when timer fires; zero when it is not set
}

var _ actor.Process = (*replySlot)(nil)

// newReplySlot creates and registers a slot.
func newReplySlot(system *actor.ActorSystem) *replySlot {
	s := &replySlot{system: system, ready: make(chan struct{}, 1)}
	s.timer = time.AfterFunc(math.MaxInt64, s.expire)
	s.pid, _ = system.ProcessRegistry.Add(s, "ask"+system.ProcessRegistry.NextId())
	return s
}

// unregister removes the slot from the registry.
func (s *replySlot) unregister() {
	s.timer.Stop()
	s.system.ProcessRegistry.Remove(s.pid)
}

// open begins an ask, and returns its RequestId.
func (s *replySlot) open(timeout time.Duration) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestID++
	s.pending = true
	s.deadline = time.Time{}
	if timeout > 0 {
		s.deadline = time.Now().Add(timeout)
		s.setTimerLocked()
	}
	return s.requestID
}

// exhausted reports whether the slot has used all RequestIds.
func (s *replySlot) exhausted() bool { return s.requestID == math.MaxUint32 }

// setTimerLocked ensures that the timer fires no later than the deadline. It may fire
// earlier: most replies arrive long before their deadlines, and setting and stopping a
// timer for each ask would cost more than an extra call of expire.
func (s *replySlot) setTimerLocked() {
	if s.timerAt.IsZero() || s.deadline.Before(s.timerAt) {
		s.timerAt = s.deadline
		s.timer.Reset(time.Until(s.deadline))
	}
}

// wait blocks until the ask has ended or ctx has ended.
func (s *replySlot) wait(ctx context.Context) (any, error) {
	if done := ctx.Done(); done != nil {
		select {
		case <-s.ready:
		case <-done:
			s.end(s.requestID, nil, fmt.Errorf("actors: ask: %w", EndOf(ctx)))
			<-s.ready // signalled by this call of end, or by an earlier one
		}
	} else {
		<-s.ready
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.answer, s.err
	s.answer, s.err = nil, nil
	return answer, err
}

// end ends the ask with that RequestId. It reports false when the ask has ended already.
func (s *replySlot) end(request uint32, answer any, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending || request != s.requestID {
		return false
	}
	s.endLocked(answer, err)
	return true
}

func (s *replySlot) endLocked(answer any, err error) {
	s.pending = false
	s.answer, s.err = answer, err
	s.ready <- struct{}{}
}

// expire is called by the timer. It ends the open ask if its deadline has passed.
func (s *replySlot) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timerAt = time.Time{}
	switch {
	case !s.pending || s.deadline.IsZero():
	case time.Now().Before(s.deadline):
		s.setTimerLocked()
	default:
		s.endLocked(nil, ErrTimeout)
	}
}

// SendUserMessage receives the reply. A late reply is a dead letter.
func (s *replySlot) SendUserMessage(pid *actor.PID, message any) {
	_, content, _ := actor.UnwrapEnvelope(message)
	if !s.end(pid.RequestId, content, nil) {
		s.system.DeadLetter.SendUserMessage(pid, message)
	}
}

// SendSystemMessage ignores system messages: a slot cannot be watched.
func (s *replySlot) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing. Ask unregisters slots that it does not reuse.
func (s *replySlot) Stop(*actor.PID) {}

// replySlots is the list of an actor system's idle slots. It is registered with the
// system under slotsName.
type replySlots struct {
	system *actor.ActorSystem

	mu   sync.Mutex
	idle []*replySlot
}

// slotsName is the name under which replySlots is registered. idleSlots is the largest
// number of idle slots.
const (
	slotsName = "asks"
	idleSlots = 256
)

var _ actor.Process = (*replySlots)(nil)

// slotsOf returns the slots of system, and registers them before the first ask.
func slotsOf(system *actor.ActorSystem) *replySlots {
	for {
		p, ok := system.ProcessRegistry.GetLocal(slotsName)
		if ok {
			return p.(*replySlots)
		}
		system.ProcessRegistry.Add(&replySlots{system: system}, slotsName)
	}
}

// acquire returns a slot for exclusive use.
func (r *replySlots) acquire() *replySlot {
	r.mu.Lock()
	if last := len(r.idle) - 1; last >= 0 {
		s := r.idle[last]
		r.idle = r.idle[:last]
		r.mu.Unlock()
		return s
	}
	r.mu.Unlock()
	return newReplySlot(r.system)
}

// release keeps a slot for a later ask, unless it is exhausted or there are idleSlots
// already.
func (r *replySlots) release(s *replySlot) {
	r.mu.Lock()
	keep := len(r.idle) < idleSlots && !s.exhausted()
	if keep {
		r.idle = append(r.idle, s)
	}
	r.mu.Unlock()
	if !keep {
		s.unregister()
	}
}

// SendUserMessage sends messages for the list itself to the dead letters.
func (r *replySlots) SendUserMessage(pid *actor.PID, message any) {
	r.system.DeadLetter.SendUserMessage(pid, message)
}

// SendSystemMessage ignores system messages.
func (r *replySlots) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (r *replySlots) Stop(*actor.PID) {}
