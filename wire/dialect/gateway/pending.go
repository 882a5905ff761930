package gateway

import (
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

// origin is the address of an answer: the message of the peer that it answers. It is the
// Ref of a [wire.Inbound].
type origin struct {
	id          []byte // the JSON-RPC id; nil for a message without an answer
	correlation string // the envelope's id
	batch       *batch // nil outside a batch
	slot        int
	call        *call // of a pending request
	cancels     *call // of a CANCEL
}

// call is a pending request of the peer.
type call struct {
	origin
	message   *performatives.Message // without its payload
	method    string
	mcp       bool   // the peer uses a protocol version of MCP
	token     []byte // the progress token; nil for none
	progress  float64
	cancelled bool                  // the peer has cancelled it, and gets no answer
	hello     *hello                // of initialize
	of        performatives.AgentID // of resources/list: the namespace; empty for all agents
	expires   time.Time
}

// startsWork reports whether the call is one of an agent. The others only read.
func (c *call) startsWork(method string) bool {
	return c.hello == nil && method != methodList && method != methodResources
}

// request is a pending request of this node to the peer.
type request struct {
	id       string                 // the JSON-RPC id: a number
	envelope string                 // the id of the envelope
	message  *performatives.Message // without its payload
	method   string
	cancel   *performatives.Message // the CANCEL of the request, without its payload
	expires  time.Time
	pages    pages // of tools/list
}

// key returns a JSON-RPC id as the key of a map. The string "1" and the number 1 differ.
func key(id []byte) string {
	if jsonscan.Is(id, '"') {
		return `"` + jsonscan.Text(id)
	}
	return string(id)
}

// jsonID is a JSON-RPC id of one source.
type jsonID struct {
	source performatives.AgentID // folded
	id     string
}

// party is one end of a conversation with one agent. A request to several agents of the
// peer has a party for each.
type party struct {
	agent, with  performatives.AgentID
	conversation performatives.ConversationID
}

func partyOf(m *performatives.Message) party {
	return party{m.Sender().Fold(), m.Receiver().Fold(), m.ConversationID()}
}

// pending has the pending requests of both ends. The codec's lock guards it.
type pending struct {
	limit                     int
	calls                     map[performatives.ConversationID]*call
	ids                       map[string]*call // by JSON-RPC id; the latest if the peer repeats an id
	requests                  map[string]*request
	parties                   map[party]*request
	envelopes                 map[string]*request
	withdrawn                 []*request // the cancelled requests, the oldest first
	counter                   uint64
	paged                     int       // bytes of the pages of incomplete lists
	sweepCalls, sweepRequests time.Time // the earliest time of the next sweep

	// The CANCELs that have overtaken their requests: of the peer, with the message that came
	// since, and of this node. A CANCEL of a request that has ended is not for a later one with its
	// JSON-RPC id.
	early recent.Early[jsonID]
	ended recent.Map[jsonID, struct{}] // without times: none expires
	ahead recent.Cancels
}

func newPending(limit int) pending {
	return pending{
		limit: limit, calls: make(map[performatives.ConversationID]*call), ids: make(map[string]*call),
		requests: make(map[string]*request), parties: make(map[party]*request), envelopes: make(map[string]*request),
	}
}

// linger is the time after its deadline for which an entry is kept: the refusal for a
// passed deadline comes later than the deadline. Entries are dropped only to make room.
const linger = time.Minute

// maxWithdrawn bounds the stored cancelled requests: MCP asks a peer not to answer them,
// and an answer that comes nevertheless comes soon.
const maxWithdrawn = 256

// callResult is the result of adding a call.
type callResult uint8

const (
	callAdded    callResult = iota
	callRepeated            // the same request is pending
	callRefused             // there is no room
)

// addCall adds a call. A repetition of a cancelled one has it answered.
func (c *codec) addCall(call *call, now time.Time) callResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.pending.calls[call.message.ConversationID()]; first != nil {
		first.cancelled = false
		return callRepeated
	}
	call.mcp = c.mcp || c.bare()
	if !c.pending.addCall(call, now) {
		return callRefused
	}
	return callAdded
}

