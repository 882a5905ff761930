package rossnet

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
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

	withdrawn withdrawn
	ahead     recent.Cancels // of this node, before their requests
}

// maxForms bounds the agents of one session whose form is stored.
const maxForms = 1024

// Adopt copies the open requests of an agent of the peer from the codec of another session. It implements [wire.Adopting].
func (c *codec) Adopt(from wire.Codec, agent performatives.AgentID) {
	of, ok := from.(*codec)
	if !ok {
		return
	}
	var open []exchange
	of.mu.Lock()
	for _, x := range of.calls.order {
		if !x.gone && x.agent == agent.Fold() {
			open = append(open, *x)
		}
	}
	of.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range open {
		x := &open[i]
		c.calls.add(x)
		if x.cancel != "" {
			c.calls.addCancel(x, x.cancel, x.cancelRef)
		}
	}
}

// Decode reads one message.
func (c *codec) Decode(data []byte, take func(wire.Inbound)) {
	d := decoder{codec: c}
	d.fault = d.in.scan(data, c.opts.MaxBytes, c.depth)
	if d.fault == nil {
		d.read()
	}
	switch {
	case d.fault != nil:
		ended := d.ended()
		take(d.refused(ended != nil))
		if ended != nil {
			take(wire.Inbound{Message: ended, Token: d.token})
		}
	case d.made == nil: // PING or PONG
		take(wire.Inbound{Token: d.token, Ref: d.origin, Answer: d.answer})
	default:
		in := wire.Inbound{Message: d.made, Token: d.token, Ref: d.origin, Content: d.in.payload}
		if d.noID {
			in.Content = nil // each has an id of its own
		}
		take(in)
	}
}

// origin has the parts of a message of the peer from which its answer is made. It is the Ref of a [wire.Inbound].
type origin struct {
	kind, id, correlation, subtask string
	sender, receiver               performatives.AgentID
	field                          bool
	overtaken                      bool // a request whose CANCEL came before it
	call                           *exchange
}

// Refuse appends the answer to a message that the session or its handler refuses: TASK_FAIL to a TASK_ASSIGN with a
// subtask_id, else ERROR. What itself says no gets no answer: two peers would otherwise answer each other without end.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	o, ok := in.Ref.(*origin)
	if !ok || isNo(o.kind) {
		return dst
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls.remove(o.call)
	return c.appendError(dst, o, err)
}
