package sessions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/wire"
)

// serveNamespace handles a message to a namespace. Its agents are the visible ones whose folded id
// is the namespace's name or begins with it and a slash. An agent that gets a task from the
// namespace replies to the peer under the namespace's name, because a conversation is identified by
// its participants.
func (p *Peers) serveNamespace(l *link, from *Agent, m *performatives.Message) error {
	if name, ok := strings.CutPrefix(string(m.Receiver().Fold()), groupPrefix); ok {
		return p.serveGroup(l, from, m, name)
	}
	var task performatives.TaskRequest
	if m.Performative() == performatives.ActTaskRequest {
		var err error
		if task, err = performatives.PayloadAs[performatives.TaskRequest](m); err != nil {
			return p.node.Relay.Refuse(m, err)
		}
		switch chosen := p.workersOn(l, from.id, m, task); len(chosen) {
		case 0:
		case 1:
			return l.DeliverAs(m, chosen[0], from.id, p.isService(m.Receiver().Fold()))
		default:
			return p.delegate(l, from, m, chosen)
		}
	}
	if !p.coversAll(m.Receiver()) && !p.hasOthers(m.Receiver(), from.id) {
		return l.Deliver(m, from.id) // it may be beyond an uplink, and else nobody is there
	}
	switch m.Performative() { //nolint:exhaustive // other acts are refused below
	case performatives.ActQueryCapabilities:
		return p.answerQueryCapabilities(l, m, from.id)
	case performatives.ActTaskRequest:
		return p.performTask(l, m, task)
	case performatives.ActQueryRef:
		return p.answerQueryRef(l, m, from.id)
	case performatives.ActQueryIf:
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeCannotDecide, "a namespace decides no conditions: ask an agent"))
	case performatives.ActRequest:
		if m.Receiver().Is(namespace.System) {
			err := p.opts.Operate(m, func(act performatives.Performative, payload any) { _ = p.reply(l, m, act, payload) })
			if err != nil {
				return p.node.Relay.Refuse(m, err)
			}
			return nil
		}
	case performatives.ActCancel:
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeConversationEnded, ""))
	case performatives.ActFailure, performatives.ActInformResult:
		if m.Receiver().Is(namespace.System) && p.tellCoordinators(from, m) {
			return nil
		}
	}
	return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeIncapable, "a namespace takes tasks and questions about its agents only: send this to an agent"))
}

// tellCoordinators passes on a failure or a result for System that answers no request: to the
// clients that speak as System. It reports whether there are any (addenda §9).
func (p *Peers) tellCoordinators(from *Agent, m *performatives.Message) (told bool) {
	for r := range p.node.System.Registered() {
		a, ok := r.Destination().(*Agent)
		if ok && a != from && a.id != a.label && a.label.Is(namespace.System) {
			told = a.Deliver(m.Readdressed(from.id, a.id)) == nil || told
		}
	}
	return told
}

// maxNamedTools is the largest number of tools that a refusal lists.
const maxNamedTools = 64

// maxShownTools is the largest number of tools in the text of a refusal.
const maxShownTools = 16

// Tools returns names of tools of an agent or a namespace that an agent of the peer may call. It
// implements [wire.ToolHandler].
func (p *Peers) Tools(s *wire.Session, asker, of performatives.AgentID) (names []string) {
	all := namespace.Union(p.node.Catalog.Members(p.scope(of)), func(a *namespace.Agent) bool { return s.MayCall(asker, a.ID()) }, false)
	for _, a := range all.Actions[:min(len(all.Actions), maxNamedTools)] {
		names = append(names, a.Name)
	}
	return names
}

// Workers returns the agents of a namespace that have a tool and that an agent of the peer may
// call; an agent is all of its own namespace. Those of the peer's session come only where there are
// no others, as for a task (see workersOn). It implements [wire.ToolHandler].
func (p *Peers) Workers(s *wire.Session, asker, of performatives.AgentID, tool string) (workers []performatives.AgentID, known bool) {
	l, all := linkOf(s), p.coversAll(of)
	if !all && p.node.Knows(of) {
		for a := range p.node.System.WithAction(tool, of) {
			if a.ID().Is(of) {
				workers = append(workers, of)
			}
			break
		}
		return workers, true
	}
	workers = p.workers(l, of, tool, maxNamedTools, func(a *actors.Registration) bool {
		return !(l.has(a) && a.ID().Is(asker)) && (!all || s.MayCall(asker, a.ID()))
	})
	return workers, all || len(workers) > 0 || p.node.System.HasRun(of) || p.hasOthers(of, "") || p.node.Uplink().Connected()
}

