package bridge

import (
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request of the peer without an answer. A handshake has no Agent: it is not handed over.
type call struct {
	exchange.Request
	Receiver performatives.AgentID
	ReplyBy  time.Time
	Priority performatives.Priority
	Tool     string
	Arrived  time.Time
	Partial  bool // it was answered, by a question for more input
	Answered bool // and its CANCEL was not
	hello    bool // it is a handshake
	first    bool // it is the sender's first handshake
}

// ask is a request of this node that the peer has not answered yet.
type ask struct {
	exchange.Request
	message *performatives.Message // without its payload
	cancel  *performatives.Message // the CANCEL of it, without its payload; nil = none
}

func (q *ask) id() performatives.MessageID { return q.ID }

func (q *ask) party() exchange.Party { return exchange.PartyOf(q.message) }

// pending has the handshakes and the requests without an answer, of both ends. The session's lock
// guards it.
type pending struct {
	greeted map[performatives.AgentID]extensions // of the agents of the peer that have shaken hands, by folded id
	calls   exchange.Pending[*call]
	asks    exchange.Pending[*ask]
	askIDs  *exchange.Index[performatives.MessageID, *ask]
	parties *exchange.Index[exchange.Party, *ask]

	// The CANCELs that have overtaken their requests: of the peer, and of this node.
	early exchange.Withdrawn[exchange.Key]
	ahead exchange.Cancels
}

// maxGreeted is the largest number of agents that shake hands over one session.
const maxGreeted = 4096

// unlimited is the time for which a request without a deadline is kept at least.
const unlimited = time.Hour

func (p *pending) init(limit int) {
	p.greeted = make(map[performatives.AgentID]extensions)
	p.calls.Init(limit, true, nil)
	p.asks.Init(limit, true, nil)
	p.askIDs = exchange.IndexOf(&p.asks, (*ask).id)
	p.parties = exchange.IndexOf(&p.asks, (*ask).party)
}

// callOf returns the call that a message of this node answers, and whether it answers the CANCEL
// of it.
func (p *pending) callOf(m *performatives.Message) (c *call, canceled bool) {
	c = p.calls.Find(m.Receiver(), m.InReplyTo())
	switch {
	case c != nil && c.IsOfCancel(m.InReplyTo()):
		return c, true
	case c != nil && c.Partial:
		return nil, false
	}
	return c, false
}

// refused forgets a request, a handshake or a CANCEL of the peer that was not served.
func (p *pending) refused(c *call, m *performatives.Message) {
	if m != nil && m.Performative() == performatives.ActCancel {
		p.calls.AddCancel(c, "", "") // the request continues
		return
	}
	p.calls.Remove(c)
	if c.first {
		delete(p.greeted, c.Asker.Fold())
	}
}

// askFor returns the request of this node that a message of the peer is about. A receiver that has
// not asked by that id, or none, stands for the last agent that has.
func (p *pending) askFor(id string, receiver performatives.AgentID) *ask {
	if q := p.asks.Find(receiver, id); q != nil {
		return q
	}
	return p.askIDs.Latest(performatives.MessageID(id))
}
