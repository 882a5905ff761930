package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of a handshake (bridge, Handshake Flow). The last five are extensions.
const (
	capsID         = "agent_id"
	capsName       = "agent_name"
	capsRole       = "agent_role"
	capsTools      = "tools"
	capsVersion    = "version"
	capsMetadata   = "metadata"
	capsAccepted   = "accepted"
	capsTopics     = "topics"
	capsOntologies = "ontologies"
	capsDetails    = "tool_details" // by the name of the tool: description, input_schema, output_schema
	capsReason     = "reason_code"  // of a handshake that is not accepted
	capsReasonText = "reason_text"
)

// Version is the version of the protocol that this package writes. It reads any.
const Version = "0.1.0"

// defaultRole is the role of an agent that has none: the specification names no roles.
const defaultRole = "agent"

// handshakeRequest reads the AgentCapabilities of a peer that connects.
func (d *decoder) handshakeRequest(v []byte) {
	d.itself(performatives.ActQueryCapabilities)
	d.out.Performative = performatives.ActQueryCapabilities
	own := d.capabilities(v)
	d.out.Payload = performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: own, Schemas: true}
}

// handshakeResponse reads the AgentCapabilities of a peer that answers a handshake.
func (d *decoder) handshakeResponse(v []byte) {
	accepted := d.accepted(v)
	usual := usualAct(kindHandshakeResponse, "", accepted)
	d.itself(usual)
	own := d.capabilities(v)
	d.out.Performative = usual
	if accepted {
		d.out.Payload = performatives.InformCapabilities{Capabilities: own}
		return
	}
	var reason, why []byte
	rest := performatives.Members{}
	jsonscan.Read(v, func(name string, v []byte) { rest[name] = bytes.Clone(v) }, jsonscan.Find(capsReason, &reason), jsonscan.Find(capsReasonText, &why), jsonscan.Find(capsAccepted, new([]byte)))
	d.kinded(capsReason, "a string", `"`, reason)
	d.kinded(capsReasonText, "a string", `"`, why)
	d.out.Payload = performatives.Refuse{ReasonCode: performatives.Code(jsonscan.Text(reason)), ReasonText: jsonscan.Text(why), Extra: rest}
}

// itself refuses a handshake with the act or the message type of another message.
func (d *decoder) itself(usual performatives.Performative) {
	switch {
	case d.out.MessageType != "":
		d.Wrong("metadata.message_type", "none in a handshake")
	case d.act != 0 && d.act != usual:
		d.Wrong("metadata.performative", "none in a handshake")
	}
}

// accepted reads the flag accepted beside the payload, and in it (addenda §2). Without it a
// handshake_response is an acceptance.
func (d *decoder) accepted(payload []byte) bool {
	beside := d.Values[memAccepted]
	var in []byte
	jsonscan.Read(payload, nil, jsonscan.Find(capsAccepted, &in))
	d.kinded(capsAccepted, "true or false", "tf", in)
	if !jsonscan.IsNone(beside) && !jsonscan.Is(beside, 't') && !jsonscan.Is(beside, 'f') {
		d.Invalid(memberNames[memAccepted], "true or false", beside)
	}
	if !jsonscan.IsNone(beside) && !jsonscan.IsNone(in) && beside[0] != in[0] {
		d.Wrong(memberNames[memAccepted], "the same as payload.accepted, which is %s, got %s", in, beside)
	}
	d.shape.accepted = [2]bool{beside != nil, in != nil}
	return !jsonscan.Is(beside, 'f') && !jsonscan.Is(in, 'f')
}

// handshakeRequest writes the AgentCapabilities of an agent that connects.
func (w *writer) handshakeRequest() ([]byte, error) {
	q, err := exchange.PayloadAs[performatives.QueryCapabilities](w.m)
	if err != nil {
		return nil, err
	}
	if q.Capabilities == nil {
		return nil, wordless(w.m, " but a handshake, which has the capabilities of its sender")
	}
	b := jsonscan.OpenObject(nil)
	w.capabilities(&b, *q.Capabilities)
	return b.Close()
}

// handshakeResponse writes the AgentCapabilities of an agent that answers a handshake.
func (w *writer) handshakeResponse() ([]byte, error) {
	b := jsonscan.OpenObject(nil)
	if w.m.Performative() == performatives.ActRefuse {
		r, err := exchange.PayloadAs[performatives.Refuse](w.m)
		if err != nil {
			return nil, err
		}
		w.capabilities(&b, performatives.Capabilities{Extra: r.Extra})
		if r.ReasonCode != "" {
			b.Text(capsReason, string(r.ReasonCode))
		}
		if r.ReasonText != "" {
			b.Text(capsReasonText, r.ReasonText)
		}
		w.accept(&b, false)
		return b.Close()
	}
	p, err := exchange.PayloadAs[performatives.InformCapabilities](w.m)
	if err != nil {
		return nil, err
	}
	if p.Capabilities == nil {
		return nil, wordless(w.m, " but a handshake, which has all capabilities of its sender")
	}
	w.capabilities(&b, *p.Capabilities)
	w.accept(&b, true)
	return b.Close()
}

// accept writes the flag accepted in the payload.
func (w *writer) accept(b *jsonscan.Builder, accepted bool) {
	if w.shape.kind != kindHandshakeResponse || w.shape.accepted[1] || !w.shape.accepted[0] {
		b.Value(capsAccepted, accepted)
	}
}
