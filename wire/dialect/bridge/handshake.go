package bridge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

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
	own := d.capabilities(v)
	d.out.Payload = performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: own, Schemas: true}
}

// handshakeResponse reads the AgentCapabilities of a peer that answers a handshake.
func (d *decoder) handshakeResponse(v []byte) {
	accepted := d.accepted(v)
	usual := usualAct(kindHandshakeResponse, "", accepted)
	d.itself(usual)
	own := d.capabilities(v)
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
func (w *writer) handshakeRequest() {
	q := exchange.Content[performatives.QueryCapabilities](&w.Builder, w.Message)
	if q.Capabilities == nil {
		w.Fail(wordless(w.Message, " but a handshake, which has the capabilities of its sender"))
		return
	}
	w.capabilities(*q.Capabilities)
}

// handshakeResponse writes the AgentCapabilities of an agent that answers a handshake.
func (w *writer) handshakeResponse() {
	if w.Message.Performative() == performatives.ActRefuse {
		r := exchange.Content[performatives.Refuse](&w.Builder, w.Message)
		w.capabilities(performatives.Capabilities{Extra: r.Extra})
		if r.ReasonCode != "" {
			w.Text(capsReason, string(r.ReasonCode))
		}
		if r.ReasonText != "" {
			w.Text(capsReasonText, r.ReasonText)
		}
		w.accept(false)
		return
	}
	p := exchange.Content[performatives.InformCapabilities](&w.Builder, w.Message)
	if p.Capabilities == nil {
		w.Fail(wordless(w.Message, " but a handshake, which has all capabilities of its sender"))
		return
	}
	w.capabilities(*p.Capabilities)
	w.accept(true)
}

// accept writes the flag accepted in the payload.
func (w *writer) accept(accepted bool) {
	if w.shape.kind != kindHandshakeResponse || w.shape.accepted[1] || !w.shape.accepted[0] {
		w.Value(capsAccepted, accepted)
	}
}

// capabilities reads the AgentCapabilities of the sender.
func (d *decoder) capabilities(v []byte) *performatives.Capabilities {
	var id, name, role, tools, topics, ontologies, details, version, metadata []byte
	c := &performatives.Capabilities{}
	d.rest("payload", v, &c.Extra, jsonscan.Find(capsID, &id), jsonscan.Find(capsName, &name), jsonscan.Find(capsRole, &role), jsonscan.Find(capsTools, &tools),
		jsonscan.Find(capsTopics, &topics), jsonscan.Find(capsOntologies, &ontologies), jsonscan.Find(capsDetails, &details), jsonscan.Find(capsVersion, &version),
		jsonscan.Find(capsMetadata, &metadata), jsonscan.Find(capsAccepted, new([]byte)))
	d.kinded(capsExtensions, "an object", "{", c.Extra[capsExtensions])
	if d.session != nil { // they are the connection's, not the agent's
		d.extensions = d.session.agreeable(c.Extra[capsExtensions])
		delete(c.Extra, capsExtensions)
	}
	speaker := performatives.AgentID(d.name(capsID, "the id of the sender", id))
	if speaker != "" && !speaker.Is(d.out.Sender) {
		d.Wrong(field(capsID), "the sender_id, %.64q, got %.64q", d.out.Sender, speaker)
	}
	d.name(capsName, "the name of the agent", name)
	d.name(capsRole, "the role of the agent", role)
	d.kinded(capsVersion, "a string", `"`, version)
	d.kinded(capsMetadata, "an object", "{", metadata)
	names := d.list(capsTools, tools)
	c.Topics, c.Ontologies = d.list(capsTopics, topics), d.list(capsOntologies, ontologies)
	for member, v := range map[string][]byte{capsID: id, capsName: name, capsRole: role, capsVersion: version, capsMetadata: metadata} {
		exchange.Keep(&c.Extra, member, v)
	}
	c.Actions = d.actions(c, names, details)
	return c
}

// list reads an array of strings.
func (d *decoder) list(name string, v []byte) []string {
	d.kinded(name, "an array of strings", "[", v)
	list, wrong := jsonscan.Texts(v)
	if wrong >= 0 {
		d.Refuse(&performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: field(name), Text: fmt.Sprintf("payload.%s[%d]: want a string", name, wrong),
		})
	}
	return list
}

