package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

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
