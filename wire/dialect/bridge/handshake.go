package bridge

import (
	"cmp"
	"encoding/json"

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

// handshakeResponse reads the AgentCapabilities of a peer that answers a handshake.
func (d *decoder) handshakeResponse(v []byte) {
	if d.accepted(jsonscan.Member(v, capsAccepted)) {
		d.itself(performatives.ActInformCapabilities)
		d.out.Payload = performatives.InformCapabilities{Capabilities: d.capabilities(v)}
		return
	}
	d.itself(performatives.ActRefuse)
	d.capabilities(v) // which checks them
	var reason, why []byte
	r := performatives.Refuse{}
	jsonscan.Read(v, keep(&r.Extra), jsonscan.Find(capsReason, &reason), jsonscan.Find(capsReasonText, &why), jsonscan.Find(capsAccepted, new([]byte)))
	r.ReasonCode, r.ReasonText = performatives.Code(jsonscan.Text(reason)), jsonscan.Text(why)
	d.out.Payload = r
}

// keep returns a function that adds a copy of each member to members.
func keep(members *performatives.Members) func(name string, v []byte) {
	return func(name string, v []byte) { exchange.Keep(members, name, v) }
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
func (d *decoder) accepted(in []byte) bool {
	beside := d.Values[memAccepted]
	if !jsonscan.IsNone(beside) && !jsonscan.IsBool(beside) {
		d.Invalid(memberNames[memAccepted], "true or false", beside)
	}
	if !jsonscan.IsNone(beside) && !jsonscan.IsNone(in) && beside[0] != in[0] {
		d.Wrong(memberNames[memAccepted], "the same as payload.accepted, which is %s, got %s", in, beside)
	}
	d.shape.accepted = in != nil
	return !jsonscan.Is(beside, 'f') && !jsonscan.Is(in, 'f')
}

// handshakeResponse writes the AgentCapabilities of an agent that answers a handshake.
func (w *writer) handshakeResponse() {
	refused := w.Message.Performative() == performatives.ActRefuse
	if refused {
		r := exchange.Content[performatives.Refuse](&w.Builder, w.Message)
		w.capabilities(&performatives.Capabilities{Extra: r.Extra}, "")
		w.OptionalText(capsReason, string(r.ReasonCode))
		w.OptionalText(capsReasonText, r.ReasonText)
	} else {
		w.capabilities(exchange.Content[performatives.InformCapabilities](&w.Builder, w.Message).Capabilities, "all")
	}
	if w.shape.kind != kindHandshakeResponse || w.shape.accepted || !w.shape.had.Has(memAccepted) {
		w.Value(capsAccepted, !refused)
	}
}

// capabilities reads the AgentCapabilities of the sender.
func (d *decoder) capabilities(v []byte) *performatives.Capabilities {
	var tools, topics, ontologies, details []byte
	c := &performatives.Capabilities{}
	jsonscan.Read(v, keep(&c.Extra), jsonscan.Find(capsTools, &tools), jsonscan.Find(capsTopics, &topics), jsonscan.Find(capsOntologies, &ontologies),
		jsonscan.Find(capsDetails, &details), jsonscan.Find(capsAccepted, new([]byte)))
	if d.session != nil { // they are the connection's, not the agent's
		d.extensions = d.session.agreeable(c.Extra[capsExtensions])
		delete(c.Extra, capsExtensions)
	}
	if speaker := performatives.AgentID(jsonscan.Text(c.Extra[capsID])); !speaker.Is(d.out.Sender) {
		d.Wrong(field(capsID), "the sender_id, %.64q, got %.64q", d.out.Sender, speaker)
	}
	c.Topics, _ = jsonscan.Texts(topics)
	c.Ontologies, _ = jsonscan.Texts(ontologies)
	names, _ := jsonscan.Texts(tools)
	c.Actions = d.actions(c, names, details)
	return c
}

// actions returns the tools as actions, with their descriptions and schemas. c keeps the details
// of tools that are not listed.
func (d *decoder) actions(c *performatives.Capabilities, tools []string, details []byte) []performatives.Action {
	var about performatives.Members
	d.members(nil, field(capsDetails), details, &about)
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
	keepRest(&c.Extra, capsDetails, about)
	return actions
}

// capabilities writes AgentCapabilities, which must be there: "the" or "all" capabilities of the
// sender. The required members that the agent lacks are made of its id.
func (w *writer) capabilities(c *performatives.Capabilities, which string) {
	if c == nil {
		w.Fail(wordless(w.Message, " but a handshake, which has "+which+" capabilities of its sender"))
		return
	}
	id, came := string(w.Message.Sender()), jsonscan.Text(c.Extra[capsID])
	if !performatives.AgentID(came).Is(w.Message.Sender()) {
		came = id
	}
	w.Text(capsID, came)
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
	metadata := c.Extra[capsMetadata]
	if !jsonscan.Is(metadata, '{') {
		metadata = []byte("{}")
	}
	w.Checked(capsMetadata, metadata)
	if len(c.Topics) > 0 {
		w.Value(capsTopics, c.Topics)
	}
	if len(c.Ontologies) > 0 {
		w.Value(capsOntologies, c.Ontologies)
	}
	w.details(c)
	switch v := c.Extra[capsExtensions]; {
	case !w.extras.session && len(v) > 0:
		w.Checked(capsExtensions, v)
	case w.extras.session && w.extras.extensions != 0: // v has those of another connection
		w.extensions()
	}
	w.Sorted(c.Extra, capsID, capsName, capsRole, capsTools, capsVersion, capsMetadata, capsTopics, capsOntologies, capsDetails, capsAccepted,
		capsReason, capsReasonText, capsExtensions)
}

// details writes the descriptions and schemas of the tools, and those of tools that are not listed.
func (w *writer) details(c *performatives.Capabilities) {
	about := make(performatives.Members)
	jsonscan.Read(c.Extra[capsDetails], exchange.Rest(&about))
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
