package actors

import (
	"github.com/asynkron/protoactor-go/actor"
)

// processOf returns the process that is registered for the actor that invoker
// invokes, or nil.
func processOf(invoker actor.MessageInvoker) *actor.ActorProcess {
	c, ok := invoker.(actor.Context)
	if !ok {
		return nil
	}
	p, _ := c.ActorSystem().ProcessRegistry.Get(c.Self())
	process, _ := p.(*actor.ActorProcess)
	return process
}

// gone reports whether the actor has left the registry, which is how the
// engine's actors end. Another actor may have taken the name since.
func (m *Mailbox) gone() bool {
	return m.process != nil && processOf(m.invoker) != m.process
}

// serveLifecycle hands a system message to the actor, and closes the mailbox
// when that was the actor's end.
//
// A Restart that comes after a Stop is left out: while an actor waits for its
// children to stop, the engine would bring it back to life, and a delayed restart
// may well meet it then. Of an actor that has ended, only a Watch is served,
// whose sender waits to be told.
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
		if m.stopped && m.gone() {
			return
		}
	}
	m.invoker.InvokeSystemMessage(message)
	if m.stopping && m.gone() {
		m.stop()
	}
}

// stop makes the mailbox refuse all that is queued, or ever will be. The engine
// would ignore it in silence.
func (m *Mailbox) stop() {
	m.stopped = true
	for i := range m.bands {
		if !m.bands[i].CompareAndSwap(nil, closedBand) {
			m.bands[i].Load().close()
		}
	}
	m.word.And(^uint32(wordSuspended))
}

// finishStop goes on with a stop in which the actor panicked on message. The
// engine would leave it there: alive, deaf to a further Stop, and awaited by its
// parent for ever.
func (m *Mailbox) finishStop(message any) {
	c, ok := m.invoker.(actor.Context)
	if !ok {
		return
	}
	again, _ := message.(*actor.Terminated)
	switch {
	case m.gone(): // it panicked on Stopped
		m.end(c)
	case len(c.Children()) > 0:
		for _, child := range c.Children() {
			c.Stop(child)
		}
	case again != nil && again.Who.Equal(c.Self()):
		m.end(c)
	default:
		// The end of a child, even of one that it does not have, has the engine
		// look whether the actor can end.
		m.PostSystemMessage(&actor.Terminated{Who: c.Self()})
	}
}

// end takes the actor off the registry, and tells its parent.
func (m *Mailbox) end(c actor.Context) {
	registry := c.ActorSystem().ProcessRegistry
	if !m.gone() {
		registry.Remove(c.Self())
	}
	m.stop()
	if parent, ok := registry.Get(c.Parent()); ok {
		parent.SendSystemMessage(c.Parent(), &actor.Terminated{Who: c.Self()})
	}
}
