package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
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
	object(v, func(name string, v []byte) { rest[name] = bytes.Clone(v) }, found{capsReason, &reason}, found{capsReasonText, &why}, found{capsAccepted, new([]byte)})
	d.kinded(capsReason, "a string", `"`, reason)
	d.kinded(capsReasonText, "a string", `"`, why)
	d.out.Payload = performatives.Refuse{ReasonCode: performatives.Code(text(reason)), ReasonText: text(why), Extra: rest}
}

// itself refuses a handshake with the act or the message type of another message.
func (d *decoder) itself(usual performatives.Performative) {
	switch {
	case d.out.MessageType != "":
		d.refuse(performatives.CodeInvalidPayload, "metadata.message_type", "metadata.message_type: want none in a handshake")
	case d.act != 0 && d.act != usual:
		d.refuse(performatives.CodeInvalidPayload, "metadata.performative", "metadata.performative: want none in a handshake")
	}
}

// accepted reads the flag accepted beside the payload, and in it (addenda §2). Without it a
// handshake_response is an acceptance.
func (d *decoder) accepted(payload []byte) bool {
	beside := d.in.values[memAccepted]
	var in []byte
	object(payload, nil, found{capsAccepted, &in})
	d.kinded(capsAccepted, "true or false", "tf", in)
	if !none(beside) && !is(beside, 't') && !is(beside, 'f') {
		d.invalid(memberNames[memAccepted], "true or false", beside)
	}
	if !none(beside) && !none(in) && beside[0] != in[0] {
		d.refuse(performatives.CodeInvalidPayload, memberNames[memAccepted],
			fmt.Sprintf("accepted: want the same as payload.accepted, which is %s, got %s", in, beside))
	}
	d.shape.accepted = [2]bool{beside != nil, in != nil}
	return !is(beside, 'f') && !is(in, 'f')
}

// capabilities reads the AgentCapabilities of the sender.
func (d *decoder) capabilities(v []byte) *performatives.Capabilities {
	var id, name, role, tools, topics, ontologies, details, version, metadata []byte
	c := &performatives.Capabilities{}
	over := false
	object(v, keep(&c.Extra, &over), found{capsID, &id}, found{capsName, &name}, found{capsRole, &role}, found{capsTools, &tools},
		found{capsTopics, &topics}, found{capsOntologies, &ontologies}, found{capsDetails, &details}, found{capsVersion, &version},
		found{capsMetadata, &metadata}, found{capsAccepted, new([]byte)})
	if over {
		d.tooMany("payload")
	}
	d.kinded(capsExtensions, "an object", "{", c.Extra[capsExtensions])
	if d.session != nil { // they are the connection's, not the agent's
		d.extensions = d.session.agreeable(c.Extra[capsExtensions])
		delete(c.Extra, capsExtensions)
	}
	speaker := performatives.AgentID(d.name(capsID, "the id of the sender", id))
	if speaker != "" && !speaker.Is(d.out.Sender) {
		d.refuse(performatives.CodeInvalidPayload, field(capsID), fmt.Sprintf("payload.agent_id: want the sender_id, %.64q, got %.64q", d.out.Sender, speaker))
	}
	d.name(capsName, "the name of the agent", name)
	d.name(capsRole, "the role of the agent", role)
	d.kinded(capsVersion, "a string", `"`, version)
	d.kinded(capsMetadata, "an object", "{", metadata)
	names := d.list(capsTools, tools)
	c.Topics, c.Ontologies = d.list(capsTopics, topics), d.list(capsOntologies, ontologies)
	for member, v := range map[string][]byte{capsID: id, capsName: name, capsRole: role, capsVersion: version, capsMetadata: metadata} {
		put(&c.Extra, member, v)
	}
	c.Actions = d.actions(c, names, details)
	return c
}

// list reads an array of strings.
func (d *decoder) list(name string, v []byte) []string {
	d.kinded(name, "an array of strings", "[", v)
	list, wrong := stringsOf(v)
	if wrong >= 0 {
		d.refuse(performatives.CodeInvalidPayload, field(name), fmt.Sprintf("payload.%s[%d]: want a string", name, wrong))
	}
	return list
}

// actions returns the tools as actions, with their descriptions and schemas. c keeps the details
// of tools that are not listed.
func (d *decoder) actions(c *performatives.Capabilities, tools []string, details []byte) []performatives.Action {
	d.kinded(capsDetails, "an object", "{", details)
	var about performatives.Members
	over := false
	object(details, keep(&about, &over))
	if over {
		d.tooMany(field(capsDetails))
	}
	actions := make([]performatives.Action, 0, len(tools))
	for _, name := range tools {
		a := performatives.Action{Name: name}
		if v := about[name]; !none(v) {
			if err := json.Unmarshal(v, &a); err != nil || v[0] != '{' {
				d.refuse(performatives.CodeInvalidPayload, field(capsDetails), fmt.Sprintf("payload.tool_details: want the members of an action for %.64q", name))
			}
			a.Name = name
			delete(a.Extra, "name")
			delete(about, name)
		}
		actions = append(actions, a)
	}
	if len(about) > 0 {
		rest, err := marshal(about)
		if err != nil {
			d.fail(err)
		}
		put(&c.Extra, capsDetails, rest)
	}
	return actions
}

