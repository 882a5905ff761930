package rag

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// errorPayload is the payload of ERROR_MESSAGE (Message Types §6). reason_code, retry_after_ms,
// field and details are extensions.
type errorPayload struct {
	Code      string             `json:"error_code"`
	Message   string             `json:"error_message"`
	Original  any                `json:"original_request,omitempty"`
	Retry     any                `json:"retry_possible,omitempty"`
	Suggested any                `json:"suggested_action,omitempty"`
	Reason    performatives.Code `json:"reason_code,omitempty"` // the code, where error_code stands for several
	Again     int64              `json:"retry_after_ms,omitempty"`
	Field     string             `json:"field,omitempty"` // the path of the wrong field
	Details   *wire.ErrorDetails `json:"details,omitempty"`
}

type originalRequest struct {
	Type  string `json:"type,omitempty"`
	Trace string `json:"trace_id"`
}

// failure reads an ERROR_MESSAGE. The code is that of the word in the dialect's table; another word
// stays. A reason_code that has the word, too, is more exact.
func (d *decoder) failure(payload []byte) {
	var word, text []byte
	extra := performatives.Members{}
	jsonscan.Read(payload, exchange.Rest(&extra, nil), jsonscan.Find("error_code", &word), jsonscan.Find("error_message", &text))
	r := performatives.Refusal{Act: d.out.Performative, Code: ErrorCodes.Read(jsonscan.Text(word), ""), Text: jsonscan.Text(text)}
	if r.Text == "" {
		exchange.Keep(&extra, "error_message", text)
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
	code, text := r.Code, r.Text
	if w.call != nil {
		text = w.call.InWords(text)
	}
	w.Kind = typeError
	if act := w.Message.Performative(); act != performatives.ActFailure {
		w.Tell(exchange.MetaAct, act.String())
	}
	p := errorPayload{Code: ErrorCodes.Own(code), Message: text, Reason: ErrorCodes.Exact(code), Again: performatives.RetryAfterMillis(r.RetryAfter)}
	if w.kept(keptTrace) == "" { // it is not a peer's own
		p.Message = cmp.Or(text, code.Traits().Text)
		p.Retry, p.Suggested = code.Traits().Retry, suggestion(code, "")
	}
	if v := extra["original_request"]; len(v) > 0 {
		p.Original = v
	}
	if x := w.call; x != nil && jsonscan.Text(jsonscan.Member(extra["original_request"], "trace_id")) != x.Trace {
		kind := x.Kind
		if w.ofCancel() {
			kind = performatives.ActCancel.String()
		}
		p.Original = originalRequest{kind, x.Trace}
	}
	if v := extra["retry_possible"]; len(v) > 0 {
		p.Retry = v
	}
	if v := extra["suggested_action"]; len(v) > 0 {
		p.Suggested = v
	}
	own := []string{"error_code", "error_message", "original_request", "retry_possible", "suggested_action", "status"}
	if p.Again != 0 { // else one of extra is a peer's own, and no hint
		own = append(own, performatives.MemberRetryAfter)
	}
	if p.Reason != "" {
		own = append(own, memberReason)
	}
	if w.Marshal(p); w.Err == nil {
		b := jsonscan.Reopen(w.Payload)
		b.Sorted(extra, own...)
		w.Payload, w.Err = b.Close()
	}
}

// memberReason is the member for a code whose word stands for several.
const memberReason = "reason_code"

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

// appendError appends the ERROR_MESSAGE for a message of the peer. The codec is locked.
func (c *codec) appendError(dst []byte, o *origin, err error) []byte {
	r := wire.AsRefusal(err)
	stamp := c.opts.Stamper.Stamp()
	object := wire.ErrorObjectOf(err)
	p := errorPayload{
		Code: ErrorCodes.Own(r.Code), Message: object.Message, Retry: r.Code.Traits().Retry, Suggested: suggestion(r.Code, r.Field),
		Reason: ErrorCodes.Exact(r.Code), Again: performatives.RetryAfterMillis(r.RetryAfter), Field: r.Field,
	}
	if r.Field == "" {
		p.Details = object.Details
	}
	if o.trace != "" {
		p.Original = originalRequest{o.kind, o.trace}
	}
	conversation := o.conversation
	if conversation == "" {
		conversation = unknownConversation
	}
	payload, bad := json.Marshal(p)
	if bad != nil {
		return dst
	}
	w := writer{Writer: exchange.NewWriter(Name, nil, dst, c.depth)}
	w.text(memType, typeError)
	w.text(memSender, string(cmp.Or(r.From, o.receiver, c.opts.Local)))
	w.text(memReceiver, string(cmp.Or(o.sender, unknownAgent)))
	w.text(memTrace, c.sequences.next(prefixError, conversation))
	w.text(memTimestamp, exchange.FormatTime(stamp.Time))
	w.Checked(memberNames[memPayload], payload)
	return append(w.JSON, '}')
}

// The conversation and the receiver of the answer to a message without them. The connection leads
// to one peer.
const (
	unknownConversation performatives.ConversationID = "unknown"
	unknownAgent        performatives.AgentID        = "unknown"
)

// refused returns the fault of a frame that is no message, with the answer to the peer. The answer
// is from the agent for which the message was, if that is readable.
func (d *decoder) refused(ends bool) wire.Inbound {
	v := &d.Values
	o := &origin{
		kind: exchange.Legible(v[memType]), trace: exchange.Legible(v[memTrace]), sender: performatives.AgentID(exchange.Legible(v[memSender])),
		receiver: performatives.AgentID(exchange.Legible(v[memReceiver])),
	}
	if o.trace != "" {
		o.conversation, _ = splitTrace(o.trace)
	}
	in := wire.Inbound{Err: d.Refusal, Token: d.token, Ref: o}
	if o.kind == typeError && !ends {
		return in
	}
	d.codec.mu.Lock()
	defer d.codec.mu.Unlock()
	in.Answer = d.codec.appendError(nil, o, d.Refusal)
	return in
}

// ended returns the FAILURE that ends the request which a malformed ERROR_MESSAGE is about, or nil.
func (d *decoder) ended() *performatives.Message {
	v, p := &d.Values, d.Values[memPayload]
	from := performatives.AgentID(exchange.Legible(v[memSender]))
	if d.kind = exchange.Legible(v[memType]); d.kind != typeError || from == "" {
		return nil
	}
	d.codec.mu.Lock()
	defer d.codec.mu.Unlock()
	d.out.Sender, d.trace, d.relation = from, exchange.Legible(v[memTrace]), relation{}
	d.relate(p)
	x := d.relation.answers
	if x == nil {
		return nil
	}
	d.codec.asked.Remove(x)
	code := performatives.CodeFailed
	if known, ok := ErrorCodes.Code(jsonscan.Text(jsonscan.Member(p, "error_code"))); ok {
		code = known
	}
	text := cmp.Or(jsonscan.Text(jsonscan.Member(p, "error_message")), jsonscan.Text(p))
	return x.Failure(d.codec.opts.Stamper.Stamp(), from, code, text)
}
