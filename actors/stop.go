package actors

import (
	"github.com/asynkron/protoactor-go/actor"
)

// processOf returns the registered process of the invoker's actor, or nil.
func processOf(invoker actor.MessageInvoker) *actor.ActorProcess {
	c, ok := invoker.(actor.Context)
	if !ok {
		return nil
	}
	p, _ := c.ActorSystem().ProcessRegistry.Get(c.Self())
	process, _ := p.(*actor.ActorProcess)
	return process
}

// unregistered reports whether the actor has left the registry, which is how the engine's
// actors end. Another actor may have the same name since.
func (m *Mailbox) unregistered() bool {
	return m.process != nil && processOf(m.invoker) != m.process
}

// serveLifecycle passes a system message to the actor, and closes the mailbox if the
// actor has ended.
//
// A Restart after a Stop is dropped: the engine would restart an actor that waits for its
// children to stop, and a delayed restart may arrive at that time. A mailbox whose actor
// has ended serves only Watch, because the watcher waits for a reply.
func (m *Mailbox) serveLifecycle(message any) {
	switch message.(type) {
	case *actor.Stop:
		m.stopping = true
	case *actor.Restart:
		if m.stopping {
			return
		}
	case *actor.Watch:
	default:
		if m.stopped && m.unregistered() {
			return
		}
	}
	m.invoker.InvokeSystemMessage(message)
	if m.stopping && m.unregistered() {
		m.stop()
	}
}

// stop makes the mailbox refuse all queued and all later messages. The engine would drop
// them silently.
func (m *Mailbox) stop() {
	m.stopped = true
	for i := range m.bands {
		if !m.bands[i].CompareAndSwap(nil, closedBand) && m.bands[i].Load().close() {
			m.state.Or(1 << i) // the producer of a message has perhaps not set the bit yet
		}
	}
	m.state.And(^uint32(stateSuspended))
}

// finishStop continues a stop in which the actor panicked on message. The engine would
// leave the actor running: it would ignore a further Stop, and its parent would wait for
// it for ever.
func (m *Mailbox) finishStop(message any) {
	c, ok := m.invoker.(actor.Context)
	if !ok {
		return
	}
	again, _ := message.(*actor.Terminated)
	switch {
	case m.unregistered(): // it panicked on Stopped
		m.terminate(c)
	case len(c.Children()) > 0:
		for _, child := range c.Children() {
			c.Stop(child)
		}
	case again != nil && again.Who.Equal(c.Self()):
		m.terminate(c)
	default:
		// On any Terminated message the engine checks whether the actor's children have
		// stopped, even if the message is not about a child.
		m.PostSystemMessage(&actor.Terminated{Who: c.Self()})
	}
}

// terminate removes the actor from the registry and notifies its parent.
func (m *Mailbox) terminate(c actor.Context) {
	registry := c.ActorSystem().ProcessRegistry
	if !m.unregistered() {
		registry.Remove(c.Self())
	}
	m.stop()
	if parent, ok := registry.Get(c.Parent()); ok {
		parent.SendSystemMessage(c.Parent(), &actor.Terminated{Who: c.Self()})
	}
}
