package rag

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// registration is the description that an agent of the peer gives of itself (Custom Agent
// Extensions).
type registration struct {
	capabilities performatives.Capabilities
	status       string
	types        map[string]bool // its message_types, and the further ones that it has used
	payload      []byte
}

// maxRegistrations bounds the agents of one session whose registration is stored.
const maxRegistrations = 1024

// The members of the extra of QUERY_CAPABILITIES and INFORM_CAPABILITIES that have the payload in
// this dialect.
const (
	extraRegistration = "agent_registration"
	extraRegistered   = "agent_registration_result"
	extraStatus       = "agent_status"
)

// introduce reads an AgentRegistration, or the health of an agent (Agent Health Monitoring), which
// also is its heartbeat. An agent whose status is not active offers nothing.
func (d *decoder) introduce(payload []byte) {
	if d.OwnID(payload, d.out.Sender); d.Refusal != nil {
		return
	}
	agents, key, extra := d.codec.agents, d.out.Sender.Fold(), extraStatus
	r := agents[key]
	if d.kind == typeRegistration {
		if r == nil && len(agents) >= maxRegistrations {
			d.Refuse(performatives.Refused(performatives.CodeBusy, "the connection has registered too many agents"))
			return
		}
		r, extra = d.registration(payload), extraRegistration
		agents[key] = r
	}
	q := performatives.QueryCapabilities{
		Type: performatives.QuerySummary, Capabilities: new(performatives.Capabilities), Extra: performatives.Members{extra: bytes.Clone(payload)},
	}
	if r != nil {
		r.status = strings.ToLower(jsonscan.Text(jsonscan.Member(payload, "status")))
		if r.status == statusActive {
			*q.Capabilities = r.capabilities
		}
	}
	d.out.Payload = q
}

// registration reads an AgentRegistration but its status. The capabilities become topics, and the
// message_types that ask for a task become actions.
func (d *decoder) registration(payload []byte) *registration {
	r := &registration{types: make(map[string]bool), payload: bytes.Clone(payload)}
	r.capabilities.Topics, _ = jsonscan.Texts(jsonscan.Member(payload, "capabilities"))
	for v := range jsonscan.Elements(jsonscan.Member(payload, "message_types")) {
		kind := jsonscan.Text(v)
		r.types[kind] = true
		if d.opensTask(kind) {
			r.capabilities.Actions = append(r.capabilities.Actions, performatives.Action{Name: taskType(kind)})
		}
	}
	return r
}

// opensTask reports whether a message of that type asks for a task.
func (d *decoder) opensTask(kind string) bool {
	if act, ok := d.codec.opts.Registry.MessageTypeAct(kind); ok {
		return act == performatives.ActTaskRequest
	}
	act, known := natural[kind]
	return !known && performatives.CheckMessageType(kind) == nil && !strings.HasSuffix(kind, "_RESULT") ||
		known && act == performatives.ActTaskRequest && kind != act.String()
}

// statusID begins the id of a status, so that its answer can be told, which is not written. The
// trace id does not tell it: heartbeats that follow one another may have the same.
const statusID = "agent_status/"

// registered reads the answer to a registration.
func (d *decoder) registered(payload []byte) {
	theirs := jsonscan.Member(payload, memberNode)
	if theirs == nil {
		theirs = jsonscan.Member(payload, "capabilities")
	}
	c := new(performatives.Capabilities)
	c.Topics, _ = jsonscan.Texts(theirs)
	d.out.Payload = performatives.InformCapabilities{Capabilities: c, Extra: performatives.Members{extraRegistered: bytes.Clone(payload)}}
}

// understands reports whether an agent of the peer has named a type in its registration, or used
// it.
func (c *codec) understands(agent performatives.AgentID, kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.agents[agent.Fold()]
	return r != nil && r.types[kind]
}

// agentRegistration is the registration of an agent that has not written one in this dialect.
type agentRegistration struct {
	ID           performatives.AgentID `json:"agent_id"`
	Type         string                `json:"agent_type,omitempty"`
	Capabilities []string              `json:"capabilities"`
	MessageTypes []string              `json:"message_types,omitempty"`
	Status       string                `json:"status"`
}

// query writes a QUERY_CAPABILITIES: as a registration or status when it says what the sender
// offers, else under its own name.
func (w *writer) query() {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](w.Message)
	switch {
	case err != nil || q.Capabilities == nil:
		w.Plain()
	case jsonscan.Is(q.Extra[extraStatus], '{'):
		w.Kind, w.Payload = typeStatus, q.Extra[extraStatus]
	case jsonscan.Is(q.Extra[extraRegistration], '{'):
		w.Kind, w.Payload = typeRegistration, q.Extra[extraRegistration]
	default:
		r := agentRegistration{ID: w.Message.Sender(), Type: "agent", Capabilities: names(*q.Capabilities), MessageTypes: []string{}, Status: statusActive}
		for _, a := range q.Capabilities.Actions {
			if kind := typeOfTask(a.Name, "", nil); kind != "" {
				r.MessageTypes = append(r.MessageTypes, kind)
			}
		}
		w.Kind = typeRegistration
		w.Marshal(r)
	}
}

// names returns the topics and the names of the actions.
func names(c performatives.Capabilities) []string {
	all := append([]string{}, c.Topics...)
	for _, a := range c.Actions {
		all = append(all, a.Name)
	}
	return all
}

// capabilities writes an INFORM_CAPABILITIES. The answer to a registration has the capabilities of
// the node.
func (w *writer) capabilities() {
	i, err := performatives.PayloadAs[performatives.InformCapabilities](w.Message)
	switch {
	case err == nil && jsonscan.Is(i.Extra[extraRegistered], '{'):
		w.Kind, w.Payload = typeRegistered, i.Extra[extraRegistered]
	case err == nil && w.call != nil && w.call.Kind == typeRegistration && i.Capabilities != nil:
		w.Kind = typeRegistered
		w.registered(names(*i.Capabilities))
	default:
		w.Plain()
	}
}

// memberNode is the member of AGENT_REGISTRATION_RESULT with the capabilities of the node.
const memberNode = "node_capabilities"

// registered writes the registration of the peer's agent as it came, with its status now and the
// capabilities of the node.
func (w *writer) registered(theirs []string) {
	w.Marshal(agentRegistration{ID: w.call.Asker, Capabilities: []string{}, Status: statusActive})
	w.codec.mu.Lock()
	defer w.codec.mu.Unlock()
	if r := w.codec.agents[w.call.Asker.Fold()]; r != nil {
		b := jsonscan.OpenObject(nil)
		jsonscan.Read(r.payload, b.Raw, jsonscan.Find("status", new([]byte)), jsonscan.Find(memberNode, new([]byte)))
		b.Text("status", r.status)
		w.Payload, _ = b.Close() // it has been an object
	}
	list, _ := json.Marshal(theirs) // strings, which marshal
	w.Payload = jsonscan.WithMember(w.Payload, memberNode, list)
}