// workers returns the agents of a namespace that have an action and may perform it: up to most of
// other connections, or else those of the session. A connected node does not accept a message that
// one of its own agents has sent, and it prefers its own agents for a task anyway.
func (p *Peers) workers(l *link, of performatives.AgentID, action string, most int, may func(*actors.Registration) bool) (all []performatives.AgentID) {
	var own []performatives.AgentID
	for a := range p.membersWithAction(of, action) {
		switch {
		case !may(a):
		case l.has(a):
			own = append(own, a.ID())
		default:
			all = append(all, a.ID())
		}
		if len(all) == most {
			break
		}
	}
	if all == nil {
		return own
	}
	return all
}

// hasOthers reports whether a namespace has an agent besides that one.
func (p *Peers) hasOthers(name, than performatives.AgentID) bool {
	return slices.ContainsFunc(p.node.Catalog.Members(name), func(a *namespace.Agent) bool { return !a.Is(than) })
}

// scope returns the name of a namespace, which is empty for one that contains all agents.
func (p *Peers) scope(name performatives.AgentID) performatives.AgentID {
	if p.reserved(name.Fold()) {
		return ""
	}
	return name
}

// coversAll reports whether the namespace contains all agents. The empty name does.
func (p *Peers) coversAll(name performatives.AgentID) bool { return p.scope(name) == "" }

// answerQueryCapabilities replies with the capabilities of the namespace's agents, except the
// sender, each action with its schemas. From a namespace that contains all agents, the reply has
// those that the peer may call. A peer with the right to send to another namespace may call its
// members.
func (p *Peers) answerQueryCapabilities(l *link, m *performatives.Message, sender performatives.AgentID) error {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	name, seen := m.Receiver(), func(a *namespace.Agent) bool { return !a.Is(sender) }
	if p.coversAll(name) {
		if q.Type == performatives.QuerySummary && !q.Each && !l.session.Restricted() {
			return p.reply(l, m, performatives.ActInformCapabilities, p.node.Catalog.Summary(sender))
		}
		seen = func(a *namespace.Agent) bool { return !a.Is(sender) && l.session.MayCall(sender, a.ID()) }
	}
	all := namespace.Union(p.node.Catalog.Members(p.scope(name)), seen, q.Each)
	answer := performatives.InformCapabilities{Capabilities: &all}
	if q.Type != performatives.QuerySummary {
		if answer, err = all.Answer(q); err != nil {
			return p.node.Relay.Refuse(m, err)
		}
	}
	return p.reply(l, m, performatives.ActInformCapabilities, answer)
}

// MemberRegistration is the further member of an agent's capabilities that contains its
// registration.
const MemberRegistration = "agent_registration"

// workersOn returns the first agent of a namespace that has the task's action, if there is one, and
// all of them for a task whose sender names none: see [Peers.workers]. The member
// required_capabilities of a task has names that choose its worker in place of the type of the task
// (addenda §9).
func (p *Peers) workersOn(l *link, sender performatives.AgentID, m *performatives.Message, task performatives.TaskRequest) []performatives.AgentID {
	action, wanted := task.TaskType, []string{}
	if json.Unmarshal(task.Extra["required_capabilities"], &wanted) != nil { // it is the application's own, or absent
		wanted = nil
	}
	if len(wanted) > 0 {
		action = wanted[0]
	}
	most := 1
	if a, ok := m.Shape().(wire.Anycast); ok && a.Anycast() {
		most = math.MaxInt
	}
	return p.workers(l, m.Receiver(), action, most, func(a *actors.Registration) bool {
		return a.Describe().HasAll(wanted) && !a.ID().Is(sender) && (!p.coversAll(m.Receiver()) || l.session.Permits(m, a.ID()))
	})
}

// membersWithAction yields the visible agents of a namespace that have an action, sorted
// by folded id. An agent whose id is the namespace's name is not included, because it
// gets its messages directly.
func (p *Peers) membersWithAction(name performatives.AgentID, action string) iter.Seq[*actors.Registration] {
	if p.coversAll(name) {
		return p.node.System.WithAction(action, "")
	}
	below := string(name.Fold()) + "/"
	return func(yield func(*actors.Registration) bool) {
		for a := range p.node.System.WithAction(action, performatives.AgentID(below)) {
			if !strings.HasPrefix(string(a.ID().Fold()), below) || !yield(a) {
				return
			}
		}
	}
}

