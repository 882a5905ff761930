package runtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The namespaces of all agents (wire, Namespace Extraction). They are no agents, and no
// agent outside may call itself so.
const (
	namespaceSystem  performatives.AgentID = "system"
	namespaceDefault performatives.AgentID = "default"
)

// referenceAgents is what QUERY_REF asks the namespace system for: a list of the agents.
const referenceAgents = "agents"

// serve answers a message that is for no agent: for a namespace, which is the node's
// visible agents, or those of them whose ids are its name or begin with it and a slash.
// An agent that it gives a task to speaks to the peer in the name of the namespace, for
// a conversation is known by who takes part in it.
func (p *Peers) serve(l *peerLink, from *proxy, m *performatives.Message) error {
	if local, ok := l.ledger.localOf(from.id, m); ok { // what is under way goes on where it is
		return l.deliverAs(m, local, from.id)
	}
	if m.Performative() == performatives.ActTaskRequest {
		if chosen, ok := p.choose(l, from.id, m); ok {
			return l.deliverAs(m, chosen, from.id)
		}
	}
	agents := p.covered(m.Receiver(), from.id)
	if !p.all(m.Receiver()) && none(agents) {
		return p.node.turnAway(m, refused(performatives.CodeUnknownAgent, fmt.Sprintf("there is no agent and no namespace %q", m.Receiver())))
	}
	switch m.Performative() { //nolint:exhaustive // a namespace does no more
	case performatives.ActQueryCapabilities:
		return p.describe(l, m, agents)
	case performatives.ActTaskRequest:
		return p.unable(m)
	case performatives.ActQueryRef:
		return p.refer(l, m)
	case performatives.ActCancel:
		return p.node.turnAway(m, refused(performatives.CodeConversationEnded, ""))
	}
	return p.node.turnAway(m, refused(performatives.CodeIncapable, "a namespace is asked for capabilities and for tasks only"))
}

// all reports whether a name stands for every agent.
func (p *Peers) all(name performatives.AgentID) bool {
	return name == "" || p.reserved(name.Fold())
}

// covered yields the visible agents of a namespace but for who asks, in no particular
// order.
func (p *Peers) covered(name, asker performatives.AgentID) iter.Seq[actors.Self] {
	all, folded := p.all(name), string(name.Fold())
	return func(yield func(actors.Self) bool) {
		for a := range p.node.system.Agents() {
			if (all || within(folded, string(a.ID().Fold()))) && !a.ID().Is(asker) && !yield(a) {
				return
			}
		}
	}
}

func none(agents iter.Seq[actors.Self]) bool {
	for range agents {
		return false
	}
	return true
}

// byID is the order in which the agents of a namespace come first.
func byID(a, b actors.Self) int { return cmp.Compare(a.ID().Fold(), b.ID().Fold()) }

// within reports whether an id belongs to a namespace, both folded.
func within(namespace, id string) bool {
	rest, ok := strings.CutPrefix(id, namespace)
	return ok && (rest == "" || rest[0] == '/')
}

// describe tells what the agents of a namespace can do, each action with its schemas.
func (p *Peers) describe(l *peerLink, m *performatives.Message, agents iter.Seq[actors.Self]) error {
	q, err := performatives.PayloadAs[performatives.QueryCapabilities](m)
	if err != nil {
		return p.node.turnAway(m, err)
	}
	all := union(slices.SortedFunc(agents, byID))
	answer := performatives.InformCapabilities{Capabilities: &all}
	if q.Type != performatives.QuerySummary {
		if answer, err = all.Answer(q); err != nil {
			return p.node.turnAway(m, err)
		}
	}
	return p.reply(l, m, performatives.ActInformCapabilities, answer)
}

// memberAgent is the member of an action that says which agent has it.
const memberAgent = "agent"

// union is what several agents can do, and which of them has an action. Of two actions of
// one name, that of the first agent is meant.
func union(agents []actors.Self) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	topics, actions := make(map[string]bool), make(map[string]bool)
	for _, agent := range agents {
		c := agent.Describe()
		for _, t := range c.Topics {
			if name := performatives.FoldCapability(t); !topics[name] {
				topics[name] = true
				all.Topics = append(all.Topics, t)
			}
		}
		for _, a := range c.Actions {
			if name := performatives.FoldCapability(a.Name); !actions[name] {
				actions[name] = true
				all.Actions = append(all.Actions, owned(a, agent.ID()))
			}
		}
	}
	return all
}

