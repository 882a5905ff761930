package actors

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// replySlot is where one ask at a time waits for its answer. It is registered as
// a process of its own, and its asks differ by the RequestId of the sender that
// they are made with, so that an answer to an earlier one is known as such.
type replySlot struct {
	system *actor.ActorSystem
	pid    *actor.PID
	ready  chan struct{} // has room for one

	mu       sync.Mutex
	request  uint32 // RequestId of the newest ask
	pending  bool   // it has neither an answer nor an error
	answer   any
	err      error
	deadline time.Time // of the newest ask, zero when it has none
	timer    *time.Timer
	alarm    time.Time // when timer goes off, zero when it is not set
}

var _ actor.Process = (*replySlot)(nil)

// newReplySlot registers a slot.
func newReplySlot(system *actor.ActorSystem) *replySlot {
	s := &replySlot{system: system, ready: make(chan struct{}, 1)}
	s.timer = time.AfterFunc(math.MaxInt64, s.expire)
	s.pid, _ = system.ProcessRegistry.Add(s, "ask"+system.ProcessRegistry.NextId())
	return s
}

// unregister takes the slot out of the registry.
func (s *replySlot) unregister() {
	s.timer.Stop()
	s.system.ProcessRegistry.Remove(s.pid)
}

// open begins an ask, and returns its RequestId.
func (s *replySlot) open(timeout time.Duration) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request++
	s.pending = true
	s.deadline = time.Time{}
	if timeout > 0 {
		s.deadline = time.Now().Add(timeout)
		s.setAlarmLocked()
	}
	return s.request
}

// worn reports whether the slot has used up its ids.
func (s *replySlot) worn() bool { return s.request == math.MaxUint32 }

// setAlarmLocked sees to it that the timer does not go off after the deadline.
// It may go off before: most asks are answered long before their deadlines, and
// to set and stop a timer for each would cost more than to look once too often.
func (s *replySlot) setAlarmLocked() {
	if s.alarm.IsZero() || s.deadline.Before(s.alarm) {
		s.alarm = s.deadline
		s.timer.Reset(time.Until(s.deadline))
	}
}

// wait blocks until the ask has ended, or ctx has.
func (s *replySlot) wait(ctx context.Context) (any, error) {
	if done := ctx.Done(); done != nil {
		select {
		case <-s.ready:
		case <-done:
			s.end(s.request, nil, fmt.Errorf("actors: ask: %w", context.Cause(ctx)))
			<-s.ready // of this end, or of one that came before it
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

// end ends the ask of that id, and reports whether it was still open.
func (s *replySlot) end(request uint32, answer any, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending || request != s.request {
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

// expire is the timer's. It ends the ask that is open if its deadline has come.
func (s *replySlot) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm = time.Time{}
	switch {
	case !s.pending || s.deadline.IsZero():
	case time.Now().Before(s.deadline):
		s.setAlarmLocked()
	default:
		s.endLocked(nil, ErrTimeout)
	}
}

// SendUserMessage takes the answer. One that comes too late is a dead letter.
func (s *replySlot) SendUserMessage(pid *actor.PID, message any) {
	_, content, _ := actor.UnwrapEnvelope(message)
	if !s.end(pid.RequestId, content, nil) {
		s.system.DeadLetter.SendUserMessage(pid, message)
	}
}

// SendSystemMessage ignores the engine's messages: a slot has no life to watch.
func (s *replySlot) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing. The slots of a system end when Ask has no use for them.
func (s *replySlot) Stop(*actor.PID) {}
