package actors

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Event is something that happened in the runtime and can be observed on its
// stream, [Events]. The types here and those that the codon library adds are the
// only ones.
type Event interface {
	// EventTime returns when it happened.
	EventTime() time.Time
}

// At is the time of an event; every event type embeds it.
type At struct{ Time time.Time }

// EventTime returns the time.
func (a At) EventTime() time.Time { return a.Time }

// MessageSent says that an agent has sent a message, before it is routed.
type MessageSent struct {
	At
	Message *performatives.Message
}

// MessageReceived says that an agent has taken a message out of its mailbox.
type MessageReceived struct {
	At
	Agent   performatives.AgentID
	Message *performatives.Message
}

// MessageRefused says that a message was not served and that its sender is told,
// by an error or by an answer.
type MessageRefused struct {
	At
	Message *performatives.Message
	Refusal *performatives.Refusal
}

// DeadLetter says that a message could not be delivered, or came too late, and
// that nobody waits for an answer to it. Message is a *performatives.Message, or
// whatever else was sent to an actor that is not there.
type DeadLetter struct {
	At
	To      string // the agent or actor that it was for
	Message any
	Code    performatives.Code
}

// Supervised says what a supervisor decided about an agent or conversation that
// failed.
type Supervised struct {
	At
	Agent performatives.AgentID // who failed, or whose conversation; empty for a group of agents
	SupervisionEvent
}

// AgentStarted says that an agent runs, for the first time or again.
type AgentStarted struct {
	At
	Agent performatives.AgentID
	Again bool // after a restart
}

// AgentAnnounced says that an agent can be found from now on, as one that can do what
// it says here and nothing else.
type AgentAnnounced struct {
	At
	Agent        performatives.AgentID
	Capabilities performatives.Capabilities // not to be changed
}

// AgentStopped says that an agent that had started has stopped for good.
type AgentStopped struct {
	At
	Agent performatives.AgentID
}

// WorkAbandoned says that a handler's context has ended, its conversation is over,
// and it has not returned within the grace of its codon. It counts as still running
// until it returns.
type WorkAbandoned struct {
	At
	Agent        performatives.AgentID
	Conversation performatives.ConversationID
}
