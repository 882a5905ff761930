package sessions

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
)

// maxShown is the largest number of lists of a session that are watched: the latest ones.
const maxShown = 16

// shown is a list of actions that an agent of the session has asked for.
type shown struct {
	of    performatives.AgentID // folded; empty for all agents
	by    *Agent
	query *performatives.Message
}

// watch has the session told when the list changes that m asks for, if that is one of each agent.
func (p *Peers) watch(l *link, from *Agent, m *performatives.Message) {
	if m.Performative() != performatives.ActQueryCapabilities {
		return
	}
	if q, err := performatives.PayloadAs[performatives.QueryCapabilities](m); err != nil || !q.Each {
		return
	}
	s := shown{m.Receiver().Fold(), from, m}
	if p.coversAll(s.of) {
		s.of = ""
	}
	l.shownLock.Lock()
	defer l.shownLock.Unlock()
	l.shown = slices.DeleteFunc(l.shown, func(o shown) bool { return o.of == s.of && o.by == from })
	if len(l.shown) == maxShown {
		l.shown = slices.Delete(l.shown, 0, 1)
	}
	if l.shown = append(l.shown, s); len(l.shown) == 1 {
		p.node.Catalog.Watch(l)
	}
}

// ActionsChanged tells the agents of the session that a list has changed: by an INFORM about
// capabilities without content.
func (l *link) ActionsChanged(ids []performatives.AgentID) {
	l.shownLock.Lock()
	all := slices.Clone(l.shown)
	l.shownLock.Unlock()
	told := make(map[*Agent]bool)
	for _, s := range all {
		if told[s.by] || !slices.ContainsFunc(ids, func(id performatives.AgentID) bool { return l.shows(s, id) }) {
			continue
		}
		told[s.by] = true
		stamp := l.node.System.Stamp()
		m, err := performatives.New(performatives.Envelope{
			ID: stamp.ID, Timestamp: stamp.Time, Performative: performatives.ActInform, Receiver: s.by.label,
			Sender:   cmp.Or(s.query.Receiver(), performatives.AgentID(l.node.System.Node())),
			Ontology: performatives.OntologyCapabilityInformation,
		})
		if err == nil { // the error is an invalid stamp
			_ = l.session.Send(m) // a peer that does not read learns it by its next query
		}
	}
}

// shows reports whether a list has the actions of an agent.
func (l *link) shows(s shown, id performatives.AgentID) bool {
	switch {
	case id.Is(s.by.id):
		return false
	case s.of == "":
		return l.session.MayCall(s.query, id)
	}
	return namespace.Within(string(s.of), string(id.Fold()))
}
