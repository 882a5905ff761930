package rossnet

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request that waits for its answer: of the peer, or to the peer. An answer has the
// subtask_id of its request, or, where that has none, its correlation_id.
type call struct {
	exchange.Request
	Correlation string // as it came or was written; empty = none
	Subtask     string // the subtask_id, in the form of the field the task_id; empty = the request has none
	Payload     []byte // of a request of the peer whose answer repeats parts of it
	Field       bool   // it is a task in the form of the field
}

// subtask is the key of a call by its subtask_id. A task_id is unique in its workflow only.
func (x *call) subtask() exchange.Key {
	if x.Field && x.Subtask != "" {
		return exchange.KeyOf(x.Agent, x.Correlation+"\x00"+x.Subtask)
	}
	return exchange.KeyOf(x.Agent, x.Subtask)
}

func (x *call) correlation() exchange.Key { return exchange.KeyOf(x.Agent, x.Correlation) }

// pending has the calls of one direction.
type pending struct {
	exchange.Pending[*call]
	subtasks, correlations *exchange.Index[exchange.Key, *call]
}

// init makes p empty. It calls ended, which may be nil, for each call that is removed.
func (p *pending) init(limit int, ours bool, ended func(*call)) {
	p.Init(limit, ours, ended)
	p.subtasks = exchange.IndexOf(&p.Pending, (*call).subtask)
	p.correlations = exchange.IndexOf(&p.Pending, (*call).correlation)
}

// add adds a call. It replaces the one with its id, and the one of its agent with its subtask_id.
func (p *pending) add(x *call) {
	p.Remove(p.subtasks.Latest(x.subtask()))
	p.Add(x)
}

// find returns the call with that subtask_id, else the oldest one with that correlation_id.
func (p *pending) find(agent performatives.AgentID, subtask, correlation string) *call {
	if subtask != "" {
		for _, name := range [...]string{subtask, correlation + "\x00" + subtask} {
			if x := p.subtasks.Latest(exchange.KeyOf(agent, name)); x != nil {
				return x
			}
		}
	}
	x := p.correlations.Oldest(exchange.KeyOf(agent, correlation))
	if x != nil && subtask != "" && x.Subtask != "" && x.Kind == kindAssign {
		return nil // of another subtask
	}
	return x
}

// busy reports whether another request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	return nil != p.correlations.Any(x.correlation(), func(y *call) bool {
		return y.ID != x.ID && y.Receiver.Is(x.Receiver) && (y.Subtask != x.Subtask || x.Subtask == "")
	})
}

func (c *codec) now() time.Time { return c.opts.Stamper.Stamp().Time }

// ended notes the end of a request of the peer.
func (c *codec) ended(x *call) {
	c.withdrawn.End(exchange.KeyOf(x.Agent, x.Subtask))
	c.withdrawn.End(x.correlation())
}
