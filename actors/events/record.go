package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Record is an event with its place in the stream of its node.
type Record struct {
	// Seq numbers the published events of a node, from 1 on. In one subscription it
	// strictly increases. A gap in it is an event of a kind that the subscription does
	// not want, or one that it has lost: see [Subscription.Lost].
	Seq uint64
	Event
}

// MarshalJSON writes the JSON form of the event: an object with the members "kind", "seq",
// "time" (RFC 3339, in UTC), and those of the event's type.
func (r Record) MarshalJSON() ([]byte, error) {
	members, err := json.Marshal(r.Event)
	if err != nil {
		return nil, fmt.Errorf("events: event %s: %w", r.Kind(), err)
	}
	if len(members) < 2 || members[0] != '{' {
		return nil, fmt.Errorf("events: event %s: its JSON is no object: %.20s", r.Kind(), members)
	}
	text := append([]byte(`{"kind":`), strconv.Quote(string(r.Kind()))...)
	text = strconv.AppendUint(append(text, `,"seq":`...), r.Seq, 10)
	text = append(r.EventTime().UTC().AppendFormat(append(text, `,"time":"`...), time.RFC3339Nano), '"')
	if len(members) > len("{}") {
		text = append(text, ',')
	}
	return append(text, members[1:]...), nil
}

// messageFacts is the JSON form of a message in an event: its envelope without the
// payload, the metadata and the budget.
type messageFacts struct {
	ID           performatives.MessageID      `json:"id"`
	Performative string                       `json:"performative"`
	MessageType  string                       `json:"message_type,omitempty"` // empty for none
	Sender       performatives.AgentID        `json:"sender"`
	Receiver     performatives.AgentID        `json:"receiver,omitempty"` // empty for a broadcast
	Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
	Protocol     string                       `json:"protocol,omitempty"`
	InReplyTo    string                       `json:"in_reply_to,omitempty"`
	Priority     string                       `json:"priority"`
	Principal    string                       `json:"principal,omitempty"` // empty for none
	Trace        string                       `json:"traceparent,omitempty"`
}

func factsOf(m *performatives.Message) *messageFacts {
	if m == nil {
		return nil
	}
	return &messageFacts{
		ID: m.ID(), Performative: m.Performative().String(), MessageType: m.MessageType(), Sender: m.Sender(), Receiver: m.Receiver(),
		Conversation: m.ConversationID(), Protocol: m.Protocol(), InReplyTo: m.InReplyTo(), Priority: m.Priority().String(), Principal: m.Principal(), Trace: m.Trace(),
	}
}

// MarshalJSON writes the member "message".
func (e MessageSent) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Message *messageFacts `json:"message"`
	}{factsOf(e.Message)})
}

// MarshalJSON writes the members "agent" and "message".
func (e MessageReceived) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Agent   performatives.AgentID `json:"agent"`
		Message *messageFacts         `json:"message"`
	}{e.Agent, factsOf(e.Message)})
}

// MarshalJSON writes the members "code", "refused_by" and "message". The text of a refusal
// may be an agent's own, and is left out.
func (e MessageRefused) MarshalJSON() ([]byte, error) {
	text := struct {
		Code    performatives.Code    `json:"code,omitempty"`
		From    performatives.AgentID `json:"refused_by,omitempty"` // empty for the runtime
		Message *messageFacts         `json:"message"`
	}{Message: factsOf(e.Message)}
	if e.Refusal != nil {
		text.Code, text.From = e.Refusal.Code, e.Refusal.From
	}
	return json.Marshal(text)
}

// MarshalJSON writes the members "to", "code", and "message" or, for a value that is no
// message, "type".
func (e DeadLetter) MarshalJSON() ([]byte, error) {
	text := struct {
		To      string             `json:"to"`
		Code    performatives.Code `json:"code"`
		Type    string             `json:"type,omitempty"`
		Message *messageFacts      `json:"message,omitempty"`
	}{To: e.To, Code: e.Code}
	if m, ok := e.Message.(*performatives.Message); ok {
		text.Message = factsOf(m)
	} else {
		text.Type = fmt.Sprintf("%T", e.Message)
	}
	return json.Marshal(text)
}

// MarshalJSON writes the decision. "reason" is the text of the failure.
func (e Supervised) MarshalJSON() ([]byte, error) {
	text := struct {
		Agent        performatives.AgentID        `json:"agent,omitempty"`
		Conversation performatives.ConversationID `json:"conversation_id,omitempty"`
		Child        string                       `json:"child"`
		Directive    string                       `json:"directive"`
		Reason       string                       `json:"reason,omitempty"`
		Restarts     int                          `json:"restarts"`
		Delay        float64                      `json:"delay_seconds"`
		Stack        string                       `json:"stack,omitempty"`
	}{e.Agent, e.Conversation, e.Child.GetId(), strings.ToLower(strings.TrimSuffix(e.Directive.String(), "Directive")), "", e.Restarts, e.Delay.Seconds(), string(e.Stack)}
	if e.Reason != nil {
		text.Reason = e.Reason.Error()
	}
	return json.Marshal(text)
}

// MarshalJSON writes the members "agent", "topics" and "actions".
func (e AgentAnnounced) MarshalJSON() ([]byte, error) {
	actions := make([]string, len(e.Capabilities.Actions))
	for i, a := range e.Capabilities.Actions {
		actions[i] = a.Name
	}
	return json.Marshal(struct {
		Agent   performatives.AgentID `json:"agent"`
		Topics  []string              `json:"topics,omitempty"`
		Actions []string              `json:"actions,omitempty"`
	}{e.Agent, e.Capabilities.Topics, actions})
}
