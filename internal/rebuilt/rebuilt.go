// Package rebuilt compares recorded conversations with what their events rebuild.
package rebuilt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Outcome is what one side of a conversation came to: its terminal state, what its side
// keeps, and all messages that it sent.
type Outcome struct {
	State    machine.State     `json:"state"`
	Data     json.RawMessage   `json:"data"`
	Messages []json.RawMessage `json:"messages"`
}

// Live returns the outcome of a conversation that was recorded as it ran.
func Live(e codons.Recorded) (Outcome, error) { return outcome(e.State, e.Data, e.Sent) }

// FromJSON returns the outcome of a conversation that is rebuilt from its events in JSON.
func FromJSON(b []byte, cs ...*codons.Codon) (Outcome, error) {
	c, r, err := codons.ReadRecord(b, cs...)
	if err != nil {
		return Outcome{}, err
	}
	v, sent, err := codons.Rebuild(c, r)
	if err != nil {
		return Outcome{}, err
	}
	return outcome(v.State(), v.Data(), sent)
}

func outcome(at machine.State, data any, sent []*performatives.Message) (Outcome, error) {
	o := Outcome{State: at}
	var err error
	if o.Data, err = json.Marshal(data); err != nil {
		return Outcome{}, fmt.Errorf("rebuilt: the data of a side: %w", err)
	}
	for _, m := range sent {
		text, err := m.JSON()
		if err != nil {
			return Outcome{}, err
		}
		text.PayloadType = "" // a type of the application's own is Raw once it was JSON
		b, err := json.Marshal(text)
		if err != nil {
			return Outcome{}, fmt.Errorf("rebuilt: message %s: %w", m.ID(), err)
		}
		o.Messages = append(o.Messages, b)
	}
	return o, nil
}

// Diff says what differs between two outcomes, nothing if they are equal.
func (o Outcome) Diff(other Outcome) string {
	switch {
	case o.State != other.State:
		return fmt.Sprintf("the state is %s, and %s once rebuilt", o.State, other.State)
	case !same(o.Data, other.Data):
		return fmt.Sprintf("the data is\n%s\nand once rebuilt\n%s", o.Data, other.Data)
	case len(o.Messages) != len(other.Messages):
		return fmt.Sprintf("%d messages were sent, and %d once rebuilt", len(o.Messages), len(other.Messages))
	}
	for i, m := range o.Messages {
		if !same(m, other.Messages[i]) {
			return fmt.Sprintf("message %d is\n%s\nand once rebuilt\n%s", i, m, other.Messages[i])
		}
	}
	return ""
}

// same reports whether two texts are the same JSON.
func same(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || performatives.RawContent(a).Equal(performatives.RawContent(b))
}

// Check rebuilds a recorded conversation from its events, and again from their JSON. The
// error says what differs from the live one.
func Check(e codons.Recorded, cs ...*codons.Codon) error {
	if err := CheckEvents(e, cs...); err != nil {
		return err
	}
	text, err := e.Record.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: %w", name(e), err)
	}
	again, err := FromJSON(text, cs...)
	return compare(e, "the JSON of its events", again, err)
}

// CheckEvents is Check without the JSON.
func CheckEvents(e codons.Recorded, cs ...*codons.Codon) error {
	i := slices.IndexFunc(cs, func(c *codons.Codon) bool { return c.Name() == e.Record.Protocol })
	if i < 0 {
		return fmt.Errorf("%s: no such codon", name(e))
	}
	v, sent, err := codons.Rebuild(cs[i], e.Record)
	if err != nil {
		return fmt.Errorf("%s: from its events: %w", name(e), err)
	}
	if e.State == v.State() && reflect.DeepEqual(e.Data, v.Data()) && reflect.DeepEqual(e.Sent, sent) {
		return nil // equal values have the same JSON
	}
	again, err := outcome(v.State(), v.Data(), sent)
	return compare(e, "its events", again, err)
}

// name names a recorded conversation in an error.
func name(e codons.Recorded) string {
	return fmt.Sprintf("%s of %s with %s, %s (%s)", e.Record.ID, e.Record.Agent, e.Record.Peer, e.Record.Protocol, e.Record.Role)
}

// compare compares a recorded conversation, as JSON, with the outcome that was rebuilt from one
// form of its record. It returns the error of the rebuilding, if there is one.
func compare(e codons.Recorded, form string, again Outcome, err error) error {
	if err != nil {
		return fmt.Errorf("%s: from %s: %w", name(e), form, err)
	}
	live, err := Live(e)
	if err != nil {
		return fmt.Errorf("%s: %w", name(e), err)
	}
	if diff := live.Diff(again); diff != "" {
		return fmt.Errorf("%s: from %s: %s", name(e), form, diff)
	}
	return nil
}
