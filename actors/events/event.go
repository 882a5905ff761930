package events

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Event is one thing that happened on a node and that can be observed on its stream,
// [Stream]. Every event is a struct type that embeds [At] and has a [Kind] of its own.
// Packages above this one add their types; the type is never changed after it was
// published.
//
// The JSON form of an event, as encoding/json writes it, is an object with the members
// of its type in snake_case. It has no members "kind", "seq" and "time", which are those
// of its [Record]. It holds no payload and no credential.
type Event interface {
	// Kind returns the kind of the type: every value of one type returns the same
	// constant, the zero value included.
	Kind() Kind

	// EventTime returns when it happened.
	EventTime() time.Time
}

// Kind names a type of event: the subject, a dot, and what happened to it. Kinds are part
// of the JSON form, are unique in the program and do not change.
type Kind string

// The kinds of the events of this package.
const (
	KindMessageSent         Kind = "message.sent"
	KindMessageReceived     Kind = "message.received"
	KindMessageRefused      Kind = "message.refused"
	KindMessageDeadLettered Kind = "message.dead_lettered"
	KindAgentStarted        Kind = "agent.started"
	KindAgentAnnounced      Kind = "agent.announced"
	KindAgentStopped        Kind = "agent.stopped"
	KindSupervisionDecided  Kind = "supervision.decided"
	KindJobAbandoned        Kind = "job.abandoned"
	KindNodeOverload        Kind = "node.overload"
)

// At is the time of an event; every event type embeds it.
type At struct {
	Time time.Time `json:"-"` // the record writes it
}

// EventTime returns the time.
func (a At) EventTime() time.Time { return a.Time }

// MessageSent says that an agent has sent a message, before it is routed.
type MessageSent struct {
	At
	Message *performatives.Message
}

// Kind returns KindMessageSent.
func (MessageSent) Kind() Kind { return KindMessageSent }

// MessageReceived says that an agent has taken a message out of its mailbox.
type MessageReceived struct {
	At
	Agent   performatives.AgentID
	Message *performatives.Message
}

// Kind returns KindMessageReceived.
func (MessageReceived) Kind() Kind { return KindMessageReceived }

// MessageRefused says that a message was not served and that its sender is told,
// by an error or by an answer.
type MessageRefused struct {
	At
	Message *performatives.Message
	Refusal *performatives.Refusal
}

// Kind returns KindMessageRefused.
func (MessageRefused) Kind() Kind { return KindMessageRefused }

// DeadLetter says that a message could not be delivered, or arrived too late, and
// that no answer to it is expected. Message is a *performatives.Message, or any other
// value that was sent to an actor that does not exist.
type DeadLetter struct {
	At
	To      string // the agent or actor that it was for
	Message any
	Code    performatives.Code
}

// Kind returns KindMessageDeadLettered.
func (DeadLetter) Kind() Kind { return KindMessageDeadLettered }

// Supervised says what a supervisor decided about an agent or conversation that
// failed.
type Supervised struct {
	At
	Agent        performatives.AgentID        // the agent that failed, or whose conversation failed; empty for a group of agents
	Conversation performatives.ConversationID // the conversation that failed; empty for an agent or a group
	Decision
}

// Kind returns KindSupervisionDecided.
func (Supervised) Kind() Kind { return KindSupervisionDecided }

// Decision is one decision of a supervisor.
type Decision struct {
	Child     *actor.PID      // the failed child; for a conversation, its agent's with a slash and the conversation id appended, which the engine does not know
	Directive actor.Directive // the decision
	Reason    error           // the failure
	Stack     []byte          // stack of the panic; nil for other failures
	Restarts  int             // restarts of the child within the window, including this one
	Delay     time.Duration   // delay before the restart
}

// AgentStarted says that an agent runs, for the first time or again.
type AgentStarted struct {
	At
	Agent performatives.AgentID `json:"agent"`
	Again bool                  `json:"again"` // after a restart
	Roles []string              `json:"roles"` // the codons that its type answers and not every agent does; not to be changed
}

// Kind returns KindAgentStarted.
func (AgentStarted) Kind() Kind { return KindAgentStarted }

// AgentAnnounced says that an agent can be found from now on, as one that can do what
// it says here and nothing else. The JSON form has the topics and the names of the actions.
type AgentAnnounced struct {
	At
	Agent        performatives.AgentID
	Capabilities performatives.Capabilities // not to be changed
}

// Kind returns KindAgentAnnounced.
func (AgentAnnounced) Kind() Kind { return KindAgentAnnounced }

// AgentStopped says that a started agent has stopped for good, or that an agent of another process
// with announced capabilities has left.
type AgentStopped struct {
	At
	Agent performatives.AgentID `json:"agent"`
}

// Kind returns KindAgentStopped.
func (AgentStopped) Kind() Kind { return KindAgentStopped }

// WorkAbandoned says that a handler's context has ended, its conversation is over,
// and it has not returned within the grace of its codon. It counts as still running
// until it returns.
type WorkAbandoned struct {
	At
	Agent        performatives.AgentID        `json:"agent"`
	Conversation performatives.ConversationID `json:"conversation_id"`
}

// Kind returns KindJobAbandoned.
func (WorkAbandoned) Kind() Kind { return KindJobAbandoned }

// Overload is the begin or the end of an overload. At the begin a node refuses requests because it
// has more work than its processors can do; at the end it has refused none for a second.
type Overload struct {
	At
	Refusing bool   `json:"refusing"`
	Refused  uint64 `json:"refused"` // requests that were refused for this since the node started
	Queued   int    `json:"queued"`  // handlers that wait for a processor
	Working  int    `json:"working"` // handlers that run
}

// Kind returns KindNodeOverload.
func (Overload) Kind() Kind { return KindNodeOverload }
