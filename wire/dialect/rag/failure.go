package rag

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of ERROR_MESSAGE (Message Types §6). reason_code is an extension, as
// are retry_after_ms, field and details.
const (
	memberCode      = "error_code"
	memberMessage   = "error_message"
	memberOriginal  = "original_request"
	memberRetry     = "retry_possible"
	memberSuggested = "suggested_action"
	memberReason    = "reason_code" // the code, where error_code stands for several
)

// failure reads an ERROR_MESSAGE. The code is that of the word in the dialect's table; another word
// stays. A reason_code that has the word, too, is more exact.
func (d *decoder) failure(payload []byte) {
	var word, text []byte
	extra := performatives.Members{}
	jsonscan.Read(payload, exchange.Rest(&extra), jsonscan.Find(memberCode, &word), jsonscan.Find(memberMessage, &text))
	r := performatives.Refusal{Act: d.out.Performative, Code: ErrorCodes.Read(jsonscan.Text(word), ""), Text: jsonscan.Text(text)}
	if r.Text == "" {
		exchange.Keep(&extra, memberMessage, text)
	}
	exact := performatives.Code(jsonscan.Text(extra[memberReason]))
	if ErrorCodes.Exact(exact) != "" && ErrorCodes.Of(exact) == jsonscan.Text(word) {
		r.Code = exact
		delete(extra, memberReason)
	}
	r.RetryAfter = extra.TakeRetryAfter()
	d.out.Payload = r.Payload(extra)
}

// failure writes a message that says no.
func (w *writer) failure() {
	r, extra, ok := performatives.RefusalIn(w.Message.Payload())
	if !ok {
		w.Plain()
		return
	}
	w.Kind = typeError
	if act := w.Message.Performative(); act != performatives.ActFailure {
		w.Tell(exchange.MetaAct, act.String())
	}
	text, rest := r.Text, make(performatives.Members)
	if w.call != nil {
		text = w.call.InWords(text)
	}
	if w.kept(keptTrace) == "" { // it is not a peer's own
		text = cmp.Or(text, r.Code.Traits().Text)
		rest[memberRetry] = strconv.AppendBool(nil, r.Code.Traits().Retry)
		rest[memberSuggested] = exchange.Quoted(suggestion(r.Code, ""))
	}
	maps.Copy(rest, extra)
	if x := w.call; x != nil && jsonscan.Text(jsonscan.Member(extra[memberOriginal], "trace_id")) != x.Trace {
		kind := x.Kind
		if w.ofCancel {
			kind = performatives.ActCancel.String()
		}
		rest[memberOriginal] = original(kind, x.Trace)
	}
	if exact := ErrorCodes.Exact(r.Code); exact != "" {
		rest[memberReason] = exchange.Quoted(string(exact))
	}
	// Without a hint, a retry_after_ms in extra is a member of the peer's own.
	if again := performatives.RetryAfterMillis(r.RetryAfter); again != 0 {
		rest[performatives.MemberRetryAfter] = strconv.AppendInt(nil, again, 10)
	}
	b := jsonscan.OpenObject(nil)
	b.Text(memberCode, ErrorCodes.Own(r.Code))
	b.Text(memberMessage, text)
	b.Sorted(rest, memberCode, memberMessage, "status")
	w.Payload, _ = b.Close() // it is checked as a whole
}

// original returns the original_request of an error.
func original(kind, trace string) json.RawMessage {
	b := jsonscan.OpenObject(nil)
	b.OptionalText("type", kind)
	b.Text("trace_id", trace)
	return append(b.JSON, '}')
}

// suggestion returns the suggested_action for a code.
func suggestion(code performatives.Code, field string) string {
	switch word := ErrorCodes.Own(code); {
	case field != "":
		return fmt.Sprintf("Correct %s and send the message again", field)
	case code.Traits().Retry:
		return "Send the request again later"
	case word == "INVALID_MESSAGE", word == "UNKNOWN_MESSAGE_TYPE":
		return "Correct the message and send it again"
	case word == "UNAUTHORIZED":
		return "Authenticate as an agent that may do this"
	case word == "AGENT_NOT_FOUND":
		return "Send the message to an agent that is registered"
	}
	return "Do not repeat the request unchanged"
}

// appendError appends the ERROR_MESSAGE for a message of the peer, which may be without a sender
// and a conversation: the connection leads to one peer. The codec is locked.
func (c *codec) appendError(dst []byte, o *origin, err error) []byte {
	r := wire.AsRefusal(err)
	w := writer{Writer: exchange.NewWriter(Name, nil, dst)}
	w.text(memType, typeError)
	w.text(memSender, string(cmp.Or(r.From, o.receiver, c.opts.Local)))
	w.text(memReceiver, string(cmp.Or(o.sender, "unknown")))
	w.text(memTrace, c.sequences.next(prefixError, cmp.Or(o.conversation, "unknown")))
	w.text(memTimestamp, exchange.FormatTime(c.opts.Stamper.Stamp().Time))
	w.Open(memberNames[memPayload])
	w.Text(memberCode, ErrorCodes.Own(r.Code))
	w.OptionalText(memberReason, string(ErrorCodes.Exact(r.Code)))
	if o.trace != "" {
		w.Raw(memberOriginal, original(o.kind, o.trace))
	}
	w.Value(memberRetry, r.Code.Traits().Retry)
	w.Text(memberSuggested, suggestion(r.Code, r.Field))
	exchange.WriteFault(&w.Builder, err)
	w.End()
	return append(w.JSON, '}')
}

// refused returns the fault of a frame that is no message, with the answer to the peer. The answer
// is from the agent for which the message was, if that is readable. A malformed ERROR_MESSAGE has
// one if it is about a request, which it ends.
func (d *decoder) refused() wire.Inbound {
	v := &d.Values
	o := &origin{
		kind: exchange.Legible(v[memType]), trace: exchange.Legible(v[memTrace]), sender: performatives.AgentID(exchange.Legible(v[memSender])),
		receiver: performatives.AgentID(exchange.Legible(v[memReceiver])),
	}
	if o.trace != "" {
		o.conversation, _ = splitTrace(o.trace)
	}
	in := wire.Inbound{Err: d.Refusal, Token: d.token, Ref: o}
	d.codec.mu.Lock()
	defer d.codec.mu.Unlock()
	if o.kind == typeError {
		if d.told = d.ended(o); d.told == nil {
			return in
		}
	}
	in.Answer = d.codec.appendError(nil, o, d.Refusal)
	return in
}

// ended returns the FAILURE that ends the request which a malformed ERROR_MESSAGE is about, or nil.
// The codec is locked.
func (d *decoder) ended(o *origin) *performatives.Message {
	p := d.Values[memPayload]
	d.kind, d.out.Sender, d.trace, d.relation = o.kind, o.sender, o.trace, relation{}
	d.relate(p)
	x := d.relation.answers
	if x == nil {
		return nil
	}
	d.codec.asked.Remove(x)
	code := performatives.CodeFailed
	if known, ok := ErrorCodes.Code(jsonscan.Text(jsonscan.Member(p, memberCode))); ok {
		code = known
	}
	text := cmp.Or(jsonscan.Text(jsonscan.Member(p, memberMessage)), jsonscan.Text(p))
	return x.Failure(d.codec.opts.Stamper.Stamp(), o.sender, code, text)
}
