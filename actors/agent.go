package actors

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Agent is what every agent implements, as a Go type of its own. What else it
// does, it says by further interfaces: the hooks of this package ([Receiver],
// [Starter], [Stopper]) and the roles of the codon library, each of which makes
// it answer one kind of conversation.
//
// An agent's methods run on its own actor, one at a time, so that its fields need
// no lock, unless a role says otherwise. They must not block: long work belongs
// into a conversation.
type Agent interface {
	// Describe says what the agent can do, for discovery. It is called once
	// before the agent starts, by whoever spawns it, and must not depend on
	// anything that changes: what does is for [Self.Announce].
	Describe() performatives.Capabilities
}

// Receiver is an [Agent] that wants the messages that belong to none of its
// conversations and open none, as they come.
type Receiver interface {
	Agent
	// Receive handles one message. A message that expects a reply and gets none
	// leaves its sender waiting for its own deadline.
	Receive(c *Context, m *performatives.Message)
}

// Starter is an [Agent] that has something to do before its first message.
type Starter interface {
	Agent
	// Start runs first on the agent's actor, and again after each restart, on a
	// fresh value. An error or panic at the first start makes Spawn fail; later it
	// counts as a failure of the agent.
	Start(c *Context) error
}

// Stopper is an [Agent] that has something to clean up.
type Stopper interface {
	Agent
	// Stop runs last on the agent's actor, when it stops for good and before each
	// restart, unless its Start failed. It may still send; nothing that it asks for
	// will be answered.
	Stop(c *Context)
}

// Spec says how to run an agent.
type Spec struct {
	ID  performatives.AgentID // required; compared without regard to case
	New func() Agent          // required: makes the agent, and makes it anew at each restart

	// Group names agents that are supervised together, see [Options.Groups].
	// Empty means the default group, which restarts each agent by itself.
	Group string

	// Capacity is the number of messages that each band of the agent's mailbox
	// holds. Zero means that of [Options].
	Capacity int

	// Hidden keeps the agent out of discovery, until its first [Self.Announce]; it can
	// be addressed all the same.
	Hidden bool
}

// MaxStartTime is how long Spawn waits for a [Starter] whose Start does not
// return, when the caller's context has no deadline of its own.
const MaxStartTime = 30 * time.Second
