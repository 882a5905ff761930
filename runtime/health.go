package runtime

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
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
	h.Status = HealthActive
	if a, ok := agent.Destination().(*sessions.Agent); ok {
		if said, ok := a.Health().(Health); ok {
			h = said
		}
	}
	h.Agent = agent.ID()
	return h, true
}

// extraStatus is the member of QUERY_CAPABILITIES by which an agent of a session says how it is.
// Without it, its registration does.
const extraStatus = "agent_status"

// reportOf returns the health that the sender of a query reports of itself, a [Health], or nil.
// only is true if the query has no other purpose.
func (n *Node) reportOf(q performatives.QueryCapabilities) (health any, only bool) {
	text, only := q.Extra[extraStatus], true
	if text == nil {
		text, only = q.Extra[sessions.MemberRegistration], false
	}
	var said struct {
		Status    string   `json:"status"`
		Processed *float64 `json:"messages_processed"`
		Millis    *float64 `json:"average_response_time_ms"`
		Errors    *float64 `json:"error_rate"`
	}
	if text == nil || performatives.Unmarshal(text, &said) != nil {
		return nil, false
	}
	h := Health{Status: strings.ToLower(said.Status), LastHeartbeat: n.system.Stamp().Time}
	if !slices.Contains([]string{HealthActive, HealthInactive, HealthError}, h.Status) { // such as that of a registration in another dialect
		h.Status = HealthActive
	}
	figure := func(said *float64) float64 {
		if said == nil || *said < 0 || *said >= 1<<63 {
			return 0
		}
		h.Reported = true
		return *said
	}
	h.Processed, h.ResponseMillis, h.ErrorRate = uint64(figure(said.Processed)), figure(said.Millis), figure(said.Errors)
	return h, only
}