// actions returns the tools as actions, with their descriptions and schemas. c keeps the details
// of tools that are not listed.
func (d *decoder) actions(c *performatives.Capabilities, tools []string, details []byte) []performatives.Action {
	d.kinded(capsDetails, "an object", "{", details)
	var about performatives.Members
	d.rest(field(capsDetails), details, &about)
	actions := make([]performatives.Action, 0, len(tools))
	for _, name := range tools {
		a := performatives.Action{Name: name}
		if v := about[name]; !jsonscan.IsNone(v) {
			if err := json.Unmarshal(v, &a); err != nil || v[0] != '{' {
				d.Wrong(field(capsDetails), "the members of an action for %.64q", name)
			}
			a.Name = name
			delete(about, name)
		}
		actions = append(actions, a)
	}
	if len(about) > 0 {
		rest, _ := jsonscan.Marshal(about) // as they came
		exchange.Keep(&c.Extra, capsDetails, rest)
	}
	return actions
}

// capabilities writes AgentCapabilities. The required members that the agent lacks are made of its
// id.
func (w *writer) capabilities(c performatives.Capabilities) {
	id := string(w.Message.Sender())
	w.Text(capsID, w.own(c.Extra[capsID], id))
	w.Text(capsName, cmp.Or(jsonscan.Text(c.Extra[capsName]), id))
	w.Text(capsRole, cmp.Or(jsonscan.Text(c.Extra[capsRole]), defaultRole))
	tools := make([]string, len(c.Actions))
	for i, a := range c.Actions {
		tools[i] = a.Name
	}
	if v := c.Extra[capsTools]; len(c.Actions) == 0 && jsonscan.Is(v, '[') { // of a handshake that was not accepted
		w.Checked(capsTools, v)
	} else {
		w.Value(capsTools, tools)
	}
	w.Text(capsVersion, cmp.Or(jsonscan.Text(c.Extra[capsVersion]), Version))
	if v := c.Extra[capsMetadata]; jsonscan.Is(v, '{') {
		w.Checked(capsMetadata, v)
	} else {
		w.Raw(capsMetadata, []byte("{}"))
	}
	if len(c.Topics) > 0 {
		w.Value(capsTopics, c.Topics)
	}
	if len(c.Ontologies) > 0 {
		w.Value(capsOntologies, c.Ontologies)
	}
	w.details(c)
	without := []string{
		capsID, capsName, capsRole, capsTools, capsVersion, capsMetadata, capsTopics, capsOntologies, capsDetails, capsAccepted, capsReason, capsReasonText,
	}
	if w.extras.session {
		without = append(without, capsExtensions) // those of another connection
		if len(w.extras.extensions) > 0 {
			w.extras.extensions.appendTo(&w.Builder)
		}
	}
	w.Sorted(c.Extra, without...)
}

// own returns the agent_id: as the agent has written it, if it is the sender.
func (w *writer) own(came []byte, id string) string {
	if s := jsonscan.Text(came); performatives.AgentID(s).Is(w.Message.Sender()) {
		return s
	}
	return id
}

// details writes the descriptions and schemas of the tools, and those of tools that are not listed.
func (w *writer) details(c performatives.Capabilities) {
	about := make(performatives.Members)
	jsonscan.Read(c.Extra[capsDetails], exchange.Rest(&about, nil))
	for _, a := range c.Actions {
		name := a.Name
		a.Name = ""
		v, err := jsonscan.Marshal(a)
		w.Fail(err)
		if string(v) != "{}" && about[name] == nil {
			about[name] = v
		}
	}
	if len(about) > 0 {
		w.Open(capsDetails)
		w.Sorted(about)
		w.End()
	}
}
