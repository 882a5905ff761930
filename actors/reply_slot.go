package actors

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

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
