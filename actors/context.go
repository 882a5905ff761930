package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Context is what an agent's hooks act through while they run. It is [Self] plus
// what is valid only on the agent's actor; do not keep it after the hook returns.
type Context struct {
	Self
	engine actor.Context
}

// Engine returns the engine's own context of the current message: the escape
// hatch for what this package does not offer.
func (c *Context) Engine() actor.Context { return c.engine }

// Reply answers m with a payload that implies its act. See [Self.Send].
func (c *Context) Reply(m *performatives.Message, payload any) error {
	return c.ReplyAs(m, 0, payload)
}

// ReplyAs answers m with an act of one's choice; zero is the payload's own.
func (c *Context) ReplyAs(m *performatives.Message, act performatives.Performative, payload any) error {
	reply, err := m.ReplyFrom(c.ID(), c.Stamp(), act, payload)
	if err != nil {
		return err
	}
	return c.Send(reply)
}
