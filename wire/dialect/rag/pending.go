package rag

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request that waits for its answer: of the peer, or to the peer. rag has no message ids,
// so that it relates an answer to its request by the trace id, and by the agent of the peer.
type call struct {
	exchange.Request
	Trace string
	Asked performatives.AgentID
}

// traceKey is the key of a call in pending: a message of the peer has both parts.
type traceKey struct {
	agent performatives.AgentID
	trace string
}

func (x *call) key() traceKey { return traceKey{x.Agent, x.Trace} }

// party is one agent of the peer, one agent of the swarm, and their conversation.
type party struct {
	asker, asked performatives.AgentID // folded
	conversation performatives.ConversationID
}

func (x *call) party() party { return party{x.Asker.Fold(), x.Asked.Fold(), x.Conversation} }

// pending has the calls of one direction. The answer to one that was dropped gets a new trace id of
// the same conversation.
type pending struct {
	exchange.Pending[*call]
	traces map[traceKey][]*call // the oldest first; those to the peer are of several askers
	open   map[party]int
}

// init makes p empty. It calls ended, which may be nil, for each call that is removed.
func (p *pending) init(limit int, ours bool, ended func(*call)) {
	p.traces, p.open = make(map[traceKey][]*call), make(map[party]int)
	p.Init(limit, ours, func(x *call) {
		if ended != nil {
			ended(x)
		}
		if rest := slices.DeleteFunc(p.traces[x.key()], func(y *call) bool { return y == x }); len(rest) > 0 {
			p.traces[x.key()] = rest
		} else {
			delete(p.traces, x.key())
		}
		if p.open[x.party()]--; p.open[x.party()] == 0 {
			delete(p.open, x.party())
		}
	})
}

// add adds a call. It replaces the one of its asker with its key, and the one with its id.
func (p *pending) add(x *call) {
	p.Remove(p.find(x.key(), x.Asker))
	p.Add(x)
	p.traces[x.key()] = append(p.traces[x.key()], x)
	p.open[x.party()]++
}

// find returns the call of an asker, by the name that the peer knows, or nil.
func (p *pending) find(at traceKey, asker performatives.AgentID) *call {
	for _, x := range p.traces[at] {
		if nameFor(x.Asker).Is(nameFor(asker)) {
			return x
		}
	}
	return nil
}

// to returns the call that a message for that receiver answers: that of the receiver, else the
// oldest, or nil.
func (p *pending) to(at traceKey, receiver performatives.AgentID) *call {
	if x := p.find(at, receiver); x != nil || len(p.traces[at]) == 0 {
		return x
	}
	return p.traces[at][0]
}

// nameFor returns the name by which a peer knows an agent: an external coordinator is System.
func nameFor(id performatives.AgentID) performatives.AgentID {
	if id.Name().Is(agentSystem) {
		return agentSystem
	}
	return id
}

// isFinal reports whether an act ends the request that it answers.
func isFinal(act performatives.Performative) bool {
	return exchange.IsRefusal(act) || act == performatives.ActInformResult || act == performatives.ActInformCapabilities
}

// busy reports whether a request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	same := p.Find(x.Asker, string(x.ID))
	return p.open[x.party()] > 0 && (same == nil || same.Conversation != x.Conversation)
}
