package rossnet

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request that waits for its answer: of the peer, or to the peer. An answer has the
// subtask_id of its request, or, where that has none, its correlation_id.
type call struct {
	exchange.Request
	Other         performatives.AgentID // of the swarm, folded
	Correlation   string                // as it came or was written; empty = none
	Subtask       string                // the subtask_id, in the form of the field the task_id; empty = the request has none
	Payload       []byte                // of a request of the peer whose answer repeats parts of it
	Field         bool                  // it is a task in the form of the field
	NoCorrelation bool                  // the peer wrote none
}

// flow is the key of the latest call of an agent with a correlation_id or a subtask_id.
type flow struct {
	agent performatives.AgentID
	name  string
}

// subtask returns the key of a call by its subtask_id. A task_id is unique in its workflow only.
func (x *call) subtask() flow {
	if x.Field {
		return flow{x.Agent, x.Correlation + "\x00" + x.Subtask}
	}
	return flow{x.Agent, x.Subtask}
}

// pending has the calls of one direction.
type pending struct {
	exchange.Pending[*call]
	subtasks     map[flow]*call
	correlations map[flow][]*call
}

// init makes p empty. It calls ended, which may be nil, for each call that is removed.
func (p *pending) init(limit int, ours bool, ended func(*call)) {
	p.subtasks, p.correlations = make(map[flow]*call), make(map[flow][]*call)
	p.Init(limit, ours, func(x *call) {
		if ended != nil {
			ended(x)
		}
		if at := x.subtask(); p.subtasks[at] == x {
			delete(p.subtasks, at)
		}
		at := flow{x.Agent, x.Correlation}
		if rest := slices.DeleteFunc(p.correlations[at], func(y *call) bool { return y == x }); len(rest) > 0 {
			p.correlations[at] = rest
		} else {
			delete(p.correlations, at)
		}
	})
}

// add adds a call. It replaces the one with its id, and the one of its agent with its subtask_id.
func (p *pending) add(x *call) {
	p.Remove(p.Find(x.Asker, string(x.ID)))
	if at := x.subtask(); x.Subtask != "" {
		p.Remove(p.subtasks[at])
		p.subtasks[at] = x
	}
	p.Add(x)
	at := flow{x.Agent, x.Correlation}
	p.correlations[at] = append(p.correlations[at], x)
}

// find returns the call with that subtask_id, else the oldest one with that correlation_id.
func (p *pending) find(agent performatives.AgentID, subtask, correlation string) *call {
	if subtask != "" {
		for _, name := range [...]string{subtask, correlation + "\x00" + subtask} {
			if x := p.subtasks[flow{agent, name}]; x != nil {
				return x
			}
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

// busy reports whether another request between the same agents is open in that conversation.
func (p *pending) busy(x *call) bool {
	for _, y := range p.correlations[flow{x.Agent, x.Correlation}] {
		if y.ID != x.ID && y.Other == x.Other && (y.Subtask != x.Subtask || x.Subtask == "") {
			return true
		}
	}
	return false
}
