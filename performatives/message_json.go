package performatives

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// rawType is the PayloadType of a [Raw] payload.
const rawType = "raw"

// MessageJSON is a message as it is written to a record: every field of its [Envelope]
// but the Shape, which belongs to the dialect of one process. It is not a wire format:
// a dialect writes messages for peers.
type MessageJSON struct {
	ID             MessageID       `json:"id"`
	Performative   Performative    `json:"performative"`
	Sender         AgentID         `json:"sender"`
	Receiver       AgentID         `json:"receiver,omitempty"`
	ConversationID ConversationID  `json:"conversation_id"`
	Protocol       string          `json:"protocol,omitempty"`
	MessageType    string          `json:"message_type,omitempty"`
	InReplyTo      string          `json:"in_reply_to,omitempty"`
	ReplyWith      string          `json:"reply_with,omitempty"`
	ReplyBy        time.Time       `json:"reply_by,omitzero"`
	Language       string          `json:"language,omitempty"`
	Ontology       string          `json:"ontology,omitempty"`
	Priority       Priority        `json:"priority,omitempty"`
	Timestamp      time.Time       `json:"timestamp"`
	Trace          string          `json:"trace,omitempty"`
	Budget         json.RawMessage `json:"budget,omitempty"`
	Principal      string          `json:"principal,omitempty"`
	Activation     uint64          `json:"activation,omitempty"`
	Answers        uint64          `json:"answers,omitempty"`
	Metadata       Members         `json:"metadata,omitempty"`
	PayloadType    string          `json:"payload_type,omitempty"` // see [TypeName]; empty without a payload
	Payload        json.RawMessage `json:"payload,omitempty"`
}

// TypeName returns the name by which a [MessageJSON] states the Go type of a payload:
// "raw" for [Raw], the empty string for nil.
func TypeName(payload any) string {
	switch payload.(type) {
	case nil:
		return ""
	case Raw:
		return rawType
	}
	return reflect.TypeOf(payload).String()
}

// JSON returns the message for a record. The error says that its payload or its budget
// cannot be marshalled.
func (m *Message) JSON() (MessageJSON, error) {
	e := m.envelope()
	out := MessageJSON{
		ID: e.ID, Performative: e.Performative, Sender: e.Sender, Receiver: e.Receiver, ConversationID: e.ConversationID,
		Protocol: e.Protocol, MessageType: e.MessageType, InReplyTo: e.InReplyTo, ReplyWith: e.ReplyWith, ReplyBy: e.ReplyBy,
		Language: e.Language, Ontology: e.Ontology, Priority: e.Priority, Timestamp: e.Timestamp, Trace: e.Trace, Principal: e.Principal, Activation: e.Activation, Answers: e.Answers,
		Metadata: maps.Clone(e.Metadata), PayloadType: TypeName(e.Payload),
	}
	maps.DeleteFunc(out.Metadata, func(_ string, value json.RawMessage) bool { return len(value) == 0 }) // see [Members]
	var errBudget, errPayload error
	if !e.Budget.IsZero() {
		out.Budget, errBudget = e.Budget.MarshalJSON()
	}
	if e.Payload != nil {
		out.Payload, errPayload = json.Marshal(e.Payload)
	}
	if err := errors.Join(errBudget, errPayload); err != nil {
		return MessageJSON{}, fmt.Errorf("performatives: message %s as JSON: %w", e.ID, err)
	}
	return out, nil
}

// Message returns the message that was recorded. types has the types of payloads by
// their [TypeName]; a payload of another type is [Raw], but for the built-in types of the
// message's act. The error is that of [New], or says which payload does not fit its type.
func (j MessageJSON) Message(types map[string]reflect.Type) (*Message, error) {
	payload, err := j.payload(types)
	if err != nil {
		return nil, fmt.Errorf("performatives: payload %s of the recorded message %s: %w", j.PayloadType, j.ID, err)
	}
	return New(Envelope{
		ID: j.ID, Performative: j.Performative, Sender: j.Sender, Receiver: j.Receiver, ConversationID: j.ConversationID,
		Protocol: j.Protocol, MessageType: j.MessageType, InReplyTo: j.InReplyTo, ReplyWith: j.ReplyWith, ReplyBy: j.ReplyBy,
		Language: j.Language, Ontology: j.Ontology, Priority: j.Priority, Timestamp: j.Timestamp, Trace: j.Trace,
		Budget: RawContent(j.Budget), Principal: j.Principal, Activation: j.Activation, Answers: j.Answers, Metadata: j.Metadata, Payload: payload,
	})
}

func (j MessageJSON) payload(types map[string]reflect.Type) (any, error) {
	switch t := types[j.PayloadType]; {
	case j.PayloadType == "":
		return nil, nil //nolint:nilnil // nil is the payload of an act without content
	case t != nil && j.PayloadType != rawType:
		return decodeAs(t, j.Payload)
	case j.Performative.Valid() && builtin[j.Performative] != nil:
		v, err := builtin[j.Performative](j.Payload)
		if err == nil && TypeName(v) == j.PayloadType {
			return v, nil
		}
	}
	return Raw(bytes.Clone(j.Payload)), nil
}

// decodeAs decodes JSON to a value of type t.
func decodeAs(t reflect.Type, raw json.RawMessage) (any, error) {
	v := reflect.New(t)
	if err := jsonscan.Unmarshal(raw, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}
