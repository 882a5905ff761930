package actors

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Agent is the interface of every agent. Optional interfaces extend it: the hooks of this
// package ([Receiver], [Starter], [Stopper]) and the roles of the codon library, each of
// which lets the agent answer one kind of conversation.
//
// An agent's methods run on its own actor, one at a time, unless a role says otherwise,
// so its fields need no lock. The methods must not block: long work belongs in a
// conversation.
type Agent interface {
	// Describe returns the agent's capabilities, for discovery. [System.Spawn] calls it
	// once, on the caller's goroutine, before the agent starts. Its result must be
	// constant: use [Self.Announce] for capabilities that change.
	Describe() performatives.Capabilities
}

// Receiver is an [Agent] that handles messages which belong to none of its conversations
// and open none.
type Receiver interface {
	Agent
	// Receive handles one message. If the message expects a reply and Receive sends none,
	// the sender waits until its own deadline.
	Receive(c *Context, m *performatives.Message)
}

// Starter is an [Agent] with an initialisation hook.
type Starter interface {
	Agent
	// Start runs on the agent's actor before the first message, and again after each
	// restart on a new value. An error or panic in the first Start makes Spawn fail. In a
	// later one it counts as a failure of the agent.
	Start(c *Context) error
}

// Stopper is an [Agent] with a cleanup hook.
type Stopper interface {
	Agent
	// Stop runs on the agent's actor after the last message, when the agent stops and
	// before each restart, unless its Start failed. It may send messages, but the agent
	// receives no replies any more.
	Stop(c *Context)
}

// Movable is an [Agent] whose state goes along when it moves to another node or leaves memory for a
// while. It must contain all that the agent needs to continue; conversations do not move.
type Movable interface {
	Agent
	// Snapshot returns the state. It runs on the agent's actor after the last message, before Stop.
	// After an error the agent continues without its state.
	Snapshot() ([]byte, error)
	// Restore takes the result of Snapshot, also of an earlier version of the program. It runs on
	// the agent's actor, before Start. An error is one of Start. It is not called again after a
	// restart, which begins with a fresh value.
	Restore(state []byte) error
}

// Spec describes an agent to spawn.
type Spec struct {
	ID  performatives.AgentID // required; compared case-insensitively
	New func() Agent          // required: creates the agent's value, at the start and at each restart

	// Group is the name of the agent's supervision group, a key of [Options.Groups].
	// Agents of one group are supervised together. Empty means the default group, which
	// restarts each agent by itself unless Options.Groups configures it.
	Group string

	// Capacity is the largest number of messages per band of the agent's mailbox. Zero
	// means [Options.Capacity].
	Capacity int

	// State is passed to Restore of a [Movable] agent. Nil means that Restore is not called.
	State []byte

	// Activation is the number of this run of an agent that a cluster places, greater than that of
	// each earlier run: see [performatives.Message.Activation]. Zero means that the agent is not
	// placed.
	Activation uint64

	// Sealer signs and encrypts the payloads of the agent. Its messages are sent by [Self.Send]
	// only. Nil leaves payloads as they are. An agent with an Activation has none.
	Sealer Sealer

	// Hidden excludes the agent from discovery until its first [Self.Announce]. A hidden
	// agent can still be addressed by its id.
	Hidden bool
}

// MaxStartTime is the longest time that Spawn waits for Start to return. An earlier
// deadline of the caller's context applies first.
const MaxStartTime = 30 * time.Second