// addCall adds a call, and reports whether there was room.
func (p *pending) addCall(c *call, now time.Time) bool {
	if p.full(len(p.calls)) && !p.sweepedCalls(now) {
		return false
	}
	p.calls[c.message.ConversationID()] = c
	if !jsonscan.IsNull(c.id) {
		p.ids[key(c.id)] = c
	}
	return true
}

func (p *pending) full(n int) bool { return p.limit > 0 && n >= p.limit }

func (p *pending) removeCall(c *call) {
	delete(p.calls, c.message.ConversationID())
	if k := key(c.id); p.ids[k] == c {
		delete(p.ids, k)
	}
	if !jsonscan.IsNull(c.id) {
		p.ended.Put(jsonID{c.message.Sender().Fold(), key(c.id)}, struct{}{}, time.Time{})
	}
}

// sweepedCalls drops calls without an answer whose deadline has passed, and reports whether
// there is room. Calls of a batch stay, since the batch would never be complete.
func (p *pending) sweepedCalls(now time.Time) bool {
	if now.Before(p.sweepCalls) {
		return false
	}
	p.sweepCalls = now.Add(linger)
	for _, c := range p.calls {
		switch {
		case c.batch != nil:
		case now.After(c.expires):
			p.removeCall(c)
		case c.expires.Before(p.sweepCalls):
			p.sweepCalls = c.expires
		}
	}
	return !p.full(len(p.calls))
}

// callOf returns the pending call that a message of this node refers to, or nil.
func (p *pending) callOf(m *performatives.Message) *call {
	if c := p.calls[m.ConversationID()]; c != nil {
		return c
	}
	return p.calls[performatives.ConversationID(m.InReplyTo())]
}

// withdrawEarly notes a CANCEL of the peer for a request that is not pending.
func (p *pending) withdrawEarly(at jsonID, now time.Time) {
	if _, over := p.ended.Get(at, time.Time{}); !over {
		p.early.Note(at, now)
	}
}

// addRequest adds a request, and reports whether there was room.
func (p *pending) addRequest(r *request, now time.Time) bool {
	for p.full(len(p.requests)) && len(p.withdrawn) > 0 {
		p.forget()
	}
	if p.full(len(p.requests)) && !p.sweepedRequests(now) {
		return false
	}
	p.putRequest(r)
	return true
}

func (p *pending) putRequest(r *request) {
	p.requests[r.id], p.parties[partyOf(r.message)], p.envelopes[r.envelope] = r, r, r
	p.paged += r.pages.bytes
}

func (p *pending) removeRequest(r *request) {
	if p.requests[r.id] == r { // it may have been removed before
		p.paged -= r.pages.bytes
	}
	delete(p.requests, r.id)
	if k := partyOf(r.message); p.parties[k] == r {
		delete(p.parties, k)
	}
	if p.envelopes[r.envelope] == r {
		delete(p.envelopes, r.envelope)
	}
}

// sweepedRequests drops requests whose deadline has passed, and reports whether there is
// room.
func (p *pending) sweepedRequests(now time.Time) bool {
	if now.Before(p.sweepRequests) {
		return false
	}
	p.sweepRequests = now.Add(linger)
	for _, r := range p.requests {
		switch {
		case now.After(r.expires):
			p.removeRequest(r)
		case r.expires.Before(p.sweepRequests):
			p.sweepRequests = r.expires
		}
	}
	return !p.full(len(p.requests))
}

// withdraw records a cancelled request.
func (p *pending) withdraw(r *request) {
	p.withdrawn = append(p.withdrawn, r)
	if len(p.withdrawn) > maxWithdrawn {
		p.forget()
	}
}

// forget drops the request that was cancelled first. It may have been answered.
func (p *pending) forget() {
	p.removeRequest(p.withdrawn[0])
	n := copy(p.withdrawn, p.withdrawn[1:])
	p.withdrawn[n] = nil
	p.withdrawn = p.withdrawn[:n]
}
