package sessions

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Health returns what [Host].Report has made of the agent's latest report; nil without one.
func (a *Agent) Health() any { return a.health.Load() }

// report stores the health that an agent reports of itself. only is true if the message has no
// other purpose.
func (a *Agent) report(m *performatives.Message) (only bool) {
	if m.Performative() != performatives.ActQueryCapabilities {
		return false
	}
	health, only := a.link.node.Report(m)
	if health != nil {
		a.health.Store(health)
	}
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
