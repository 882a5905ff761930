package codons

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// recordJSON is the JSON form of a [Record].
type recordJSON struct {
	Protocol string                       `json:"protocol"`
	Role     machine.Role                 `json:"role"`
	Agent    performatives.AgentID        `json:"agent"`
	Peer     performatives.AgentID        `json:"peer"`
	ID       performatives.ConversationID `json:"conversation_id"`
	First    *performatives.MessageJSON   `json:"first,omitempty"` // where it is not the message of the first event
	Events   []eventJSON                  `json:"events"`
}

// eventJSON is the JSON form of an [Input].
type eventJSON struct {
	On      symbolJSON                 `json:"on"`
	At      time.Time                  `json:"at"`
	Message *performatives.MessageJSON `json:"message,omitempty"`
	Data    json.RawMessage            `json:"data,omitempty"`
	Moves   bool                       `json:"moves,omitempty"`
	Final   bool                       `json:"final,omitempty"`
	Used    Budget                     `json:"used,omitzero"` // an empty budget is not the same as none
	Stamps  []stampJSON                `json:"stamps,omitempty"`

	Ontology string `json:"ontology,omitempty"`
}

// symbolJSON is the JSON form of a [machine.Symbol].
type symbolJSON struct {
	Kind string `json:"kind"`
	Act  string `json:"act,omitempty"`
	Name string `json:"name,omitempty"`
}

// stampJSON is the JSON form of a [performatives.Stamp].
type stampJSON struct {
	ID   performatives.MessageID `json:"id"`
	Time time.Time               `json:"time"`
}

// MarshalJSON writes all that [Rebuild] needs; [ReadRecord] reads it. The Shape of
// messages is left out. The error says which content cannot be written.
func (r Record) MarshalJSON() ([]byte, error) {
	out := recordJSON{Protocol: r.Protocol, Role: r.Role, Agent: r.Agent, Peer: r.Peer, ID: r.ID, Events: make([]eventJSON, len(r.Events))}
	for i := range r.Events {
		e, err := r.Events[i].json()
		if err != nil {
			return nil, fmt.Errorf("codons: event %d of %s: %w", i, r.ID, err)
		}
		out.Events[i] = e
	}
	if r.First != nil && (len(r.Events) == 0 || r.Events[0].Message != r.First) {
		first, err := r.First.JSON()
		if err != nil {
			return nil, fmt.Errorf("codons: the first message of %s: %w", r.ID, err)
		}
		out.First = &first
	}
	return json.Marshal(out)
}

func (e *Input) json() (eventJSON, error) {
	out := eventJSON{On: symbolJSON{Kind: e.On.Kind.String(), Name: e.On.Name}, At: e.At, Moves: e.Moves, Final: e.Final, Used: e.Used, Ontology: e.Ontology}
	if e.On.Act != 0 {
		out.On.Act = e.On.Act.String()
	}
	for _, s := range e.Stamps {
		out.Stamps = append(out.Stamps, stampJSON(s))
	}
	if e.Message != nil {
		m, err := e.Message.JSON()
		if err != nil {
			return eventJSON{}, err
		}
		out.Message = &m
	}
	if e.Data == nil {
		return out, nil
	}
	var err error
	out.Data, err = json.Marshal(e.Data)
	return out, err
}

// ReadRecord reads a record that [Record.MarshalJSON] wrote. It decodes contents of
// commands, and payloads, to the types that the codon registers, others to
// [performatives.Raw]. cs has the codons to choose from by the record's protocol, such as
// those of the package library. The result is that codon, or its [Definition.Variant]. The
// error names the event that makes no sense.
func ReadRecord(b []byte, cs ...*Codon) (*Codon, Record, error) {
	var in recordJSON
	if err := performatives.Unmarshal(b, &in); err != nil {
		return nil, Record{}, fmt.Errorf("codons: a record: %w", err)
	}
	i := slices.IndexFunc(cs, func(c *Codon) bool { return c.Name() == in.Protocol && c.machine != nil })
	if i < 0 {
		return nil, Record{}, fmt.Errorf("codons: the record of %s is of %q, which none of the %d codons is", in.ID, in.Protocol, len(cs))
	}
	c := cs[i]
	if c.Variant != nil && len(in.Events) > 0 {
		first, err := in.Events[0].event(c, c.payloadTypes())
		if err != nil {
			return nil, Record{}, fmt.Errorf("codons: event 0 of the record of %s: %w", in.ID, err)
		}
		c = c.variant(first)
	}
	r, err := in.record(c)
	if err != nil {
		return nil, Record{}, err
	}
	return c, r, nil
}

