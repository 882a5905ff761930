package rossnet

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// registration is what DISCOVERY_RESPONSE says of an agent that has not written a registration in
// this dialect.
type registration struct {
	ID           performatives.AgentID `json:"agent_id"`
	Type         string                `json:"agent_type"`
	Status       string                `json:"status"`
	Capabilities []capability          `json:"capabilities"`
}

type capability struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema"`
}

// schemaOr returns a schema, or that of any value in place of none.
func schemaOr(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{}`)
	}
	return schema
}

func registrationOf(id performatives.AgentID, topics []string, actions []performatives.Action) registration {
	r := registration{ID: id, Type: "agent", Status: statusActive, Capabilities: []capability{}}
	for _, t := range topics {
		actions = append(slices.Clip(actions), performatives.Action{Name: t})
	}
	for _, a := range actions {
		r.Capabilities = append(r.Capabilities, capability{a.Name, a.Description, schemaOr(a.InputSchema), schemaOr(a.OutputSchema)})
	}
	return r
}

// query writes a QUERY_CAPABILITIES: as a registration when it says what the sender offers, else
// under its own name.
func (w *writer) query() {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](w.Message)
	switch {
	case err != nil || q.Capabilities == nil:
		w.Plain()
	case jsonscan.Is(q.Extra[extraRegistration], '{'):
		w.Kind, w.Payload = kindRegister, q.Extra[extraRegistration]
	default:
		w.Kind = kindRegister
		w.Marshal(registrationOf(w.Message.Sender(), q.Capabilities.Topics, q.Capabilities.Actions))
	}
}

// find writes a query for agents to MCP_DISCOVERY as DISCOVERY_QUERY.
func (w *writer) find() {
	q, err := performatives.PayloadAs[performatives.QueryRef](w.Message)
	if payload := object(q.Extra); err == nil && q.Reference == referenceAgents && checkPayload(kindQuery, payload) == nil {
		w.Kind, w.Payload = kindQuery, payload
		return
	}
	w.Plain()
}

// found writes the agents that a DISCOVERY_QUERY asks for.
func (w *writer) found() {
	list, err := json.Marshal(exchange.Content[performatives.InformRef](&w.Builder, w.Message).Value)
	w.Fail(err)
	results := []json.RawMessage{}
	for v := range jsonscan.Elements(list) {
		if found := entryOf(v); found != nil && matches(w.call.Payload, found) {
			results = append(results, found)
		}
	}
	w.Kind, w.body = kindResponse, make(performatives.Members)
	w.body["query"] = w.call.Payload
	w.set("results", results)
	w.set("status", "success")
	if len(results) == 0 {
		w.set("status", "not_found")
	}
}

// entryOf returns an agent of the directory as a registration: the one that it has written, or one
// with what the directory knows.
func entryOf(v []byte) json.RawMessage {
	if own := jsonscan.Member(v, extraRegistration); jsonscan.Is(own, '{') {
		return bytes.Clone(own)
	}
	var e struct {
		ID      performatives.AgentID  `json:"id"`
		Topics  []string               `json:"topics"`
		Actions []performatives.Action `json:"actions"`
	}
	if json.Unmarshal(v, &e) != nil || e.ID == "" {
		return nil
	}
	text, _ := json.Marshal(registrationOf(e.ID, e.Topics, e.Actions)) // it has been JSON
	return text
}

// matches reports whether a registration is what a DISCOVERY_QUERY asks for: all of its conditions
// hold.
func matches(query, entry []byte) bool {
	if !isOneOf(jsonscan.Member(query, "required_status"), statusAny) && !isOneOf(jsonscan.Member(entry, "status"), statusActive) {
		return false
	}
	for _, name := range []string{"query_by_id", "query_by_agent_id"} {
		if id := jsonscan.Text(jsonscan.Member(query, name)); id != "" && !performatives.AgentID(id).Is(performatives.AgentID(jsonscan.Text(jsonscan.Member(entry, "agent_id")))) {
			return false
		}
	}
	var wanted, has []string
	if name := jsonscan.Text(jsonscan.Member(query, "query_by_capability")); name != "" {
		wanted = append(wanted, folded(name))
	}
	for v := range jsonscan.Elements(jsonscan.Member(query, "query_by_capability_list")) {
		wanted = append(wanted, folded(jsonscan.Text(v)))
	}
	for v := range jsonscan.Elements(jsonscan.Member(entry, "capabilities")) {
		has = append(has, folded(capabilityName(v)))
	}
	return !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(has, name) })
}

// folded returns the name of a capability as it is compared (addenda §4).
func folded(name string) string { return strings.ToLower(strings.TrimSpace(name)) }