// handshakeRequest writes the AgentCapabilities of an agent that connects.
func (w *writer) handshakeRequest() ([]byte, error) {
	q, err := payloadAs[performatives.QueryCapabilities](w.m)
	if err != nil {
		return nil, err
	}
	if q.Capabilities == nil {
		return nil, wordless(w.m, " but a handshake, which has the capabilities of its sender")
	}
	b := openObject(nil)
	w.capabilities(&b, *q.Capabilities)
	return b.close()
}

// handshakeResponse writes the AgentCapabilities of an agent that answers a handshake.
func (w *writer) handshakeResponse() ([]byte, error) {
	b := openObject(nil)
	if w.m.Performative() == performatives.ActRefuse {
		r, err := payloadAs[performatives.Refuse](w.m)
		if err != nil {
			return nil, err
		}
		w.capabilities(&b, performatives.Capabilities{Extra: r.Extra})
		if r.ReasonCode != "" {
			b.text(capsReason, string(r.ReasonCode))
		}
		if r.ReasonText != "" {
			b.text(capsReasonText, r.ReasonText)
		}
		w.accept(&b, false)
		return b.close()
	}
	p, err := payloadAs[performatives.InformCapabilities](w.m)
	if err != nil {
		return nil, err
	}
	if p.Capabilities == nil {
		return nil, wordless(w.m, " but a handshake, which has all capabilities of its sender")
	}
	w.capabilities(&b, *p.Capabilities)
	w.accept(&b, true)
	return b.close()
}

// accept writes the flag accepted in the payload.
func (w *writer) accept(b *builder, accepted bool) {
	if w.shape.kind != kindHandshakeResponse || w.shape.accepted[1] || !w.shape.accepted[0] {
		b.value(capsAccepted, accepted)
	}
}

// capabilities writes AgentCapabilities. The required members that the agent lacks are made of its id.
func (w *writer) capabilities(b *builder, c performatives.Capabilities) {
	id := string(w.m.Sender())
	b.text(capsID, w.own(c.Extra[capsID], id))
	b.text(capsName, orText(c.Extra[capsName], id))
	b.text(capsRole, orText(c.Extra[capsRole], defaultRole))
	tools := make([]string, len(c.Actions))
	for i, a := range c.Actions {
		tools[i] = a.Name
	}
	if v := c.Extra[capsTools]; len(c.Actions) == 0 && is(v, '[') { // of a handshake that was not accepted
		b.unchecked(capsTools, v)
	} else {
		b.value(capsTools, tools)
	}
	b.text(capsVersion, orText(c.Extra[capsVersion], Version))
	if v := c.Extra[capsMetadata]; is(v, '{') {
		b.unchecked(capsMetadata, v)
	} else {
		b.raw(capsMetadata, []byte("{}"))
	}
	if len(c.Topics) > 0 {
		b.value(capsTopics, c.Topics)
	}
	if len(c.Ontologies) > 0 {
		b.value(capsOntologies, c.Ontologies)
	}
	w.details(b, c)
	without := []string{
		capsID, capsName, capsRole, capsTools, capsVersion, capsMetadata, capsTopics, capsOntologies, capsDetails, capsAccepted, capsReason, capsReasonText,
	}
	if w.extras.session {
		without = append(without, capsExtensions) // those of another connection
		if len(w.extras.extensions) > 0 {
			w.extras.extensions.appendTo(b)
		}
	}
	b.extra(c.Extra, without...)
}

// own returns the agent_id: as the agent has written it, if it is the sender.
func (w *writer) own(came []byte, id string) string {
	if s := text(came); performatives.AgentID(s).Is(w.m.Sender()) && s != "" {
		return s
	}
	return id
}

func orText(v []byte, otherwise string) string {
	if s := text(v); s != "" {
		return s
	}
	return otherwise
}

// details writes the descriptions and schemas of the tools.
func (w *writer) details(b *builder, c performatives.Capabilities) {
	about := openObject(nil)
	written := make(map[string]bool, len(c.Actions))
	if v := c.Extra[capsDetails]; is(v, '{') && valid(v) { // of tools that are not listed
		object(v, func(name string, v []byte) {
			if !written[name] {
				written[name] = true
				about.raw(name, v)
			}
		})
	}
	for _, a := range c.Actions {
		name := a.Name
		a.Name = ""
		v, err := marshal(a)
		w.note(err)
		if string(v) == "{}" || written[name] {
			continue
		}
		written[name] = true
		about.raw(name, v)
	}
	if v, err := about.close(); !about.empty {
		w.note(err)
		b.raw(capsDetails, v)
	}
}