// performTask performs a task for which the namespace has no agent, or refuses it.
func (p *Peers) performTask(l *link, m *performatives.Message, task performatives.TaskRequest) error {
	if m.Receiver().Is(namespace.System) && task.TaskType == taskHealth {
		return p.health(l, m, task)
	}
	text := fmt.Sprintf("there is no action %.64q", task.TaskType)
	if there := p.Tools(l.session, m.Sender(), m.Receiver()); len(there) > 0 {
		text += "; there are " + strings.Join(there[:min(len(there), maxShownTools)], ", ")
		if len(there) > maxShownTools {
			text += " and more"
		}
	}
	return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeUnknownAction, text))
}

// has reports whether an agent belongs to the session.
func (l *link) has(r *actors.Registration) bool {
	a, ok := r.Destination().(*Agent)
	return ok && a.link == l
}

// reply sends a reply from the receiver of m, or from the node if m has none.
func (p *Peers) reply(l *link, m *performatives.Message, act performatives.Performative, payload any) error {
	from := cmp.Or(m.Receiver(), p.self)
	answer, err := m.ReplyFrom(from, p.node.System.Stamp(), act, payload)
	if err != nil {
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeInternal, ""))
	}
	if err := l.session.Send(answer.Readdressed(from, m.Sender().Name())); err != nil {
		return p.node.Relay.Refuse(m, err)
	}
	return nil
}

// maxShown is the largest number of lists of a session that are watched: the latest ones.
const maxShown = 16

// shown is a list of actions that an agent of the session has asked for.
type shown struct {
	of    performatives.AgentID // folded; empty for all agents
	by    *Agent
	query *performatives.Message
}

// watch has the session told when the list changes that m asks for.
func (p *Peers) watch(l *link, from *Agent, m *performatives.Message) {
	s := shown{p.scope(m.Receiver().Fold()), from, m}
	p.node.Catalog.Members(s.of) // from its first use on, the catalog tells of changes
	p.node.shownLock.Lock()
	defer p.node.shownLock.Unlock()
	lists := slices.DeleteFunc(slices.Clone(p.node.shown[l]), func(o shown) bool { return o.of == s.of && o.by == from })
	p.node.shown[l] = append(lists[max(0, len(lists)-maxShown+1):], s)
}

// actionsChanged tells the agents of sessions that a list has changed: by an INFORM about
// capabilities without content.
func (n *Sessions) actionsChanged(ids []performatives.AgentID) {
	n.shownLock.Lock()
	lists := maps.Clone(n.shown)
	n.shownLock.Unlock()
	for l, all := range lists {
		told := make(map[*Agent]bool)
		for _, s := range all {
			if told[s.by] || !slices.ContainsFunc(ids, func(id performatives.AgentID) bool { return l.shows(s, id) }) {
				continue
			}
			told[s.by] = true
			stamp := n.System.Stamp()
			m, err := performatives.New(performatives.Envelope{
				ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Receiver: s.by.label,
				Sender:   cmp.Or(s.query.Receiver(), performatives.AgentID(n.System.Node())),
				Ontology: performatives.OntologyCapabilityInformation,
			})
			if err == nil { // the error is an invalid stamp
				_ = l.session.Send(m) // a peer that does not read learns it by its next query
			}
		}
	}
}

// shows reports whether a list has the actions of an agent.
func (l *link) shows(s shown, id performatives.AgentID) bool {
	switch {
	case id.Is(s.by.id):
		return false
	case s.of == "":
		return l.session.MayCall(s.by.id, id)
	}
	return namespace.Within(string(s.of), string(id.Fold()))
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
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeInvalidPayload, "task_parameters: want an object with agent_id, a string"))
	}
	answer, ok := any(nil), true
	if q.Agent != "" {
		answer, ok = p.opts.Health(q.Agent)
	} else {
		all := []any{}
		for _, a := range p.directory() {
			if h, ok := p.opts.Health(a.ID()); ok {
				all = append(all, h)
			}
		}
		answer = map[string]any{"agents": all}
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
		of := p.scope(m.Receiver())
		for _, a := range p.node.Catalog.Members(of) {
			if a.Has(q.Reference) && !a.Is(sender) && (of != "" || l.session.Permits(m, a.ID())) {
				return l.DeliverAs(m, a.ID(), sender, false)
			}
		}
		return p.node.Relay.Refuse(m, performatives.Refused(performatives.CodeUnknownReference, fmt.Sprintf("unknown reference %.64q", q.Reference)))
	}
	return p.reply(l, m, performatives.ActInformRef, performatives.InformRef{Reference: q.Reference, Value: performatives.ContentOf(list)})
}
