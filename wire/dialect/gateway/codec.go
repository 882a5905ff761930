package gateway

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// codec has the state of one session: the pending requests of both ends.
type codec struct {
	exchange.Handover[*call]
	opts       Options
	session    wire.CodecOptions
	connection performatives.MessageID // a random id of the connection; of the reader

	mu        sync.Mutex // guards the following, up to held
	calls     exchange.Pending[*call]
	ids       *exchange.Index[string, *call] // by JSON-RPC id
	requests  exchange.Pending[*request]
	parties   *exchange.Index[exchange.Party, *request]
	envelopes *exchange.Index[string, *request]
	counter   uint64             // of requests
	withdrawn exchange.Withdrawn // the CANCELs of the peer that have overtaken their requests
	ahead     exchange.Cancels   // those of this node
	paged     int                // bytes of the pages of incomplete lists
	held      int                // bytes of answers in incomplete batches

	agreed  atomic.Bool             // to compress, which Agreed has not returned yet
	done    atomic.Bool             // the negotiation of a compression is over
	offered atomic.Pointer[request] // the pending initialize that offers a compression
	mcp     atomic.Bool             // the peer has chosen a protocol version of MCP

	bare   atomic.Bool           // the frames have no envelopes; the first readable one that is recognized decides it
	formed bool                  // that is decided; until then, and this field itself, of the reader
	source performatives.AgentID // the label of a peer without envelopes; of the reader

	providers    map[performatives.AgentID]performatives.Capabilities // of those who offer anything, by folded source; of the reader
	introduction *performatives.Message                               // that was read last and not refused; of the reader
}

var _ wire.CompressionCodec = (*codec)(nil)

// Agreed returns the compression that both ends have just agreed on.
func (c *codec) Agreed() string {
	if c.agreed.Swap(false) {
		return compressionGzip
	}
	return ""
}

// Offered reports whether an initialize of ours has offered a compression and has no
// answer.
func (c *codec) Offered() bool { return c.offered.Load() != nil }

// Decode reads one envelope, and calls take once, or once for each JSON-RPC message of a
// batch.
func (c *codec) Decode(frame []byte, take func(wire.Inbound)) {
	e := c.readFrame(frame)
	switch {
	case e.Refusal != nil:
		c.faulty(&e, take)
	case jsonscan.Is(e.payload, '['):
		c.decodeBatch(&e, take)
	default:
		r := readRPC(e.payload, e.fault)
		take(c.inbound(&e, &r, e.origin(&r)))
		c.noteIntroduction(e.token, take)
	}
}

// readFrame reads a frame in the form of the session, or in its own before that is decided.
func (c *codec) readFrame(frame []byte) (e envelope) {
	known := c.formed
	if !known {
		var bare bool
		bare, known = formOf(frame)
		c.bare.Store(bare)
	}
	if c.bare.Load() {
		e = c.readBare(frame)
	} else {
		e = readEnvelope(frame, c.session.MaxBytes)
	}
	c.formed = c.formed || known && (e.Refusal == nil || e.Refusal.Code != performatives.CodeParsingError)
	return e
}

// origin returns the address of the answer to a message outside a batch. It shares no memory with
// the frame.
func (e *envelope) origin(r *rpc) *origin {
	o := &origin{address: address{Correlation: idText(e.id)}}
	if r.answered() {
		o.RPC = bytes.Clone(r.id)
		if r.id == nil {
			o.RPC = []byte(nullID)
		}
	}
	return o
}

// faulty takes the error of an invalid envelope. The peer gets an answer, unless the envelope holds
// a notification, or the answer to no request of this node. An answer to one ends it.
func (c *codec) faulty(e *envelope, take func(wire.Inbound)) {
	r := readRPC(e.payload, e.fault)
	o, ended := e.origin(&r), wire.Inbound{}
	if r.kind == kindResponse {
		ended = c.response(e, &r)
	}
	if ended.Message != nil {
		o.RPC = []byte(nullID)
	}
	take(c.refused(e, o, e.Refusal))
	if ended.Message != nil {
		take(ended)
	}
}

// refused returns the refusal of a message by the codec, with the answer to the peer.
func (c *codec) refused(e *envelope, o *origin, r *performatives.Refusal) wire.Inbound {
	return wire.Inbound{Token: e.token, Err: r, Ref: o, Answer: c.tell(nil, &o.address, faultOf(r, o.call), nil)}
}

// refusedWith is [codec.refused] with other data in the JSON-RPC error.
func (c *codec) refusedWith(e *envelope, o *origin, r *performatives.Refusal, data faultData) wire.Inbound {
	f := faultOf(r, nil)
	f.data = data
	return wire.Inbound{Token: e.token, Err: r, Ref: o, Answer: c.tell(nil, &o.address, f, nil)}
}

// decodeBatch reads a batch. An invalid message does not affect the others.
func (c *codec) decodeBatch(e *envelope, take func(wire.Inbound)) {
	var messages []rpc
	var b batch
	refuse := func(text string) {
		take(c.refused(e, e.origin(&rpc{}), invalidRequest("mcp_payload", "mcp_payload: "+text)))
	}
	for text := range jsonscan.Elements(e.payload) {
		if len(messages) == maxBatch {
			refuse("the batch has too many messages")
			return
		}
		r := readRPC(text, nil)
		if r.method == methodInitialize && r.kind == kindRequest {
			r.Refuse(invalidRequest("mcp_payload", "mcp_payload: initialize cannot be part of a batch"))
		}
		if r.answered() {
			b.left++
		}
		messages = append(messages, r)
	}
	if len(messages) == 0 { // JSON-RPC 2.0 §6
		refuse("want at least one JSON-RPC message in a batch")
	}
	b.answers = make([][]byte, b.left)
	slot := 0
	for i := range messages {
		o := e.origin(&messages[i])
		if o.RPC != nil {
			o.batch, o.slot = &b, slot
			slot++
		}
		take(c.inbound(e, &messages[i], o))
	}
}

// Refuse appends the answer to a request that the session or its handler does not serve.
func (c *codec) Refuse(dst []byte, in wire.Inbound, err error) []byte {
	if q, ok := in.Ref.(*request); ok { // the frame of the request is not written
		c.drop(q)
	}
	o, ok := in.Ref.(*origin)
	if !ok {
		return dst
	}
	c.introduction = nil
	c.mu.Lock()
	if o.cancels != nil {
		o.cancels.Withdrawn = false // the request continues, so that its answer is written
	}
	over := o.call != nil && o.call.Over() // the handler has answered it already
	c.calls.Remove(o.call)
	written := o.batch != nil && o.batch.left == 0 // the batch with the answer
	c.mu.Unlock()
	if over || written && o.call == nil && len(in.Answer) == 0 {
		return dst
	}
	return c.tell(dst, &o.address, faultOf(err, o.call), nil)
}

// stamp returns an id and the time.
func (c *codec) stamp() performatives.Stamp { return c.session.Stamper.Stamp() }

func invalidRequest(field, text string) *performatives.Refusal {
	return &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Field: field, Text: text}
}
