package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
)

// groupPrefix is the beginning of a receiver that is a group: all agents with the topic or action
// behind it (addenda §9).
const groupPrefix = "group:"

// candidates are the agents of a group that a peer may call. A task for a group has them as its
// Shape, which no peer can write.
type candidates []performatives.AgentID

// serveGroup has a task for a group delegated to a member.
func (p *Peers) serveGroup(l *link, from *Agent, m *performatives.Message, name string) error {
	if m.Performative() != performatives.ActTaskRequest {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeIncapable, "a group takes tasks only"))
	}
	var members candidates
	for _, r := range p.directory() {
		if r.Describe().HasAll([]string{name}) && !r.ID().Is(from.id) && l.session.Permits(m, r.ID()) {
			members = append(members, r.ID())
		}
	}
	if len(members) == 0 {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeNoMatch, fmt.Sprintf("no agent has the topic or action %.64q", name)))
	}
	return p.delegate(l, from, m, members)
}

// delegate passes a task to the agent that delegates it to the first member that accepts it.
func (p *Peers) delegate(l *link, from *Agent, m *performatives.Message, members candidates) error {
	to := p.node.delegator()
	if to == "" {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeInternal, "the node has no agent that delegates tasks of groups: it could not start one"))
	}
	task, err := m.With(func(e *performatives.Envelope) { e.Shape = members })
	if err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	return l.DeliverAs(task, to, from.id, false)
}

// startDelegator starts the delegator of the node, and returns its id.
func (n *Sessions) startDelegator() performatives.AgentID {
	spec := actors.Spec{ID: performatives.AgentID(n.System.Node() + "/groups"), Hidden: true, New: func() actors.Agent { return delegator{} }}
	if _, err := n.System.Spawn(context.Background(), spec); err != nil { //nolint:forbidigo // it starts at once
		n.System.Logger().Error("the agent that delegates tasks of groups could not start", "agent", spec.ID, "err", err)
		return ""
	}
	return spec.ID
}

// delegator delegates tasks for groups, each to the first member that accepts it.
type delegator struct{}

func (delegator) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// ConsiderTask accepts a task for a group. A further round has to go to the member.
func (delegator) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if _, ok := t.Message.Shape().(candidates); !ok {
		return delegation.Reject(performatives.CodeIncapable, "ask the agent that handled_by names")
	}
	return delegation.Accept()
}

// MaxTasks sets no bound of its own: each member has one.
func (delegator) MaxTasks() int { return 1 << 16 }

// PerformTask delegates a task. The result names the member as handled_by.
func (delegator) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	members, _ := t.Message.Shape().(candidates)
	found, err := discovery.DelegateToAny(ctx, t.Agent, members, t.TaskRequest,
		codons.WithOntology(t.Message.Ontology()), codons.WithPriority(t.Message.Priority()), codons.WithTrace(t.Message.Trace()),
		delegation.WithProgress(func(u performatives.StatusUpdate) { _ = t.Report(u) })) // it fails only after a CANCEL, which ends ctx
	if none, ok := errors.AsType[*discovery.NoAgentError](err); ok {
		return performatives.InformResult{}, unperformed(none)
	}
	if err != nil {
		return performatives.InformResult{}, err
	}
	if found.Result.Extra == nil {
		found.Result.Extra = performatives.Members{}
	}
	found.Result.Extra["handled_by"], _ = json.Marshal(found.Agent) // a text always has a JSON form
	return found.Result, nil
}

// unperformed returns the refusal of a task that no member has performed: a failure of one that had
// accepted it, or the reasons of all.
func unperformed(none *discovery.NoAgentError) error {
	reasons := make([]string, len(none.Attempts))
	for i, a := range none.Attempts {
		end, ok := errors.AsType[*codons.EndError](a.Err)
		if ok && end.Refusal.Code.Traits().Carrier == performatives.ActFailure {
			return performatives.Refused(end.Refusal.Code, fmt.Sprintf("%s: %s", a.Agent, end.Refusal.Text))
		}
		if ok {
			reasons[i] = fmt.Sprintf("%s: %s", a.Agent, end.Refusal.Code)
		}
	}
	return performatives.Refused(performatives.CodeNoMatch, "no agent of the group took it on: "+strings.Join(reasons, ", "))
}
