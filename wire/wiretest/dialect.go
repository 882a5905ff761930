package wiretest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Dialect is a dialect for tests: a message is a JSON object, and its payload is undecoded
// JSON.
type Dialect struct{}

// Name returns "test".
func (Dialect) Name() string { return "test" }

// Recognizes reports whether frame is an object with the member act.
func (Dialect) Recognizes(frame []byte) bool { return wire.HasMember(frame, "act") }

// Open returns a stateless codec.
func (Dialect) Open(o wire.CodecOptions) (wire.Codec, error) { return codec{o}, nil }

type codec struct{ o wire.CodecOptions }

// form is the JSON form of a message.
type form struct {
	ID       performatives.MessageID
	Act      performatives.Performative `json:"act"`
	From, To performatives.AgentID
	Chat     performatives.ConversationID `json:",omitempty"`
	About    string                       `json:",omitempty"`
	Priority performatives.Priority       `json:",omitempty"`
	Time     int64
	Token    string          `json:",omitempty"`
	Payload  json.RawMessage `json:",omitempty"`
}

// ErrUnwritable is the error of Encode for a message with the ontology "unwritable".
var ErrUnwritable = errors.New("wiretest: unwritable")

// Decode decodes one message.
func (c codec) Decode(frame []byte, take func(wire.Inbound)) {
	var f form
	if err := json.Unmarshal(frame, &f); err != nil {
		r := &performatives.Refusal{Code: performatives.CodeParsingError, Text: fmt.Sprintf("%d bytes that are no message", len(frame))}
		take(wire.Inbound{Err: r, Answer: c.refusal(nil, "?", r)})
		return
	}
	m, err := performatives.New(performatives.Envelope{
		ID: f.ID, Performative: f.Act, Sender: f.From, Receiver: f.To, ConversationID: f.Chat, InReplyTo: f.About,
		Priority: f.Priority, Timestamp: timeOf(f.Time), Payload: performatives.Raw(f.Payload),
	})
	if err != nil {
		r := wire.AsRefusal(err)
		take(wire.Inbound{Err: r, Answer: c.refusal(nil, cmp.Or(string(f.ID), "?"), r)})
		return
	}
	take(wire.Inbound{Message: m, Token: f.Token})
}

// Encode encodes one message.
func (c codec) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	if m.Ontology() == "unwritable" {
		return dst, ErrUnwritable
	}
	f := form{
		ID: m.ID(), Act: m.Performative(), From: m.Sender(), To: m.Receiver(), Chat: m.ConversationID(), About: m.InReplyTo(),
		Priority: m.Priority(), Time: m.Timestamp().UnixNano(),
	}
	if c.o.Token != nil {
		f.Token = c.o.Token()
	}
	var err error
	if f.Payload, err = json.Marshal(m.Payload()); err != nil {
		return dst, err
	}
	b, err := json.Marshal(f)
	return append(dst, b...), err
}

// Refuse encodes a NOT_UNDERSTOOD with the refusal's code and text.
func (c codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	if in.Message == nil {
		return dst
	}
	return c.refusal(dst, string(in.Message.ID()), err)
}

func (c codec) refusal(dst []byte, about string, err error) []byte {
	r := wire.AsRefusal(err)
	stamp := c.o.Stamper.Stamp()
	m, err := performatives.New(performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Sender: c.o.Local, Receiver: "?", InReplyTo: about,
		Payload: performatives.NotUnderstood{ReasonCode: r.Code, ReasonText: r.Text},
	})
	if err != nil {
		panic(err)
	}
	b, err := codec{wire.CodecOptions{}}.Encode(dst, m)
	if err != nil {
		panic(err)
	}
	return b
}
