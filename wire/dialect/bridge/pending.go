package bridge

import (
	"cmp"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// call is a request of the peer without an answer. A handshake has no Agent: it is not handed over.
type call struct {
	exchange.Request
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

// maxGreeted is the largest number of agents that shake hands over one session.
const maxGreeted = 4096

// unlimited is the time for which a request without a deadline is kept at least.
const unlimited = time.Hour

// askFor returns the request of this node that a message of the peer is about. A receiver that has
// not asked by that id, or none, stands for the last agent that has.
func (s *session) askFor(id string, receiver performatives.AgentID) *ask {
	return cmp.Or(s.asks.Find(receiver, id), s.askIDs.Latest(performatives.MessageID(id)))
}
