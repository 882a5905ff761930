package rossnet

import (
	"slices"
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
	owner performatives.AgentID // of the path of the connection; empty = the path names none

	mu    sync.Mutex
	calls pending                        // requests of the peer
	asked pending                        // requests to the peer
	field map[performatives.AgentID]bool // whether an agent of the peer writes the form of the field, by folded id

	withdrawn recent.Withdrawn[flow] // of the peer, by subtask_id, else by correlation_id
	ahead     recent.Cancels         // of this node, before their requests
}

// maxForms bounds the agents of one session whose form is stored.
const maxForms = 1024

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
	if d.scan(data); d.Refusal == nil {
		d.read()
	}
	switch {
	case d.Refusal != nil:
		ended := d.ended()
		take(d.refused(ended != nil))
		if ended != nil {
			take(wire.Inbound{Message: ended, Token: d.token})
		}
	case d.made == nil: // PING or PONG
		take(wire.Inbound{Token: d.token, Ref: d.origin, Answer: d.answer})
	default:
		in := wire.Inbound{Message: d.made, Token: d.token, Ref: d.origin, Content: d.payload}
		if d.noID {
			in.Content = nil // each has an id of its own
		}
		take(in)
	}
}

// origin has the parts of a message of the peer from which its answer is made. It is the Ref of a
// [wire.Inbound].
type origin struct {
	kind, id, correlation, subtask string
	sender, receiver               performatives.AgentID
	field                          bool
	overtaken                      bool // a request whose CANCEL came before it
	call                           *call
}

// Refuse appends the answer to a message that the session or its handler refuses: TASK_FAIL to a
// TASK_ASSIGN with a subtask_id, else ERROR. What itself says no gets no answer: two peers would
// otherwise answer each other without end.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	o, ok := in.Ref.(*origin)
	if !ok || slices.Contains(noes, o.kind) || exchange.IsAnswer(in.Message) {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.Remove(o.call)
	return c.appendError(dst, o, err)
}