func (in *recordJSON) record(c *Codon) (Record, error) {
	r := Record{Protocol: in.Protocol, Role: in.Role, Agent: in.Agent, Peer: in.Peer, ID: in.ID, Events: make([]Input, len(in.Events))}
	types := c.payloadTypes()
	for i := range in.Events {
		e, err := in.Events[i].event(c, types)
		if err != nil {
			return Record{}, fmt.Errorf("codons: event %d of the record of %s: %w", i, in.ID, err)
		}
		r.Events[i] = e
	}
	if in.First == nil {
		if len(r.Events) > 0 {
			r.First = r.Events[0].Message
		}
		return r, nil
	}
	var err error
	if r.First, err = in.First.Message(types); err != nil {
		return Record{}, fmt.Errorf("codons: the first message of the record of %s: %w", in.ID, err)
	}
	return r, nil
}

func (in *eventJSON) event(c *Codon, types map[string]reflect.Type) (Input, error) {
	e := Input{At: in.At, Moves: in.Moves, Final: in.Final, Used: in.Used, Ontology: in.Ontology}
	var err error
	if e.On, err = in.On.symbol(); err != nil {
		return Input{}, err
	}
	for _, s := range in.Stamps {
		e.Stamps = append(e.Stamps, performatives.Stamp(s))
	}
	if in.Message != nil {
		if e.Message, err = in.Message.Message(types); err != nil {
			return Input{}, err
		}
	}
	switch {
	case len(in.Data) == 0:
	case e.hasCode():
		var code performatives.Code
		err = json.Unmarshal(in.Data, &code)
		e.Data = code
	default:
		e.Data, err = c.content(in.On.Name, in.Data)
	}
	return e, err
}

// symbol returns the symbol that was recorded. Wildcards are not events.
func (in symbolJSON) symbol() (machine.Symbol, error) {
	s := machine.Symbol{Name: in.Name}
	for k := machine.KindReceive; k <= machine.KindPeerLost; k++ {
		if k.String() == in.Kind {
			s.Kind = k
		}
	}
	if s.Kind == 0 {
		return s, fmt.Errorf("on.kind: want the kind of an event, got %.32q", in.Kind)
	}
	if in.Act == "" {
		return s, nil
	}
	var err error
	s.Act, err = performatives.ParsePerformative(in.Act)
	return s, err
}

// content decodes the content of a command.
func (c *Codon) content(command string, raw json.RawMessage) (any, error) {
	t, ok := c.contents[command]
	switch {
	case !ok || t == reflect.TypeFor[performatives.Raw]():
		return performatives.Raw(raw), nil
	case t == nil:
		return nil, fmt.Errorf("data: the command %s has no content", command)
	}
	v := reflect.New(t)
	if err := performatives.Unmarshal(raw, v.Interface()); err != nil {
		return nil, fmt.Errorf("data of the command %s: %w", command, err)
	}
	return v.Elem().Interface(), nil
}

// payloadTypes are the types of the codon's payloads by their [performatives.TypeName].
func (c *Codon) payloadTypes() map[string]reflect.Type {
	types := make(map[string]reflect.Type)
	for _, p := range slices.Concat(c.Payloads, c.sharedPayloads()) {
		if p.Type != nil {
			types[performatives.TypeName(p.Type)] = reflect.TypeOf(p.Type)
		}
	}
	for _, m := range c.Messages {
		types[m.Payload.String()] = m.Payload
	}
	return types
}
