package codons

import (
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Record holds the events of one side of a conversation. [Rebuild] makes its [Value] of them.
type Record struct {
	Protocol string                       // Protocol is the name of the codon.
	Role     machine.Role                 // Role is the role of this side.
	Agent    performatives.AgentID        // Agent is the agent on this side.
	Peer     performatives.AgentID        // Peer is the agent on the other side; empty for a [Solo].
	ID       performatives.ConversationID // ID is the id of the conversation.
	First    *performatives.Message       // First is the message with which the conversation began on this side; nil for a [Solo].
	Events   []Input                      // Events are the events of this side, in their order.
}

// KindRecorded is the kind of [Recorded].
const KindRecorded events.Kind = "conversation.recorded"

// Recorded is published when one side of a conversation has ended. Only conversations that begin
// while a subscription wants it are recorded, and each [Solo]. Its slices must not be changed.
type Recorded struct {
	events.At
	Record Record                   // Record holds the events of the conversation.
	State  machine.State            // State is the terminal state.
	Data   any                      // Data is that of [Side]; nil for a side that has none.
	Sent   []*performatives.Message // Sent holds all messages of this side in their order, each once.
}

// Kind returns KindRecorded.
func (Recorded) Kind() events.Kind { return KindRecorded }

// MarshalJSON writes the identity of the side, its terminal state and the number of its events.
// It leaves their contents out.
func (r Recorded) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		lifecycle.Subject
		State  machine.State `json:"state"`
		Events int           `json:"events"`
	}{
		lifecycle.Subject{Agent: r.Record.Agent, Peer: r.Record.Peer, Conversation: r.Record.ID, Protocol: r.Record.Protocol, Role: r.Record.Role},
		r.State, len(r.Record.Events),
	})
}

// dataSide is a [Side] whose data can be compared with the data of a rebuilt side.
type dataSide interface{ Data() any }

// recorder records the events of one conversation.
type recorder struct {
	record Record
	stamps []performatives.Stamp // of the current step
	sent   []*performatives.Message
}

// end publishes the record of a conversation that has ended.
func (r *recorder) end(c *Conversation) {
	e := Recorded{At: events.At{Time: c.at.Updated}, Record: r.record, State: c.at.State, Data: c.Data(), Sent: r.sent}
	c.agent.System().Events.Publish(e)
}

// add records an event, with the ids and times that its step has used and the messages that
// it sends.
func (r *recorder) add(e *Input, actions []action) {
	e.Stamps = r.stamps
	r.stamps = nil
	r.record.Events = append(r.record.Events, *e)
	r.sent = appendSent(r.sent, actions)
}

// appendSent appends the new messages of a step.
func appendSent(sent []*performatives.Message, actions []action) []*performatives.Message {
	for _, a := range actions {
		if a.effect.Kind != machine.EffectResend && a.message != nil {
			sent = append(sent, a.message)
		}
	}
	return sent
}

// Rebuild reduces the events of a record on a new side of the codon, or of its
// [Definition.Variant]. It returns the value after the last event, and the messages that were sent,
// in order and without repeated ones. It is pure. The error is for a record of another codon, or
// names an event without a row in the table and wraps the [*machine.UnexpectedError].
func Rebuild(c *Codon, r Record) (*Value, []*performatives.Message, error) {
	switch {
	case c.Name() != r.Protocol || c.machine == nil:
		return nil, nil, fmt.Errorf("codons: the record of %s is of %q, not of %q", r.ID, r.Protocol, c.Name())
	case len(r.Events) == 0 || r.First == nil && len(c.machine.Opening()) > 0:
		return nil, nil, fmt.Errorf("codons: the record of %s has no first message or no events", r.ID)
	}
	c = c.variant(r.Events[0])
	key := actors.Key{ID: r.ID, Peer: r.Peer, Initiator: r.Role == machine.Initiator}
	v := new(Value)
	v.set(c, r.Role, r.Agent, key, r.First, c.newSide(r.Role), r.Events[0].At)
	var sent []*performatives.Message
	for i := range r.Events {
		e := r.Events[i]
		actions, err := v.reduce(&e, &replayed{e.Stamps}, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("codons: event %d of %s: %w", i, r.ID, err)
		}
		sent = appendSent(sent, actions)
	}
	return v, sent, nil
}

// Data returns the data of the value's side ([Side]); nil for a side that has none.
func (v *Value) Data() any {
	if k, ok := v.side.(dataSide); ok {
		return k.Data()
	}
	return nil
}

// replayed returns the ids and times of a recorded event again.
type replayed struct{ stamps []performatives.Stamp }

func (r *replayed) stamp() performatives.Stamp {
	if len(r.stamps) == 0 {
		return performatives.Stamp{}
	}
	s := r.stamps[0]
	r.stamps = r.stamps[1:]
	return s
}
