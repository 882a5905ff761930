package rag

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request that waits for its answer: of the peer, or to the peer. rag has no message ids,
// so that it relates an answer to its request by the trace id, and by the agent of the peer.
type call struct {
	exchange.Request
	Trace string
}

// key has the agent of the peer and the trace id. A message of the peer has both.
func (x *call) key() exchange.Key { return exchange.KeyOf(x.Agent, x.Trace) }

func (x *call) party() exchange.Party {
	return exchange.Between(x.Asker, x.Receiver, string(x.Conversation))
}

// pending has the calls of one direction. The answer to one that was dropped gets a new trace id of
// the same conversation.
type pending struct {
	exchange.Pending[*call]
	traces  *exchange.Index[exchange.Key, *call] // those to the peer are of several askers
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
func (p *pending) find(at exchange.Key, asker performatives.AgentID) *call {
	return p.traces.Any(at, func(x *call) bool { return nameFor(x.Asker).Is(nameFor(asker)) })
}

// to returns the call that a message for that receiver answers: that of the receiver, else the
// oldest, or nil.
func (p *pending) to(at exchange.Key, receiver performatives.AgentID) *call {
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

// relation is the request to which a message of the peer refers.
type relation struct {
	answers *call  // a request to the peer
	follows *call  // a request of the peer, for example with its CANCEL
	trace   string // of the original request of an error
	kind    string // the type of that
}

// relate finds the requests that a message may refer to. An error has a trace id of its own, and
// that of the original request in its payload.
func (d *decoder) relate(payload []byte) {
	if d.kind == typeError {
		request := jsonscan.Member(payload, "original_request")
		d.relation.trace, d.relation.kind = jsonscan.Text(jsonscan.Member(request, "trace_id")), jsonscan.Text(jsonscan.Member(request, "type"))
	}
	for _, trace := range []string{d.relation.trace, d.trace} {
		at := exchange.KeyOf(d.out.Sender, trace)
		d.relation.answers = cmp.Or(d.relation.answers, d.codec.asked.to(at, d.out.Receiver))
		d.relation.follows = cmp.Or(d.relation.follows, d.codec.calls.to(at, d.out.Sender))
	}
}

// refer sets the conversation and the reference of a message that belongs to a known request.
func (d *decoder) refer() {
	act := d.out.Performative
	switch x, y := d.relation.answers, d.relation.follows; {
	case x != nil && !startsWork(act):
		d.out.InReplyTo, d.out.ConversationID = x.Reference, x.Conversation
		if x.Cancel != "" && (act == performatives.ActInform || exchange.Refusals.Has(act) && d.relation.kind == performatives.ActCancel.String()) {
			d.out.InReplyTo = x.CancelRef
		}
	case y != nil && (act == performatives.ActCancel || !startsWork(act)):
		d.out.InReplyTo, d.out.ConversationID = string(y.ID), y.Conversation
	case act.IsReply():
		d.out.InReplyTo = cmp.Or(d.relation.trace, d.trace)
	}
}

// startsWork reports whether an act asks for something new. In a trace that has a request of its
// sender, a CANCEL does not.
func startsWork(act performatives.Performative) bool {
	return act.ExpectsReply() && !act.IsReply() && act != performatives.ActPropose
}

// request returns the request of the peer.
func (d *decoder) request() *call {
	return &call{Trace: d.trace, Request: exchange.RequestOf(&d.out, d.kind)}
}

// note stores a request of the peer, and the end of one to the peer.
func (d *decoder) note() {
	c := d.codec
	if r := c.agents[d.out.Sender.Fold()]; r != nil && len(r.types) < exchange.MaxUnknown {
		r.types[d.kind] = true
	}
	switch x, y := d.relation.answers, d.relation.follows; {
	case x != nil && !startsWork(d.out.Performative):
		d.deliver(x)
		c.asked.End(x, exchange.Final.Has(d.out.Performative), x.IsOfCancel(d.out.InReplyTo))
	case d.out.Performative == performatives.ActCancel && y != nil && !y.Over():
		c.calls.AddCancel(y, d.out.ID, string(d.out.ID))
	case startsWork(d.out.Performative) && d.kind != typeStatus:
		d.origin.call = d.request()
		c.calls.add(d.origin.call)
	}
}

// MetadataResultFor is the member of the metadata of an INFORM_RESULT that names to its receiver,
// the asker, the agent that got the result: the peer has sent it to that agent, as the text has it
// of RETRIEVAL_RESULT (addenda §2: recruiting). Its value is the id of that agent. The message has
// no other content.
const MetadataResultFor = "result_for"

// deliver addresses an answer of the peer. System stands for the agent that asks, as the
// coordinator. A refusal is for the asker, whatever receiver it names. A result that goes to
// another agent ends the request of the asker, too. Meanwhile the codec is not locked, as in
// [exchange.Checked].
func (d *decoder) deliver(x *call) {
	d.codec.mu.Unlock()
	defer d.codec.mu.Lock()
	switch {
	case d.out.Receiver.Is(x.Asker):
	case d.out.Receiver.Is(agentSystem), d.out.Receiver.Is(x.Asker.Name()), exchange.Refusals.Has(d.out.Performative):
		d.made, _ = d.made.With(func(e *performatives.Envelope) { e.Receiver = x.Asker }) // which is the id of an agent
	case d.out.Performative == performatives.ActInformResult:
		d.told, _ = d.made.With(func(e *performatives.Envelope) {
			e.ID, e.Receiver = e.ID+"-told", x.Asker
			e.Payload = performatives.InformResult{
				Status: performatives.StatusSuccess, Summary: fmt.Sprintf("the result is for %s", d.out.Receiver),
			}
			name, _ := performatives.ContentOf(string(d.out.Receiver)).MarshalJSON() // a string always has a JSON form
			e.Metadata[MetadataResultFor] = name
		})
	}
}