// owned is an action that says whose it is.
func owned(a performatives.Action, by performatives.AgentID) performatives.Action {
	id, err := json.Marshal(by)
	if err != nil {
		return a // only an id that no agent could have
	}
	a.Extra = maps.Clone(a.Extra)
	if a.Extra == nil {
		a.Extra = make(performatives.Members, 1)
	}
	a.Extra[memberAgent] = id
	return a
}

// choose returns the first agent of a namespace that has the action of a task's name. One
// of another connection comes first: a node does not take from outside what one of its own
// agents has sent, and has the agents nearer to it anyway.
func (p *Peers) choose(l *peerLink, asker performatives.AgentID, m *performatives.Message) (chosen performatives.AgentID, found bool) {
	task, err := performatives.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return "", false // see unable
	}
	for a := range p.able(m.Receiver(), task.TaskType) {
		if a.ID().Is(asker) {
			continue
		}
		if !p.speaks(l, a.ID()) {
			return a.ID(), true
		}
		if !found {
			chosen, found = a.ID(), true
		}
	}
	return chosen, found
}

// able yields the visible agents of a namespace that have an action, by their folded ids.
// One whose id is the namespace's name is not among them: it gets its tasks itself.
func (p *Peers) able(name performatives.AgentID, action string) iter.Seq[actors.Self] {
	if p.all(name) {
		return p.node.system.Able(action, "")
	}
	below := string(name.Fold()) + "/"
	return func(yield func(actors.Self) bool) {
		for a := range p.node.system.Able(action, performatives.AgentID(below)) {
			if !strings.HasPrefix(string(a.ID().Fold()), below) || !yield(a) {
				return
			}
		}
	}
}

// unable refuses a task for which there is no agent.
func (p *Peers) unable(m *performatives.Message) error {
	task, err := performatives.PayloadAs[performatives.TaskRequest](m)
	if err != nil {
		return p.node.turnAway(m, err)
	}
	return p.node.turnAway(m, refused(performatives.CodeUnknownAction, fmt.Sprintf("there is no action %.64q", task.TaskType)))
}

// speaks reports whether an agent is one of a session's.
func (p *Peers) speaks(l *peerLink, id performatives.AgentID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.agents[id.Fold()] != nil
}

// listed is an agent in the answer to QUERY_REF.
type listed struct {
	ID      performatives.AgentID  `json:"id"`
	Node    string                 `json:"node"`
	Topics  []string               `json:"topics"`
	Actions []performatives.Action `json:"actions"`
}

// refer lists the agents of the node.
func (p *Peers) refer(l *peerLink, m *performatives.Message) error {
	q, err := performatives.PayloadAs[performatives.QueryRef](m)
	if err != nil {
		return p.node.turnAway(m, err)
	}
	if q.Reference != referenceAgents || !p.all(m.Receiver()) {
		return p.node.turnAway(m, refused(performatives.CodeIncapable, fmt.Sprintf("%.64q stands for nothing here", q.Reference)))
	}
	agents := []listed{}
	for _, e := range p.node.Directory().All() {
		agents = append(agents, listed{
			e.ID, e.Node, append([]string{}, e.Capabilities.Topics...), append([]performatives.Action{}, e.Capabilities.Actions...),
		})
	}
	return p.reply(l, m, performatives.ActInformRef, performatives.InformRef{Reference: q.Reference, Value: performatives.ContentOf(agents)})
}

// reply answers in the name of whoever was asked.
func (p *Peers) reply(l *peerLink, m *performatives.Message, act performatives.Performative, payload any) error {
	from := cmp.Or(m.Receiver(), p.node.self.ID())
	answer, err := m.ReplyFrom(from, p.node.system.Stamp(), act, payload)
	if err != nil {
		return p.node.turnAway(m, refused(performatives.CodeInternal, ""))
	}
	if err := l.session.Send(answer); err != nil {
		return p.node.turnAway(m, err)
	}
	return nil
}

// asRefusal gives any error the form that a sender gets.
func asRefusal(err error) *performatives.Refusal {
	var r *performatives.Refusal
	if errors.As(err, &r) {
		return r
	}
	return refused(performatives.CodeInternal, "")
}
