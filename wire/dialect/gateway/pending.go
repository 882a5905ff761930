package gateway

import (
	"bytes"
	"slices"
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
	Receiver  performatives.AgentID
	ReplyBy   time.Time
	Priority  performatives.Priority
	Method    string
	MCP       bool   // the peer uses a protocol version of MCP
	Token     []byte // the progress token; nil for none
	Progress  float64
	Withdrawn bool                  // the peer has cancelled it, and gets no answer
	Namespace performatives.AgentID // of resources/list; empty for all agents
	hello     *hello                // of initialize
	repeated  bool                  // the same request is pending
}

// key returns the JSON-RPC id as the key of a map; empty for null.
func (x *call) key() string {
	if jsonscan.IsNull(x.RPC) {
		return ""
	}
	return key(x.RPC)
}

// startsWork reports whether the call is one of an agent. The others only read.
func (x *call) startsWork(method string) bool {
	return x.hello == nil && method != methodList && method != methodResources
}

// request is a pending request of this node to the peer. Its id is the JSON-RPC id, a number.
type request struct {
	exchange.Request
	envelope string                 // the id of the envelope
	message  *performatives.Message // without its payload
	method   string
	cancel   *performatives.Message // the CANCEL of the request, without its payload
	pages    pages                  // of tools/list
}

// number returns the JSON-RPC id as JSON.
func (q *request) number() []byte { return []byte(q.ID) }

func (q *request) of() string { return q.envelope }

// party is that of the asker. A request to several agents of the peer has a party for each.
func (q *request) party() exchange.Party { return exchange.PartyOf(q.message) }

// key returns a JSON-RPC id as the key of a map. The string "1" and the number 1 differ.
func key(id []byte) string {
	if jsonscan.Is(id, '"') {
		return string(append([]byte{'"'}, jsonscan.TextBytes(id)...))
	}
	return string(id)
}

// jsonID is a JSON-RPC id of one source.
type jsonID struct {
	source performatives.AgentID // folded
	id     string
}

// pending has the pending requests of both ends. The codec's lock guards it.
type pending struct {
	calls     exchange.Pending[*call]
	ids       *exchange.Index[string, *call] // by JSON-RPC id
	requests  exchange.Pending[*request]
	parties   *exchange.Index[exchange.Party, *request]
	envelopes *exchange.Index[string, *request]
	counter   uint64
	paged     int // bytes of the pages of incomplete lists

	// The CANCELs that have overtaken their requests: of the peer, and of this node.
	withdrawn exchange.Withdrawn[jsonID]
	ahead     exchange.Cancels
}

func (p *pending) init(limit int) {
	p.calls.Init(limit, false, func(x *call) {
		if k := x.key(); k != "" {
			p.withdrawn.End(jsonID{x.Asker.Fold(), k})
		}
	})
	p.ids = exchange.IndexOf(&p.calls, (*call).key)
	p.requests.Init(limit, false, func(q *request) { p.paged -= q.pages.bytes })
	p.parties = exchange.IndexOf(&p.requests, (*request).party)
	p.envelopes = exchange.IndexOf(&p.requests, (*request).of)
}

// callOf returns the pending call that a message of this node refers to, or nil.
func (p *pending) callOf(m *performatives.Message) *call {
	if x := p.calls.Find("", string(m.ConversationID())); x != nil {
		return x
	}
	return p.calls.Find("", m.InReplyTo())
}

// add adds a request, and gives it its id.
func (p *pending) add(q *request) {
	p.counter++
	q.ID = performatives.MessageID(strconv.FormatUint(p.counter, 10))
	p.requests.Add(q)
	p.paged += q.pages.bytes
}

// batch is a JSON-RPC batch of the peer. Its answers are written together, in the order
// of the requests, when the last is there. The codec's lock guards it.
type batch struct {
	answers [][]byte // nil = missing; empty = the request gets none
	left    int      // the number of missing answers
	bytes   int
}

func newBatch(requests int) *batch { return &batch{answers: make([][]byte, requests), left: requests} }

// put stores an answer, and replaces an earlier answer to the same request.
func (b *batch) put(slot int, answer []byte) {
	if b.answers[slot] == nil {
		b.left--
	}
	b.bytes += len(answer) - len(b.answers[slot])
	b.answers[slot] = append([]byte{}, answer...)
}

// text returns the answers as an array, or nil when there is none.
func (b *batch) text() []byte {
	given := slices.DeleteFunc(slices.Clone(b.answers), func(answer []byte) bool { return len(answer) == 0 })
	if len(given) == 0 {
		return nil
	}
	return append(append([]byte{'['}, bytes.Join(given, []byte{','})...), ']')
}
