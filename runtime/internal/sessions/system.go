package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// taskHealth is the task of the namespace system that tells the health of an agent, or of all:
// AGENT_STATUS_REQUEST in rag.
const taskHealth = "agent_status_request"

// health performs the task [taskHealth].
func (p *Peers) health(l *link, m *performatives.Message, t performatives.TaskRequest) error {
	q, err := performatives.Decode[struct {
		Agent performatives.AgentID `json:"agent_id"`
	}](t.Parameters)
	if err != nil {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeInvalidPayload, "task_parameters: want an object with agent_id, a string"))
	}
	answer, ok := p.opts.Health(q.Agent)
	if q.Agent == "" {
		all := []any{}
		for _, a := range p.directory() {
			if h, ok := p.opts.Health(a.ID()); ok {
				all = append(all, h)
			}
		}
		answer, ok = map[string]any{"agents": all}, true
	}
	if !ok {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent %.64q", q.Agent)))
	}
	return p.reply(l, m, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(answer)})
}

// directory returns the agents that discovery finds, sorted by id.
func (p *Peers) directory() []*actors.Registration {
	return slices.SortedFunc(p.node.System.Agents(), func(a, b *actors.Registration) int { return cmp.Compare(a.ID(), b.ID()) })
}

// The references of a QUERY_REF to the namespace system: the lists of the agents and of the nodes
// of the cluster.
const (
	referenceAgents  = "agents"
	referenceMembers = "members"
)

// agentListing is an agent in the reply to QUERY_REF "agents".
type agentListing struct {
	ID      performatives.AgentID  `json:"id"`
	Node    string                 `json:"node"`
	Topics  []string               `json:"topics"`
	Actions []performatives.Action `json:"actions"`
	// Registration is the agent's own registration in its dialect, such as rossnet's
	// DISCOVERY_REGISTER.
	Registration json.RawMessage `json:"agent_registration,omitempty"`
	BusySince    time.Time       `json:"busy_since,omitzero"` // of an agent of this node: see [actors.Self.Busy]
}

// listAgents returns the agents that discovery finds and the peer may call, and those of the peer.
// For a query of rossnet for agents of any status, those that have registered as inactive follow.
func (p *Peers) listAgents(l *link, m *performatives.Message, q performatives.QueryRef) []agentListing {
	all, agents := p.directory(), []agentListing{}
	if strings.EqualFold(string(q.Extra["required_status"]), `"ANY"`) {
		for r := range p.node.System.Registered() {
			if _, ok := r.Destination().(*Agent); ok && !r.Visible() && r.Describe().Extra[MemberRegistration] != nil {
				all = append(all, r)
			}
		}
	}
	for _, r := range all {
		if !r.ID().Is(m.Sender()) && !l.session.MayCall(m.Sender(), r.ID()) {
			continue
		}
		c := r.Describe()
		a := agentListing{
			ID: r.ID(), Node: p.node.System.Node(), Topics: append([]string{}, c.Topics...), Actions: append([]performatives.Action{}, c.Actions...),
			Registration: c.Extra[MemberRegistration],
		}
		if d, ok := r.Destination().(Elsewhere); ok {
			a.Node = d.Node()
		}
		if self, here := p.node.System.Lookup(r.ID()); here {
			a.BusySince, _ = self.Busy()
		}
		agents = append(agents, a)
	}
	return agents
}

// answerQueryRef replies with the list of the agents, or of the nodes. The URI of a resource is a
// question for the first agent that has it.
func (p *Peers) answerQueryRef(l *link, m *performatives.Message, sender performatives.AgentID) error {
	q, err := performatives.PayloadAs[performatives.QueryRef](m)
	if err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	var list any
	switch {
	case q.Reference == referenceAgents && p.coversAll(m.Receiver()):
		list = p.listAgents(l, m, q)
	case q.Reference == referenceMembers && p.coversAll(m.Receiver()):
		list = p.node.Members()
	default:
		of := m.Receiver()
		if p.coversAll(of) {
			of = ""
		}
		for _, a := range p.node.Catalog.Members(of) {
			if a.Has(q.Reference) && !a.Is(sender) && (of != "" || l.session.Permits(m, a.ID())) {
				return l.DeliverAs(m, a.ID(), sender, false)
			}
		}
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeUnknownReference, fmt.Sprintf("unknown reference %.64q", q.Reference)))
	}
	return p.reply(l, m, performatives.ActInformRef, performatives.InformRef{Reference: q.Reference, Value: performatives.ContentOf(list)})
}
