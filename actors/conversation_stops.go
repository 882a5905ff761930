package actors

import "github.com/asynkron/protoactor-go/actor"

// conversationStops is a child of an agent's actor that stands for the agent's conversations
// while they stop. The engine does not know the conversations; it waits for this child before
// it stops or restarts the agent.
type conversationStops struct{}

var _ actor.Process = conversationStops{}

// SendUserMessage ignores the message: no sender has the address.
func (conversationStops) SendUserMessage(*actor.PID, any) {}

// SendSystemMessage ignores the engine's Stop: the conversations have been told to stop.
func (conversationStops) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing.
func (conversationStops) Stop(*actor.PID) {}

// spawnStops registers a conversationStops.
func spawnStops(system *actor.ActorSystem, id string, _ *actor.Props, _ actor.SpawnerContext) (*actor.PID, error) {
	pid, ok := system.ProcessRegistry.Add(conversationStops{}, id)
	if !ok {
		return pid, actor.ErrNameExists
	}
	return pid, nil
}

var stopsProps = actor.PropsFromProducer(func() actor.Actor { return nil }, actor.WithSpawnFunc(spawnStops))

// stopConversations has all conversations stop, and the engine wait until the last turn of the
// last one is over. It is called before the agent's actor stops or restarts.
func (c *cell) stopConversations(ctx actor.Context) {
	if c.live.Load() == 0 {
		return
	}
	if c.stops.Load() == nil { // no restart waits already
		c.stops.Store(ctx.Spawn(stopsProps))
	}
	for _, conversation := range c.conversations.list() {
		conversation.Actor().requestStop()
	}
	if c.live.Load() == 0 {
		c.conversationsStopped()
	}
}

// conversationsStopped has the engine go on with the stop or the restart of the agent, if it
// waits.
func (c *cell) conversationsStopped() {
	if pid := c.stops.Swap(nil); pid != nil {
		registry := c.sys.engine.ProcessRegistry
		registry.Remove(pid)
		if agent, ok := registry.Get(c.pid.Load()); ok {
			agent.SendSystemMessage(c.pid.Load(), &actor.Terminated{Who: pid})
		}
	}
}
