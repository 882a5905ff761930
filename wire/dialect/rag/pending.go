package rag

import (
	"time"

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

func (x *call) party() exchange.Party { return exchange.Between(x.Asker, x.Asked, x.Conversation) }

// pending has the calls of one direction. The answer to one that was dropped gets a new trace id of
// the same conversation.
type pending struct {
	exchange.Pending[*call]
	traces  *exchange.Index[traceKey, *call] // those to the peer are of several askers
	parties *exchange.Index[exchange.Party, *call]
}

// init makes p empty. It calls ended, which may be nil, for each call that is removed.
func (p *pending) init(limit int, ours bool, ended func(*call)) {
	p.Init(limit, ours, ended)
	p.traces = exchange.IndexOf(&p.Pending, (*call).key)
	p.parties = exchange.IndexOf(&p.Pending, (*call).party)
}

// add adds a call. It replaces the one of its asker with its key, and the one with its id.
func (p *pending) add(x *call) {
	p.Remove(p.find(x.key(), x.Asker))
	p.Add(x)
}

// find returns the call of an asker, by the name that the peer knows, or nil.
func (p *pending) find(at traceKey, asker performatives.AgentID) *call {
	return p.traces.Any(at, func(x *call) bool { return nameFor(x.Asker).Is(nameFor(asker)) })
}

// to returns the call that a message for that receiver answers: that of the receiver, else the
// oldest, or nil.
func (p *pending) to(at traceKey, receiver performatives.AgentID) *call {
	if x := p.find(at, receiver); x != nil {
		return x
	}
	return p.traces.Oldest(at)
}

// nameFor returns the name by which a peer knows an agent: an external coordinator is System.
func nameFor(id performatives.AgentID) performatives.AgentID {
	if id.Name().Is(agentSystem) {
		return agentSystem
	}
	return id
}

// final has the acts that end the request that they answer.
var final = exchange.Refusals | exchange.ActsOf(performatives.ActInformResult, performatives.ActInformCapabilities)

// busy reports whether a request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	same := p.Find(x.Asker, string(x.ID))
	return p.parties.Latest(x.party()) != nil && (same == nil || same.Conversation != x.Conversation)
}

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// ended notes the end of a request of the peer.
func (c *codec) ended(x *call) {
	if x.Kind != performatives.ActCancel.String() {
		c.withdrawn.End(x.key())
	}
}
