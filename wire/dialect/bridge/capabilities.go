package bridge

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

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
			delete(a.Extra, "name")
			delete(about, name)
		}
		actions = append(actions, a)
	}
	if len(about) > 0 {
		rest, err := jsonscan.Marshal(about)
		if err != nil {
			d.fail(err)
		}
		exchange.Keep(&c.Extra, capsDetails, rest)
	}
	return actions
}

// capabilities writes AgentCapabilities. The required members that the agent lacks are made of its
// id.
func (w *writer) capabilities(b *jsonscan.Builder, c performatives.Capabilities) {
	id := string(w.m.Sender())
	b.Text(capsID, w.own(c.Extra[capsID], id))
	b.Text(capsName, cmp.Or(jsonscan.Text(c.Extra[capsName]), id))
	b.Text(capsRole, cmp.Or(jsonscan.Text(c.Extra[capsRole]), defaultRole))
	tools := make([]string, len(c.Actions))
	for i, a := range c.Actions {
		tools[i] = a.Name
	}
	if v := c.Extra[capsTools]; len(c.Actions) == 0 && jsonscan.Is(v, '[') { // of a handshake that was not accepted
		b.Checked(capsTools, v)
	} else {
		b.Value(capsTools, tools)
	}
	b.Text(capsVersion, cmp.Or(jsonscan.Text(c.Extra[capsVersion]), Version))
	if v := c.Extra[capsMetadata]; jsonscan.Is(v, '{') {
		b.Checked(capsMetadata, v)
	} else {
		b.Raw(capsMetadata, []byte("{}"))
	}
	if len(c.Topics) > 0 {
		b.Value(capsTopics, c.Topics)
	}
	if len(c.Ontologies) > 0 {
		b.Value(capsOntologies, c.Ontologies)
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
	b.Sorted(c.Extra, without...)
}

// own returns the agent_id: as the agent has written it, if it is the sender.
func (w *writer) own(came []byte, id string) string {
	if s := jsonscan.Text(came); performatives.AgentID(s).Is(w.m.Sender()) && s != "" {
		return s
	}
	return id
}

// details writes the descriptions and schemas of the tools.
func (w *writer) details(b *jsonscan.Builder, c performatives.Capabilities) {
	about := jsonscan.OpenObject(nil)
	written := make(map[string]bool, len(c.Actions))
	if v := c.Extra[capsDetails]; jsonscan.Is(v, '{') && jsonscan.Valid(v) { // of tools that are not listed
		jsonscan.Read(v, func(name string, v []byte) {
			if !written[name] {
				written[name] = true
				about.Raw(name, v)
			}
		})
	}
	for _, a := range c.Actions {
		name := a.Name
		a.Name = ""
		v, err := jsonscan.Marshal(a)
		w.out.Fail(err)
		if string(v) == "{}" || written[name] {
			continue
		}
		written[name] = true
		about.Raw(name, v)
	}
	if v, err := about.Close(); !about.Empty() {
		w.out.Fail(err)
		b.Raw(capsDetails, v)
	}
}
