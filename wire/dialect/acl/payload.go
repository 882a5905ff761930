package acl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// payload decodes the payload, and reads the message's priority from it.
func (d *decoder) payload() {
	v := d.Values[memPayload]
	switch {
	case jsonscan.IsNone(v):
		d.blank(memPayload)
		_, registered := d.codec.opts.Registry.MessageTypeAct(d.out.MessageType)
		if _, err := d.codec.opts.Registry.DecodeTyped(d.out.Performative, d.out.MessageType, d.out.Ontology, nil); registered {
			d.Refuse(exchange.Renamed(err, nil)) // the type demands a payload
		}
	case v[0] != '{':
		d.Invalid("payload", "an object", v)
	default:
		priority, ok := readPriority(d.Nested.Values[nestedPriority])
		if !ok && d.out.Performative == performatives.ActTaskRequest && d.out.MessageType == "" {
			d.Wrong("payload.priority", "low, medium, normal, high, urgent or 1 to 5, got %.32s", d.Nested.Values[nestedPriority])
		}
		d.out.Priority = priority
		d.content(v)
	}
}

// content decodes the payload to the type that is registered for it.
func (d *decoder) content(v []byte) {
	var err error
	if d.shape.bare = d.isBare(); d.shape.bare {
		d.shape.payload = bytes.Clone(v)
		d.out.Payload = performatives.TaskRequest{
			TaskType:   lastSegment(d.out.Ontology),
			Parameters: performatives.RawContent(d.shape.payload),
		}
		return
	}
	d.out.Payload, err = d.codec.opts.Registry.DecodeTyped(d.out.Performative, d.out.MessageType, d.out.Ontology, v)
	d.Refuse(exchange.Renamed(err, nil))
	// The payload may be written unchanged unless its task_status is not in lower case (addenda
	// §2).
	result, is := d.out.Payload.(performatives.InformResult)
	exact := !is || string(d.Nested.Values[nestedStatus]) == `"`+string(result.Status)+`"`
	if _, raw := d.out.Payload.(performatives.Raw); !raw && exact {
		d.shape.payload = bytes.Clone(v)
	}
}

// isBare reports whether the payload is the parameters of a task that only the
// ontology names, as IDE clients write it. The payload of a message type, or of a
// registered type, is the application's own and never bare.
func (d *decoder) isBare() bool {
	if d.shape.style != IDE || d.out.Performative != performatives.ActTaskRequest || d.out.MessageType != "" || d.Nested.Values[nestedTask] != nil {
		return false
	}
	// An empty payload decodes to another type if the application has registered one.
	empty, _ := d.codec.opts.Registry.DecodePayload(d.out.Performative, d.out.Ontology, json.RawMessage("{}"))
	_, builtin := empty.(performatives.TaskRequest)
	return builtin
}

// lastSegment returns the part of an ontology after its last colon or slash:
// explain_code for elizaos:ide:explain_code.
func lastSegment(ontology string) string {
	return ontology[strings.LastIndexAny(ontology, ":/")+1:]
}

// payload writes the payload. It writes the recorded text of a decoded message unchanged.
func (w *writer) payload() {
	p := w.m.Payload()
	switch {
	case w.shape.of == w.m && w.shape.payload != nil:
		w.name(memPayload)
		w.JSON = append(w.JSON, w.shape.payload...)
		return
	case p == nil && (w.blank(memPayload) || !w.shape.had.Has(memPayload)):
		return
	}
	text, err := w.content(p)
	var nested exchange.Nested
	if err == nil && (!w.m.Parsed() || w.m.Priority() != performatives.Normal) {
		nested, err = checkPayload(text)
	}
	if err != nil {
		w.Fail(fmt.Errorf("payload: %w", err))
		return
	}
	w.name(memPayload)
	w.prioritized(text, nested)
}

// content returns the JSON of a payload.
func (w *writer) content(p any) ([]byte, error) {
	switch v := p.(type) {
	case nil:
		return []byte("{}"), nil
	case performatives.Raw:
		return v.MarshalJSON()
	case performatives.TaskRequest:
		determined := v.TaskType == lastSegment(w.m.Ontology()) && v.Description == "" && len(v.Extra) == 0
		if w.shape.bare && determined && !v.Parameters.IsZero() {
			return json.Marshal(v.Parameters)
		}
	}
	return json.Marshal(p)
}

var errNoUTF8 = errors.New("want UTF-8")

// checkPayload checks the JSON of a payload. A payload that was made here may contain
// unchecked JSON.
func checkPayload(text []byte) (nested exchange.Nested, err error) {
	nested.Names = nestedNames
	s := jsonscan.Scanner{Data: text, Depth: exchange.MaxDepth - 1}
	switch {
	case s.Peek() != '{':
		return nested, errors.New("want a JSON object")
	case !nested.Scan(&s), !s.End():
		return nested, errors.New(s.Problem())
	case !utf8.Valid(text):
		return nested, errNoUTF8
	}
	return nested, nil
}

// readPriority reads the value of payload.priority. An absent value, null and "" are Normal.
func readPriority(v []byte) (performatives.Priority, bool) {
	if jsonscan.IsNone(v) || string(v) == `""` {
		return performatives.Normal, true
	}
	return exchange.Priority(v)
}

// prioritized writes the text of a payload with the message's priority in it, unless the
// priority is Normal or the payload has the same. A member priority with another kind of
// value belongs to the application, and stays.
func (w *writer) prioritized(text []byte, nested exchange.Nested) {
	p, came := w.m.Priority(), nested.Values[nestedPriority]
	own, ok := readPriority(came)
	if p == performatives.Normal || own == p || !ok {
		w.JSON = append(w.JSON, text...)
		return
	}
	if came != nil {
		end := nested.Ends[nestedPriority]
		w.JSON = jsonscan.AppendQuoted(append(w.JSON, text[:end-len(came)]...), p.String())
		w.JSON = append(w.JSON, text[end:]...)
		return
	}
	rest := bytes.TrimLeft(text[bytes.IndexByte(text, '{')+1:], " \t\r\n")
	w.JSON = jsonscan.AppendQuoted(append(w.JSON, `{"priority":`...), p.String())
	if rest[0] != '}' {
		w.JSON = append(w.JSON, ',')
	}
	w.JSON = append(w.JSON, rest...)
}
