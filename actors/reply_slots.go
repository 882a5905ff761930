package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// replySlots are the slots of an actor system that no ask uses. They are
// registered with it under slotsName.
type replySlots struct {
	system *actor.ActorSystem

	mu   sync.Mutex
	idle []*replySlot
}

// slotsName is where the slots of a system are registered, and idleSlots how
// many of them are kept.
const (
	slotsName = "asks"
	idleSlots = 256
)

var _ actor.Process = (*replySlots)(nil)

// slotsOf returns the slots of system, which has none until its first ask.
func slotsOf(system *actor.ActorSystem) *replySlots {
	for {
		p, ok := system.ProcessRegistry.GetLocal(slotsName)
		if ok {
			return p.(*replySlots)
		}
		system.ProcessRegistry.Add(&replySlots{system: system}, slotsName)
	}
}

// take returns a slot that nobody else uses.
func (r *replySlots) take() *replySlot {
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

// putBack keeps a slot for a later ask, unless it is worn or there are plenty.
func (r *replySlots) putBack(s *replySlot) {
	r.mu.Lock()
	keep := len(r.idle) < idleSlots && !s.worn()
	if keep {
		r.idle = append(r.idle, s)
	}
	r.mu.Unlock()
	if !keep {
		s.unregister()
	}
}

// SendUserMessage sends what is addressed to all slots to the dead letters.
func (r *replySlots) SendUserMessage(pid *actor.PID, message any) {
	r.system.DeadLetter.SendUserMessage(pid, message)
}

// SendSystemMessage ignores the engine's messages.
func (r *replySlots) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (r *replySlots) Stop(*actor.PID) {}
