package actors

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// pendingRequests are the requests of one agent that wait for their replies. They are
// stored in the cell and not in the agent's value, because [Self.Ask] runs on other
// goroutines: a pending request survives a restart of the agent, and ends when the agent
// stops. A nil set is empty.
type pendingRequests struct {
	mu     sync.Mutex
	byRef  map[string]*pendingRequest // by each reference of pendingRequest.refs
	closed bool
}

// pendingRequest is one request and a channel for its reply. The reply is nil when the
// agent stops first.
type pendingRequest struct {
	request  *performatives.Message
	losses   uint64                      // how many had begun when the agent asked: see [PeerLoss]
	ends     bool                        // it has a deadline, and expects a reply, which a loss can give
	accounts bool                        // see [Registration.AccountFor]; guarded by pendingRequests.mu
	reply    chan *performatives.Message // capacity 1
}

// refs returns the values by which a reply may refer to the request. Empty ones are
// unused.
func (r *pendingRequest) refs() [3]string {
	return [3]string{string(r.request.ID()), r.request.ReplyWith(), string(r.request.ConversationID())}
}

// closedRequests is the value of an agent that stopped before its first request.
var closedRequests = &pendingRequests{closed: true}

// add registers a request. It reports false when the agent has stopped.
func (p *pendingRequests) add(r *pendingRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.byRef == nil {
		p.byRef = make(map[string]*pendingRequest)
	}
	for _, ref := range r.refs() {
		// A conversation may have the id of its first request, which goes by that name then.
		before := p.byRef[ref]
		taken := before != nil && string(before.request.ID()) == ref && ref != string(r.request.ID())
		if ref != "" && !taken {
			p.byRef[ref] = r
		}
	}
	return true
}

func (p *pendingRequests) remove(r *pendingRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(r)
}

func (p *pendingRequests) removeLocked(r *pendingRequest) {
	for _, ref := range r.refs() {
		if p.byRef[ref] == r {
			delete(p.byRef, ref)
		}
	}
}

// resolve passes m to the pending request that it replies to, which ends. It reports false when
// there is none.
func (p *pendingRequests) resolve(m *performatives.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.find(m)
	if r == nil {
		return false
	}
	p.removeLocked(r)
	r.reply <- m
	return true
}

// find returns the request that m replies to, or nil. A message without a matching
// InReplyTo is matched by its conversation, unless it expects a reply itself.
func (p *pendingRequests) find(m *performatives.Message) *pendingRequest {
	r := p.byRef[m.InReplyTo()]
	if r == nil && !m.Performative().ExpectsReply() {
		r = p.byRef[string(m.ConversationID())]
	}
	if r == nil || r.request.Receiver() != "" && !r.request.Receiver().Is(m.Sender()) {
		return nil
	}
	return r
}

// when reports whether m is a request that waits and for which is returns true. is is called with
// pendingRequests.mu.
func (p *pendingRequests) when(m *performatives.Message, is func(*pendingRequest) bool) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.byRef[string(m.ID())]
	return r != nil && r.request.ID() == m.ID() && is(r)
}

// lost returns the requests that a loss of those peers, by their folded ids, is to tell.
func (p *pendingRequests) lost(peers map[performatives.AgentID]bool) (all []*pendingRequest) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for ref, r := range p.byRef {
		if r.accounts && ref == string(r.request.ID()) && hasFolded(peers, r.request.Receiver()) {
			all = append(all, r)
		}
	}
	return all
}

// lose answers the requests to the peers of a loss by FAILURE in the names of these.
func (p *pendingRequests) lose(l *peersLost, stamper performatives.Stamper) {
	for _, r := range p.lost(l.peers) {
		if r.losses >= l.number {
			continue
		}
		if m := r.request.Refuse(r.request.Receiver(), stamper.Stamp(), l.code, l.text); m != nil { // else the stamp is invalid, and the request has its deadline
			p.resolve(m)
		}
	}
}

// close ends all pending requests with a nil reply, and refuses later ones.
func (p *pendingRequests) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, r := range p.byRef {
		select {
		case r.reply <- nil:
		default: // closed under another reference
		}
	}
}

// pendingRequests returns the agent's pending requests, and creates the set on first use.
// It may be closed already.
func (c *cell) pendingRequests() *pendingRequests {
	if p := c.requests.Load(); p != nil {
		return p
	}
	c.requests.CompareAndSwap(nil, new(pendingRequests))
	return c.requests.Load()
}
