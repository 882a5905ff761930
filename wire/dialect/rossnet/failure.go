package rossnet

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// failure writes a message that says no: TASK_ACKNOWLEDGE with REJECTED and TASK_FAIL to a
// TASK_ASSIGN, else ERROR.
func (w *writer) failure() {
	r, extra, ok := performatives.RefusalIn(w.Message.Payload())
	if !ok {
		w.Plain()
		return
	}
	code, text := r.Code, r.Text
	act := w.Message.Performative()
	switch {
	case w.call != nil:
		text = w.call.InWords(text)
	case act == performatives.ActTaskReject: // another TASK_ASSIGN has taken the subtask_id of the one that it answers
		text = (&exchange.Request{Act: performatives.ActTaskRequest, Kind: kindAssign}).InWords(text)
	}
	w.body = membersIn(object(extra), "status")
	if again := performatives.RetryAfterMillis(r.RetryAfter); again != 0 {
		w.set(performatives.MemberRetryAfter, again)
	}
	ofTask := w.call == nil || w.call.Kind == kindAssign && !w.ofCancel
	switch {
	case act == performatives.ActTaskReject && ofTask:
		w.Kind = kindAcknowledge
		w.set("status", statusRejected)
		w.set("reason", cmp.Or(text, code.Traits().Text))
		w.subtask()
		w.set(memberCode, codeRejected)
		w.set(memberReason, string(code))
		return
	case act == performatives.ActFailure && ofTask:
		w.Kind = kindFail
		if !jsonscan.IsBool(w.body["is_retryable"]) {
			w.set("is_retryable", code.Traits().Retry)
		}
		w.subtask()
	default:
		w.Kind = kindError
		if w.call != nil && w.call.Subtask != "" {
			w.body["subtask_id"] = exchange.Quoted(w.call.Subtask)
		}
	}
	if act != performatives.ActFailure {
		w.Tell(exchange.MetaAct, act.String())
	}
	w.codeOf(code)
	w.set(memberMessage, cmp.Or(text, code.Traits().Text))
}

// codeOf writes a code as a word of rossnet §7, and its own name beside it where the word stands
// for several.
func (w *writer) codeOf(code performatives.Code) {
	word, exact := ErrorCodes.Own(code), ErrorCodes.Exact(code)
	switch {
	case code == dependencyFailed:
		word, exact = codeDependency, ""
	case code == performatives.CodeUnauthorized: // an agent refuses a right: E001 is failed authentication
		word, exact = ErrorCodes.Of(performatives.CodeForbidden), code
	case word == codeDependency:
		exact = code
	}
	w.set(memberCode, word)
	if exact != "" {
		w.set(memberReason, string(exact))
	}
}

// appendError appends the answer to a message of the peer that is refused. The codec is locked.
func (c *codec) appendError(dst []byte, o *origin, err error) []byte {
	r := wire.AsRefusal(err)
	b := jsonscan.OpenObject(nil)
	b.OptionalText("subtask_id", o.subtask)
	b.Text(memberCode, ErrorCodes.Own(r.Code))
	b.Value("is_retryable", r.Code.Traits().Retry)
	b.OptionalText("message_id", o.id) // of the refused message; an extension, as are the members of WriteFault
	exchange.WriteFault(&b, err)
	kind := kindError
	if (o.call != nil || r.Code == performatives.CodeCanceled) && o.kind == kindAssign && o.subtask != "" {
		kind = kindFail
	}
	return c.appendOwn(dst, o, kind, cmp.Or(r.From, o.receiver), append(b.JSON, '}'))
}

// appendOwn appends a message that the codec itself writes, to the sender of a message of the peer.
func (c *codec) appendOwn(dst []byte, o *origin, kind string, from performatives.AgentID, payload []byte) []byte {
	stamp := c.opts.Stamper.Stamp()
	w := exchange.NewWriter(Name, nil, dst)
	w.Open(memHeader)
	w.Text(headerNames[memID], string(stamp.ID))
	w.OptionalText(headerNames[memCorrelation], cmp.Or(o.correlation, o.id))
	w.Text(headerNames[memSender], string(cmp.Or(addressable(from), serviceRouter)))
	to := string(cmp.Or(addressable(o.sender), c.owner, "unknown")) // the connection leads to one peer
	if o.field {
		w.Text(headerNames[memAgent], to)
		w.Checked(headerNames[memService], []byte("null"))
	} else {
		w.Text(headerNames[memRecipient], to)
	}
	w.Text(headerNames[memTimestamp], exchange.FormatTime(stamp.Time))
	w.Text(headerNames[memVersion], Version)
	w.Text(headerNames[memKind], kind)
	if !o.field {
		w.Checked(headerNames[memToken], []byte("null"))
	}
	w.End()
	w.Checked(memPayload, payload)
	return append(w.JSON, '}')
}

// refused returns the fault of a frame that is no message, with the answer to the peer, and the
// FAILURE that ends the request which a malformed refusal is about, or nil. The answer is from the
// agent for which the message was, if that is readable.
func (d *decoder) refused() (in wire.Inbound, ended *performatives.Message) {
	h := &d.Values
	o := &origin{
		kind: exchange.Legible(h[memKind]), id: exchange.Legible(h[memID]), correlation: exchange.Legible(h[memCorrelation]), subtask: exchange.Legible(jsonscan.Member(d.payload, "subtask_id")),
		sender: performatives.AgentID(exchange.Legible(h[memSender])), field: d.field,
	}
	o.receiver = performatives.AgentID(cmp.Or(exchange.Legible(h[memRecipient]), exchange.Legible(h[memAgent]), exchange.Legible(h[memService])))
	in = wire.Inbound{Err: d.Refusal, Token: d.token, Ref: o}
	d.codec.mu.Lock()
	defer d.codec.mu.Unlock()
	no := slices.Contains(noes, o.kind)
	if no || o.kind == kindAcknowledge && isOneOf(jsonscan.Member(d.payload, "status"), statusRejected) {
		ended = d.ended(o)
	}
	if ended != nil || !no || o.kind == kindFail { // a malformed ERROR about nothing gets no answer
		in.Answer = d.codec.appendError(nil, o, d.Refusal)
	}
	return in, ended
}

// ended ends the request to the peer that a malformed refusal is about, and returns its FAILURE. It
// returns nil if there is none. The codec is locked.
func (d *decoder) ended(o *origin) *performatives.Message {
	p, from := d.payload, cmp.Or(o.sender, d.codec.owner)
	x := d.codec.asked.find(from.Fold(), jsonscan.Text(jsonscan.Member(p, "subtask_id")), o.correlation)
	if x == nil {
		return nil
	}
	d.codec.asked.Remove(x)
	text := cmp.Or(jsonscan.Text(jsonscan.Member(p, memberMessage)), jsonscan.Text(jsonscan.Member(p, "reason")), jsonscan.Text(p))
	return x.Failure(d.codec.opts.Stamper.Stamp(), from, cmp.Or(d.code(p), performatives.CodeFailed), text)
}

// addressable returns the id, or "" for one that no agent can have: a frame that is refused may
// have any.
func addressable(id performatives.AgentID) performatives.AgentID {
	if len(id) > performatives.MaxIDLength || strings.ContainsFunc(string(id), unicode.IsControl) {
		return ""
	}
	return id
}
