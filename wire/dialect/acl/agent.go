package acl

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// agents reads sender and receiver. The form of the sender decides the style.
func (d *decoder) agents() {
	if v := d.in.values[memSender]; len(v) > 0 && v[0] == '"' {
		d.shape.style = IDE
	}
	d.out.Sender = d.agent(memSender)
	d.out.Receiver = d.agent(memReceiver)
	if d.out.Sender == "" {
		d.Invalid("sender.agent_id", "the id of an agent", nil)
	}
	if d.out.Receiver == "" && d.in.values[memReceiver] != nil {
		d.blank(memReceiver) // an explicit broadcast
	}
}

// agent reads an agent, which is an object with an agent_id or a plain string.
func (d *decoder) agent(m member) performatives.AgentID {
	switch v := d.in.values[m]; {
	case v == nil, jsonscan.IsNull(v):
		return ""
	case v[0] == '"':
		d.shape.plainReceiver = d.shape.plainReceiver || m == memReceiver
		return performatives.AgentID(d.string(memberNames[m], v))
	case isSimpleAgent(v):
		return performatives.AgentID(d.string(memberNames[m], v[len(agentPrefix)-1:len(v)-1]))
	case v[0] == '{':
		return d.agentObject(m, v)
	default:
		d.Invalid(memberNames[m], "an agent", v)
		return ""
	}
}

func (d *decoder) agentObject(m member, v []byte) performatives.AgentID {
	field := memberNames[m] + ".agent_id"
	a, ok := splitAgent(v)
	if !ok {
		d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: field, Text: "want no second " + field})
		return ""
	}
	var id performatives.AgentID
	if group := jsonscan.Text(jsonscan.Member(v, "group")); a.id != nil {
		id = performatives.AgentID(d.string(field, a.id))
	} else if group != "" && m == memReceiver {
		id = performatives.AgentID("group:" + group) // addenda §9
	}
	if len(a.extra) > 0 && id != "" {
		exchange.Keep(&d.out.Metadata, memberNames[m], append(a.extra, '}'))
	}
	return id
}

const agentPrefix = `{"agent_id":"`

// isSimpleAgent reports whether an object has an agent_id and no other member, and is
// written without a space, as nearly all are. The object has been scanned before.
func isSimpleAgent(object []byte) bool {
	if len(object) < len(agentPrefix)+2 || string(object[:len(agentPrefix)]) != agentPrefix {
		return false
	}
	rest := object[len(agentPrefix):]
	return jsonscan.PlainRun(rest) == len(rest)-2 // the quote and the brace that end it
}

// agentObject has the members of an agent that is written as an object.
type agentObject struct {
	id    []byte // the value of agent_id; nil = none
	extra []byte // its other members, as an object that lacks its end; nil = none
}

// splitAgent reads an object that has been scanned before. It reports false for an
// object with two ids.
func splitAgent(object []byte) (a agentObject, ok bool) {
	s := jsonscan.Scanner{Data: object, Depth: exchange.MaxDepth}
	s.Open('{')
	for first := true; ; first = false {
		name, more, _ := s.Key(first)
		if !more {
			return a, true
		}
		value, _ := s.Taken()
		switch text, _ := jsonscan.Unquote(name); {
		case string(text) != "agent_id":
			a.keep(name, value, len(object))
		case a.id != nil:
			return a, false
		default:
			a.id = value
		}
	}
}

// keep adds a member to extra. The extra members have at most limit bytes together.
func (a *agentObject) keep(name, value []byte, limit int) {
	separator := byte(',')
	if a.extra == nil {
		separator = '{'
		a.extra = make([]byte, 0, limit)
	}
	a.extra = append(append(append(append(a.extra, separator), name...), ':'), value...)
}

// agent writes an agent: as a string if plain is set, else as an object with the other
// members that the sender gave it.
func (w *writer) agent(m member, id performatives.AgentID, plain bool) {
	if id == "" {
		w.blank(m)
		return
	}
	w.name(m)
	if w.shape == ideShape {
		id = id.Fold() // IDE clients write ids in lower case
	}
	if plain {
		w.dst = jsonscan.AppendQuoted(w.dst, string(id))
		return
	}
	w.dst = append(w.dst, `{"agent_id":`...)
	w.dst = jsonscan.AppendQuoted(w.dst, string(id))
	if extra, ok := w.m.Metadata(memberNames[m]); ok && w.isAgentExtra(extra) {
		w.dst = append(append(w.dst, ','), extra[1:]...)
		return
	}
	w.dst = append(w.dst, '}')
}

// isAgentExtra reports whether agentObject stored a member of the metadata. Another
// dialect may store a member of the same name.
func (w *writer) isAgentExtra(v json.RawMessage) bool {
	s := jsonscan.Scanner{Data: v, Depth: w.depth - 1}
	if s.Peek() != '{' || s.Pos != 0 || !s.Value() || s.Pos != len(v) || !utf8.Valid(v) {
		return false
	}
	a, ok := splitAgent(v)
	return ok && a.id == nil && a.extra != nil
}
