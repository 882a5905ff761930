package acl

import (
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// agents reads sender and receiver.
func (d *decoder) agents() {
	d.out.Sender = d.agent(memSender)
	d.out.Receiver = d.agent(memReceiver)
	if d.out.Sender == "" {
		d.Invalid("sender.agent_id", "the id of an agent", nil)
	}
	if d.out.Receiver == "" {
		d.blank(memReceiver) // an explicit broadcast
	}
}

// agent reads an agent, which is an object with an agent_id or a plain string.
func (d *decoder) agent(m int) performatives.AgentID {
	switch v := d.Values[m]; {
	case jsonscan.IsNone(v):
		return ""
	case v[0] == '"':
		d.shape.plainReceiver = d.shape.plainReceiver || m == memReceiver
		return performatives.AgentID(d.string(memberNames[m], v))
	case isSimpleAgent(v):
		return performatives.AgentID(d.string(memberNames[m], v[len(agentPrefix)-1:len(v)-1]))
	case v[0] != '{':
		d.Invalid(memberNames[m], "an agent", v)
		return ""
	}
	v, field := d.Values[m], memberNames[m]+".agent_id"
	own, extra, problem := splitAgent(v)
	if problem != "" {
		d.Refuse(&performatives.Refusal{Code: performatives.CodeParsingError, Field: field, Text: memberNames[m] + ": " + problem})
		return ""
	}
	var id performatives.AgentID
	if group := jsonscan.Text(jsonscan.Member(v, "group")); own != nil {
		id = performatives.AgentID(d.string(field, own))
	} else if group != "" && m == memReceiver {
		id = performatives.AgentID("group:" + group) // addenda §9
	}
	if id != "" {
		exchange.Keep(&d.out.Metadata, memberNames[m], extra)
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

// splitAgent returns the agent_id of an agent that is written as an object, and its other members
// as an object. Each is nil if there is none. The problem of an object with two ids is not empty.
func splitAgent(object []byte) (id, extra []byte, problem string) {
	var m exchange.Members
	s := jsonscan.Scanner{Data: object, Depth: exchange.MaxDepth - 1}
	if !m.Scan(&s, exchange.Names{"agent_id"}) {
		return m.Values[0], nil, s.Problem()
	}
	if len(m.Unknown) == 0 {
		return m.Values[0], nil, ""
	}
	b := jsonscan.OpenObject(nil)
	for _, u := range m.Unknown {
		b.Raw(u.Name, u.Value)
	}
	return m.Values[0], append(b.JSON, '}'), ""
}

// agent writes an agent: as a string if plain is set, else as an object with the other
// members that the sender gave it.
func (w *writer) agent(m int, id performatives.AgentID, plain bool) {
	if id == "" {
		w.blank(m)
		return
	}
	w.name(m)
	if w.shape == ideShape {
		id = id.Fold() // IDE clients write ids in lower case
	}
	if plain {
		w.JSON = jsonscan.AppendQuoted(w.JSON, string(id))
		return
	}
	w.JSON = append(w.JSON, `{"agent_id":`...)
	w.JSON = jsonscan.AppendQuoted(w.JSON, string(id))
	if stored, ok := w.m.Metadata(memberNames[m]); ok { // by the decoder, or another value by another dialect
		if own, extra, _ := splitAgent(stored); own == nil && extra != nil && utf8.Valid(extra) {
			w.JSON = append(append(w.JSON, ','), extra[1:]...)
			return
		}
	}
	w.JSON = append(w.JSON, '}')
}
