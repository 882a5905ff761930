package rossnet

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/requestid"
)

// call is a request that waits for its answer: of the peer, or to the peer. An answer has the subtask_id of its request, or, where
// that has none, its correlation_id.
type call struct {
	Agent         performatives.AgentID // of the peer, folded
	Other         performatives.AgentID // of the swarm, folded
	Asker         performatives.AgentID // of the swarm, of a request to the peer
	Kind          string
	Correlation   string // as it came or was written; empty = none
	Subtask       string // empty = the request has none
	ID            performatives.MessageID
	Reference     string // the in_reply_to of its answer
	Conversation  performatives.ConversationID
	Payload       []byte // of a request of the peer whose answer repeats parts of it
	Cancel        performatives.MessageID
	CancelRef     string
	gone          bool
	NoCorrelation bool // the peer wrote none
}

// flow is the key of the latest exchange of an agent with a correlation_id or a subtask_id.
type flow struct {
	agent performatives.AgentID
	name  string
}

// pending has the exchanges of one direction. At its limit it drops the oldest.
type pending struct {
	limit        int
	subtasks     map[flow]*call
	correlations map[flow][]*call
	ids          map[requestid.Key]*call // by the id of the request, and by that of its CANCEL
	ours         bool                    // the requests are of this node
	order        []*call                 // the oldest first, and some that are gone
	n            int
	ended        func(*call) // called for each exchange that is removed; nil = no call
}

// defaultPending is the limit where the session sets none.
const defaultPending = 16_384

func newPending(limit int) pending {
	if limit <= 0 {
		limit = defaultPending
	}
	return pending{
		limit: limit, subtasks: make(map[flow]*call), correlations: make(map[flow][]*call), ids: make(map[requestid.Key]*call),
	}
}

// key returns the key of a request in ids. The id of a request of the peer is a digest, which names it alone.
func (p *pending) key(asker performatives.AgentID, id performatives.MessageID) requestid.Key {
	if !p.ours {
		asker = ""
	}
	return requestid.Of(asker, id)
}

// of returns the exchange that a message of this node is about: with the id of its request, or of the CANCEL of that.
func (p *pending) of(asker performatives.AgentID, id string) *call {
	return p.ids[p.key(asker, performatives.MessageID(id))]
}

// add adds an exchange. It replaces the one with its id, and the one of its agent with its subtask_id.
func (p *pending) add(x *call) {
	p.remove(p.ids[p.key(x.Other, x.ID)])
	if x.Subtask != "" {
		p.remove(p.subtasks[flow{x.Agent, x.Subtask}])
		p.subtasks[flow{x.Agent, x.Subtask}] = x
	}
	if p.n >= p.limit {
		p.remove(p.order[0]) // remove leaves none at the front that is gone
	}
	if len(p.order) >= 2*p.limit {
		p.order = slices.DeleteFunc(p.order, func(x *call) bool { return x.gone })
	}
	p.ids[p.key(x.Other, x.ID)] = x
	at := flow{x.Agent, x.Correlation}
	p.correlations[at] = append(p.correlations[at], x)
	p.order = append(p.order, x)
	p.n++
}

// find returns the exchange with that subtask_id, else the oldest one with that correlation_id.
func (p *pending) find(agent performatives.AgentID, subtask, correlation string) *call {
	if subtask != "" {
		if x := p.subtasks[flow{agent, subtask}]; x != nil {
			return x
		}
	}
	all := p.correlations[flow{agent, correlation}]
	if correlation == "" || len(all) == 0 {
		return nil
	}
	if x := all[0]; subtask == "" || x.Subtask == "" || x.Kind != kindAssign {
		return x
	}
	return nil // of another subtask
}

// addCancel notes the CANCEL of a request, and the in_reply_to of its answer.
func (p *pending) addCancel(x *call, id performatives.MessageID, reference string) {
	delete(p.ids, p.key(x.Other, x.Cancel))
	x.Cancel, x.CancelRef = id, reference
	p.ids[p.key(x.Other, id)] = x
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
	delete(p.ids, p.key(x.Other, x.ID))
	delete(p.ids, p.key(x.Other, x.Cancel))
	if at := (flow{x.Agent, x.Subtask}); p.subtasks[at] == x {
		delete(p.subtasks, at)
	}
	at := flow{x.Agent, x.Correlation}
	if rest := slices.DeleteFunc(p.correlations[at], func(y *call) bool { return y == x }); len(rest) > 0 {
		p.correlations[at] = rest
	} else {
		delete(p.correlations, at)
	}
	for len(p.order) > 0 && p.order[0].gone {
		p.order[0] = nil
		p.order = p.order[1:]
	}
}

// end notes an answer to the request, or to its CANCEL. An exchange with a CANCEL ends with the answer to that.
func (p *pending) end(x *call, act performatives.Performative, ofCancel bool) {
	if ofCancel || x.Cancel == "" && isFinal(act) {
		p.remove(x)
	}
}

// busy reports whether another request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	for _, y := range p.correlations[flow{x.Agent, x.Correlation}] {
		if y.ID != x.ID && y.Other == x.Other && (y.Subtask != x.Subtask || x.Subtask == "") {
			return true
		}
	}
	return false
}
