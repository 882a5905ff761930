package sessions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Health is the health of an agent, as it says itself. Its fields are those of the runtime's.
type Health struct {
	Agent          performatives.AgentID
	Status         string
	LastHeartbeat  time.Time
	Processed      uint64
	ResponseMillis float64
	ErrorRate      float64
	CountedSince   time.Time
	Reported       bool
}

// The statuses of a [Health].
const (
	Active   = "active"
	Inactive = "inactive"
	Failing  = "error"
)

// Health returns the latest report of the agent; nil without one.
func (a *Agent) Health() *Health { return a.health.Load() }

// The members of QUERY_CAPABILITIES by which an agent of a session says how it is.
const (
	extraStatus       = "agent_status"
	extraRegistration = memberRegistration
)

// report stores the health that an agent reports of itself. only is true if the message has no
// other purpose.
func (a *Agent) report(m *performatives.Message) (only bool) {
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
	h := Health{Status: strings.ToLower(said.Status), LastHeartbeat: a.link.node.System.Stamp().Time}
	switch h.Status {
	case Active, Inactive, Failing:
	default: // such as that of a registration in another dialect
		h.Status = Active
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
func (p *Peers) health(l *link, m *performatives.Message, t performatives.TaskRequest) error {
	q, err := performatives.Decode[struct {
		Agent performatives.AgentID `json:"agent_id"`
	}](t.Parameters)
	if err != nil {
		return p.node.Relay.Refuse(m, refused(performatives.CodeInvalidPayload, "task_parameters: want an object with agent_id, a string"))
	}
	var answer any
	if q.Agent == "" {
		all := []any{}
		for _, a := range p.directory() {
			if h, ok := p.opts.Health(a.ID()); ok {
				all = append(all, h)
			}
		}
		answer = map[string]any{"agents": all}
	} else {
		h, ok := p.opts.Health(q.Agent)
		if !ok {
			return p.node.Relay.Refuse(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %.64q", q.Agent)))
		}
		answer = h
	}
	return p.reply(l, m, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(answer)})
}

// directory returns the agents that discovery finds, sorted by id.
func (p *Peers) directory() []*actors.Registration {
	return slices.SortedFunc(p.node.System.Agents(), func(a, b *actors.Registration) int { return cmp.Compare(a.ID(), b.ID()) })
}
