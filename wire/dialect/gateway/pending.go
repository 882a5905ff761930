package gateway

import (
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// address is the address of an answer: the message of the peer that it answers.
type address struct {
	RPC         []byte // the JSON-RPC id; nil for a message without an answer
	Correlation string // the envelope's id
	batch       *batch // nil outside a batch, and for a call that another session has handed over
	slot        int
}

// origin is the Ref of a [wire.Inbound].
type origin struct {
	address
	call    *call // of a pending request
	cancels *call // of a CANCEL
}

// call is a pending request of the peer. One of initialize has no Agent: it is not handed over.
type call struct {
	exchange.Request
	address
	ReplyBy   time.Time
	Priority  performatives.Priority
	MCP       bool   // the peer uses a protocol version of MCP
	Token     []byte // the progress token; nil for none
	Progress  float64
	Withdrawn bool                  // the peer has cancelled it, and gets no answer
	Namespace performatives.AgentID // of resources/list; empty for all agents
	hello     *hello                // of initialize
}

func (x *call) key() string { return key(x.RPC) }

// request is a pending request of this node to the peer. Its id is the JSON-RPC id, a number.
type request struct {
	exchange.Request
	envelope string                 // the id of the envelope
	message  *performatives.Message // without its payload
	cancel   *performatives.Message // the CANCEL of the request, without its payload
	pages    pages                  // of tools/list
}

// number returns the JSON-RPC id as JSON.
func (q *request) number() []byte { return []byte(q.ID) }

// party is that of the asker. A request to several agents of the peer has a party for each.
func (q *request) party() exchange.Party { return exchange.PartyOf(q.message) }

// key returns a JSON-RPC id as the key of a map; empty for null. The string "1" and the number 1
// differ.
func key(id []byte) string {
	switch {
	case jsonscan.Is(id, '"'):
		return string(append([]byte{'"'}, jsonscan.TextBytes(id)...))
	case jsonscan.IsNull(id):
		return ""
	}
	return string(id)
}

// add adds a request, and gives it its id.
func (c *codec) add(q *request) {
	c.counter++
	q.ID = performatives.MessageID(strconv.FormatUint(c.counter, 10))
	c.requests.Add(q)
	c.paged += q.pages.bytes
}

// batch is a JSON-RPC batch of the peer. Its answers are written together, in the order
// of the requests, when the last is there. The codec's lock guards it.
type batch struct {
	answers [][]byte // nil = missing; empty = the request gets none
	left    int      // the number of missing answers
	bytes   int
}
