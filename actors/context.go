package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Context is the argument of an agent's hooks: [Self] plus the methods that are valid
// only on the agent's actor. It must not be used after the hook returns.
type Context struct {
	Self
	engine actor.Context
}

// Engine returns the engine's context of the current message. It gives access to engine
// features that this package does not wrap.
func (c *Context) Engine() actor.Context { return c.engine }

// Reply answers m with a payload. The act is that of the payload's type. See [Self.Send].
func (c *Context) Reply(m *performatives.Message, payload any) error {
	return c.ReplyAs(m, 0, payload)
}

// ReplyAs answers m with the given act. A zero act means that of the payload's type.
func (c *Context) ReplyAs(m *performatives.Message, act performatives.Performative, payload any) error {
	reply, err := m.ReplyFrom(c.ID(), c.Stamp(), act, payload)
	if err != nil {
		return err
	}
	return c.Send(reply)
}
