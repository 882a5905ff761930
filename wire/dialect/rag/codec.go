package rag

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/recent"
)

// codec has the state of one session.
type codec struct {
	opts  wire.CodecOptions
	depth int

	mu        sync.Mutex
	calls     pending // requests of the peer
	asked     pending // requests to the peer
	sequences sequences
	withdrawn recent.Withdrawn[traceKey]              // of the peer
	ahead     recent.Cancels                          // of this node, before their requests
	agents    map[performatives.AgentID]*registration // of the peer; by folded id
}

// newTrace returns a trace id that no request to that agent has.
func (c *codec) newTrace(prefix string, conversation performatives.ConversationID, to performatives.AgentID) string {
	for {
		trace := c.sequences.next(prefix, conversation)
		if c.asked.traces.Latest(traceKey{to.Fold(), trace}) == nil {
			return trace
		}
	}
}

// Requests returns the open requests of an agent of the peer. It implements [wire.HandoverCodec].
func (c *codec) Requests(agent performatives.AgentID) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls.Requests(agent)
}

// Adopt takes over the requests that Requests of another session has returned. It implements
// [wire.HandoverCodec].
func (c *codec) Adopt(requests []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.calls.Adopt(requests)
	return err
}

// Decode reads one message.
func (c *codec) Decode(data []byte, take func(wire.Inbound)) {
	d := decoder{codec: c}
	d.Names = memberNames
	if d.Open(data, c.opts.MaxBytes, c.depth) {
		d.read()
	}
	if d.Refusal != nil {
		ended := d.ended()
		take(d.refused(ended != nil))
		if ended != nil {
			take(wire.Inbound{Message: ended, Token: d.token})
		}
		return
	}
	take(wire.Inbound{Message: d.made, Token: d.token, Ref: d.origin})
	if d.told != nil {
		take(wire.Inbound{Message: d.told, Token: d.token})
	}
}

// origin has the parts of a message of the peer from which its answer is made. It is the Ref of a
// [wire.Inbound].
type origin struct {
	kind, trace      string
	sender, receiver performatives.AgentID
	conversation     performatives.ConversationID
	act              performatives.Performative // zero = not known
	call             *call
}

// Refuse appends the ERROR_MESSAGE for a message that the session or its handler refuses. An error
// itself gets no answer: two peers would otherwise answer each other without end.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	o, ok := in.Ref.(*origin)
	if !ok || exchange.Refusals.Has(o.act) || exchange.IsAnswer(in.Message) {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.Remove(o.call)
	return c.appendError(dst, o, err)
}
