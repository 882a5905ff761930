package rag

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/requestid"
)

// call is a request that waits for its answer: of the peer, or to the peer. rag has no message ids, so that it relates an answer
// to its request by the trace id, and by the agent of the peer.
type call struct {
	Agent        performatives.AgentID // of the peer, folded
	Trace        string
	Kind         string // the type of the request
	ID           performatives.MessageID
	Reference    string // the in_reply_to of its answer
	Conversation performatives.ConversationID
	Asker, Asked performatives.AgentID
	Cancel       performatives.MessageID // the CANCEL of the request that has no answer yet
	CancelRef    string                  // the in_reply_to of the answer to that
	gone         bool
}

// traceKey is the key of an exchange in pending: a message of the peer has both parts.
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

// pending has the exchanges of one direction. At its limit it drops the oldest: the answer to that gets a new trace id of the
// same conversation.
type pending struct {
	limit  int
	traces map[traceKey]*call
	ids    map[requestid.Key]*call // by the id of the request, and by that of its CANCEL
	ours   bool                    // the requests are of this node
	open   map[party]int
	order  []*call // the oldest first, and some that are gone
	n      int
	ended  func(*call) // called for each exchange that is removed; nil = no call
}

// defaultPending is the limit where the session sets none.
const defaultPending = 16_384

func newPending(limit int) pending {
	if limit <= 0 {
		limit = defaultPending
	}
	return pending{
		limit: limit, traces: make(map[traceKey]*call), ids: make(map[requestid.Key]*call), open: make(map[party]int),
	}
}

// key returns the key of a request in ids. The id of a request of the peer is a digest, which names it alone.
func (p *pending) key(asker performatives.AgentID, id performatives.MessageID) requestid.Key {
	if !p.ours {
		asker = ""
	}
	return requestid.Of(asker, id)
}

// find returns the exchange that a message of this node is about: with the id of its request, or of the CANCEL of that.
func (p *pending) find(asker performatives.AgentID, id string) *call {
	return p.ids[p.key(asker, performatives.MessageID(id))]
}

// add adds an exchange. It replaces the one with its key, and the one with its id.
func (p *pending) add(x *call) {
	p.remove(p.traces[x.key()])
	p.remove(p.ids[p.key(x.Asker, x.ID)])
	if p.n >= p.limit {
		p.remove(p.order[0]) // remove leaves none at the front that is gone
	}
	if len(p.order) >= 2*p.limit {
		p.order = slices.DeleteFunc(p.order, func(x *call) bool { return x.gone })
	}
	p.traces[x.key()], p.ids[p.key(x.Asker, x.ID)] = x, x
	p.open[x.party()]++
	p.order = append(p.order, x)
	p.n++
}

// addCancel notes the CANCEL of a request, and the in_reply_to of its answer.
func (p *pending) addCancel(x *call, id performatives.MessageID, reference string) {
	delete(p.ids, p.key(x.Asker, x.Cancel))
	x.Cancel, x.CancelRef = id, reference
	p.ids[p.key(x.Asker, id)] = x
}

func (p *pending) remove(x *call) {
	if x == nil || x.gone {
		return
	}
	x.gone = true
	p.n--
	if p.ended != nil {
		p.ended(x)
	}
	delete(p.traces, x.key())
	delete(p.ids, p.key(x.Asker, x.ID))
	delete(p.ids, p.key(x.Asker, x.Cancel))
	if p.open[x.party()]--; p.open[x.party()] == 0 {
		delete(p.open, x.party())
	}
	for len(p.order) > 0 && p.order[0].gone {
		p.order[0] = nil
		p.order = p.order[1:]
	}
}

// end notes an answer to the request, or to its CANCEL. An exchange with a CANCEL ends with the answer to that.
func (p *pending) end(x *call, act performatives.Performative, ofCancel bool) {
	if ofCancel || x.Cancel == "" && (isRefusal(act) || act == performatives.ActInformResult || act == performatives.ActInformCapabilities) {
		p.remove(x)
	}
}

// busy reports whether a request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	same := p.ids[p.key(x.Asker, x.ID)]
	return p.open[x.party()] > 0 && (same == nil || same.Conversation != x.Conversation)
}
