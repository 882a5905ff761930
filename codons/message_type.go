package codons

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Messages holds an application's message types of one codon under their names, such as
// REVIEW_REQUEST. Where an act has several types, the rows of the table name them by
// [machine.ReceiveTagged] and [machine.SendTagged]. Where an act has one type, the act without a
// tag stands for it.
type Messages map[string]MessageType

// MessageType is an application's message type on top of an act. [Says] makes it.
type MessageType struct {
	Act     performatives.Performative         // Act is the performative that carries the type.
	Payload reflect.Type                       // Payload is the type of the payload.
	Doc     string                             // Doc describes the message for the documentation, without a full stop.
	check   func(*performatives.Message) error // reports a payload that is not of the type
}

// Says returns a message type of an act with a payload of type P, a struct or a map.
func Says[P any](act performatives.Performative) MessageType {
	return MessageType{
		Act: act, Payload: reflect.TypeFor[P](),
		check: func(m *performatives.Message) error { _, err := performatives.PayloadAs[P](m); return err },
	}
}

// With returns a copy of the message type with a text for the documentation, without a full stop.
func (t MessageType) With(doc string) MessageType {
	t.Doc = doc
	return t
}

// holds reports whether a content is the payload of the message type.
func (t MessageType) holds(content any) bool {
	at := reflect.TypeOf(content)
	return at == t.Payload || at != nil && at.Kind() == reflect.Pointer && at.Elem() == t.Payload
}

// validate checks the names and acts of all message types, in the order of their names.
func (ms Messages) validate() error {
	for _, name := range ms.names() {
		if err := performatives.CheckMessageType(name); err != nil {
			return err
		}
		if t := ms[name]; !t.Act.Valid() || t.check == nil {
			return fmt.Errorf("the message type %s has no act or payload: use codons.Says", name)
		}
	}
	return nil
}

func (ms Messages) names() []string { return slices.Sorted(maps.Keys(ms)) }

// typeOf returns the message type of the message that an effect sends, empty for none. The
// receipt for a CANCEL has none.
func (c *Codon) typeOf(f machine.Effect) string {
	switch types := c.types[f.Act]; {
	case len(types) == 0 || f.Name == standard.TagReceipt:
		return ""
	case slices.Contains(types, f.Name):
		return f.Name
	case len(types) == 1:
		return types[0]
	}
	return ""
}

// tagOf returns the tag of a received message: that of the side, else the name of its message
// type. A message without a type has the only type of its act that the state expects. The error
// is a [*performatives.Refusal] for the field message_type.
func (v *Value) tagOf(m *performatives.Message) (string, error) {
	tag := v.side.Tag(v, m)
	types := v.codon.types[m.Performative()]
	if tag != "" || len(types) == 0 {
		return tag, nil
	}
	name := m.MessageType()
	if name == "" {
		expected := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !v.expects(m.Performative(), t) })
		switch len(expected) {
		case 0:
			return "", nil // the table handles it without a tag
		case 1:
			return expected[0], nil
		}
		return "", invalidType(m, fmt.Sprintf("message_type: want one of %q, got none", expected))
	}
	if !slices.Contains(types, name) {
		return "", invalidType(m, fmt.Sprintf("message_type: want one of %q, got %.64q", types, name))
	}
	return name, nil
}

// expects reports whether the state has a row for a message type of an act.
func (v *Value) expects(act performatives.Performative, name string) bool {
	on := machine.ReceiveTagged(act, name)
	if len(v.codon.types[act]) == 1 {
		on = machine.Receive(act)
	}
	return slices.Contains(v.machine.Expects(v.at), on) ||
		slices.Contains(v.machine.Expects(v.at), machine.ReceiveTagged(act, name))
}

func invalidType(m *performatives.Message, text string) error {
	return &performatives.Refusal{Code: performatives.CodeInvalidPayload, About: m.ID(), Field: "message_type", Text: text}
}

// typed is a command whose content is what the message type that it makes the table send
// says, or else CommandFail: a fault of the job that gave it, which is logged.
func (c *Conversation) typed(m Command) Command {
	t := c.machine.Find(c.at.Role, c.at.State, machine.Commanded(m.Name))
	if t == nil {
		return m
	}
	for _, f := range t.Do {
		name := c.codon.typeOf(f)
		if f.Kind != machine.EffectSend || name == "" || c.codon.Messages[name].holds(m.Data) {
			continue
		}
		c.agent.Logger().Error("the content of a command is not that of its message type", "conversation", string(c.key.ID),
			"command", m.Name, "message_type", name, "want", c.codon.Messages[name].Payload.String(), "got", fmt.Sprintf("%T", m.Data))
		if c.at.Role == machine.Responder {
			return invalidAnswer
		}
		err := fmt.Errorf("codons: %s: the content of the command %s is %T, want %s", c.Protocol(), m.Name, m.Data, c.codon.Messages[name].Payload)
		cause := func() error { return err }
		c.withdrawn.CompareAndSwap(nil, &cause)
		return Command{Name: standard.CommandCancel}
	}
	return m
}

// TagOf returns the tag of a message for a reader that does not take part in its
// conversation, such as a [machine.Monitor]: that of Definition.Tag, or the message type
// where the table tells message types apart. It does not tell the receipt for a CANCEL,
// which is known by what it answers: see [Codon.TagAfter].
func (c *Codon) TagOf(m *performatives.Message) string {
	if c.Tag != nil {
		return c.Tag(m)
	}
	name := m.MessageType()
	if name == "" || !slices.Contains(c.types[m.Performative()], name) {
		return ""
	}
	for _, r := range c.Table.Rows {
		if slices.Contains(r.Do, machine.SendTagged(m.Performative(), name)) {
			return name
		}
	}
	return ""
}

// TagAfter is TagOf for a message that may be the receipt for a CANCEL, the latest of its
// conversation. A nil cancel stands for none.
func (c *Codon) TagAfter(cancel, m *performatives.Message) string {
	if cancel != nil && m.Performative() == performatives.ActInform && m.Answers(cancel) && c.tagsReceipts() {
		return standard.TagReceipt
	}
	return c.TagOf(m)
}
