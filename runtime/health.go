package runtime

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Health is the health of an agent, in the form of the Agentic RAG specification (rag, Agent Health
// Monitoring).
type Health struct {
	Agent          performatives.AgentID `json:"agent_id"`
	Status         string                `json:"status"`                   // active, inactive or error
	LastHeartbeat  time.Time             `json:"last_heartbeat,omitzero"`  // when the node last heard of it; zero for never
	Processed      uint64                `json:"messages_processed"`       // messages out of its mailbox or, of an agent of another process, requests that it has answered
	ResponseMillis float64               `json:"average_response_time_ms"` // from its requests to their results, in milliseconds; 0 without any
	ErrorRate      float64               `json:"error_rate"`               // the share of FAILURE in its results, 0 to 1

	// CountedSince is the time since which the node has counted the figures, or since the start of
	// the agent if that was later; zero if the node counts none.
	CountedSince time.Time `json:"counted_since,omitzero"`

	// Reported says that the agent itself has reported the figures.
	Reported bool `json:"-"`
}

// MarshalJSON leaves out the figures of an agent of which none are known: neither the agent has
// reported any, nor has the node counted.
func (h Health) MarshalJSON() ([]byte, error) {
	type all Health
	if h.Reported || !h.CountedSince.IsZero() {
		return json.Marshal(all(h))
	}
	return json.Marshal(struct { // the members without a value stand before those of h
		all
		Processed      any `json:"messages_processed,omitempty"`
		ResponseMillis any `json:"average_response_time_ms,omitempty"`
		ErrorRate      any `json:"error_rate,omitempty"`
	}{all: all(h)})
}

// The statuses of a [Health].
const (
	HealthActive   = "active"
	HealthInactive = "inactive"
	HealthError    = "error"
)

// Health returns the health of an agent of the directory, hidden or not. That of an agent of a
// session is its latest report, AGENT_STATUS of the rag dialect. Any other agent is active, without
// figures: package observe's Recorder and HealthCounter count them. ok is false if there is no such
// agent. Safe for concurrent use.
func (n *Node) Health(id performatives.AgentID) (h Health, ok bool) {
	agent, ok := n.system.Find(id)
	if !ok {
		return Health{}, false
	}
	h = Health{Agent: agent.ID(), Status: HealthActive}
	if a, ok := agent.Destination().(*sessionAgent); ok {
		if said := a.health.Load(); said != nil {
			h = *said
			h.Agent = agent.ID()
		}
	}
	return h, true
}

// The members of QUERY_CAPABILITIES by which an agent of a session says how it is.
const (
	extraStatus       = "agent_status"
	extraRegistration = memberRegistration
)

// report stores the health that an agent reports of itself. only is true if the message has no
// other purpose.
func (a *sessionAgent) report(m *performatives.Message) (only bool) {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil || m.Performative() != performatives.ActQueryCapabilities {
		return false
	}
	text, only := q.Extra[extraStatus], true
	if text == nil {
		text, only = q.Extra[extraRegistration], false
	}
	var said struct {
		Status    string   `json:"status"`
		Processed *float64 `json:"messages_processed"`
		Millis    *float64 `json:"average_response_time_ms"`
		Errors    *float64 `json:"error_rate"`
	}
	if text == nil || performatives.Unmarshal(text, &said) != nil {
		return false
	}
	h := Health{Status: strings.ToLower(said.Status), LastHeartbeat: a.link.node.system.Stamp().Time}
	switch h.Status {
	case HealthActive, HealthInactive, HealthError:
	default: // such as that of a registration in another dialect
		h.Status = HealthActive
	}
	for _, f := range []struct {
		said *float64
		set  func(float64)
	}{
		{said.Processed, func(v float64) { h.Processed = uint64(v) }},
		{said.Millis, func(v float64) { h.ResponseMillis = v }},
		{said.Errors, func(v float64) { h.ErrorRate = v }},
	} {
		if f.said != nil && *f.said >= 0 && *f.said < 1<<63 {
			f.set(*f.said)
			h.Reported = true
		}
	}
	a.health.Store(&h)
	return only
}

// taskHealth is the task of the namespace system that tells the health of an agent, or of all:
// AGENT_STATUS_REQUEST in rag.
const taskHealth = "agent_status_request"

// health performs the task [taskHealth].
func (p *Peers) health(l *peerLink, m *performatives.Message, t performatives.TaskRequest) error {
	of := p.opts.Health
	if of == nil {
		of = p.node.Health
	}
	q, err := performatives.Decode[struct {
		Agent performatives.AgentID `json:"agent_id"`
	}](t.Parameters)
	if err != nil {
		return p.node.relay.Refuse(m, refused(performatives.CodeInvalidPayload, "task_parameters: want an object with agent_id, a string"))
	}
	var answer any
	if q.Agent == "" {
		all := []Health{}
		for _, id := range p.node.Directory().IDs() {
			if h, ok := of(id); ok {
				all = append(all, h)
			}
		}
		answer = map[string]any{"agents": all}
	} else {
		h, ok := of(q.Agent)
		if !ok {
			return p.node.relay.Refuse(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %.64q", q.Agent)))
		}
		answer = h
	}
	return p.reply(l, m, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(answer)})
}
