package actors

import (
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// asks are the questions of one agent that wait for their answers. They are kept
// beside the agent's value, because whoever asks is on another goroutine: an
// answer survives a restart of the agent, and the end of the agent ends them.
type asks struct {
	mu      sync.Mutex
	waiting map[string]*asking // by what an answer may refer to: see refs
	closed  bool
}

// asking is one question and the place for its answer: nil when none will come.
type asking struct {
	question *performatives.Message
	answer   chan *performatives.Message // has room for one
}

// refs are what an answer finds the question by.
func (a *asking) refs() [3]string {
	return [3]string{string(a.question.ID()), a.question.ReplyWith(), string(a.question.ConversationID())}
}

// closedAsks are those of an agent that stopped before it asked anything.
var closedAsks = &asks{closed: true}

// add registers a question, and reports whether the agent can still be answered.
func (as *asks) add(a *asking) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.closed {
		return false
	}
	if as.waiting == nil {
		as.waiting = make(map[string]*asking)
	}
	for _, ref := range a.refs() {
		if ref != "" {
			as.waiting[ref] = a
		}
	}
	return true
}

func (as *asks) remove(a *asking) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for _, ref := range a.refs() {
		if as.waiting[ref] == a {
			delete(as.waiting, ref)
		}
	}
}

// take gives m to the question that it answers, and reports whether there is one
// that has no answer yet.
func (as *asks) take(m *performatives.Message) bool {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := as.find(m)
	if a == nil {
		return false
	}
	select {
	case a.answer <- m:
		return true
	default: // it has its answer
		return false
	}
}

// find returns the question that m refers to. A peer that refers to nothing is
// recognised by the conversation, unless it asks something itself.
func (as *asks) find(m *performatives.Message) *asking {
	a := as.waiting[m.InReplyTo()]
	if a == nil && !m.Performative().ExpectsReply() {
		a = as.waiting[string(m.ConversationID())]
	}
	if a == nil || a.question.Receiver() != "" && !a.question.Receiver().Is(m.Sender()) {
		return nil
	}
	return a
}

// close ends what waits: no answer will come any more.
func (as *asks) close() {
	as.mu.Lock()
	defer as.mu.Unlock()
	as.closed = true
	for _, a := range as.waiting {
		select {
		case a.answer <- nil:
		default: // it has its answer, or is listed twice
		}
	}
}

// openAsks returns the agent's asks, which may be closed already.
func (c *cell) openAsks() *asks {
	if as := c.asks.Load(); as != nil {
		return as
	}
	c.asks.CompareAndSwap(nil, new(asks))
	return c.asks.Load()
}
