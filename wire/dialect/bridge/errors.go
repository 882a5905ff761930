package bridge

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of an error (bridge, Error Handling).
const (
	errorCode    = "error_code"
	errorMessage = "error_message"
	errorType    = "error_type"
	errorDetails = "details"
)

// The members of details that this dialect writes. reason_code and payload are extensions, as is
// [performatives.MemberRetryAfter].
const (
	detailsReason  = "reason_code" // a performatives.Code, which is more exact than the error_code
	detailsField   = "field"       // the path of the wrong member
	detailsTool    = "tool_name"
	detailsTools   = "available_tools" // of TOOL_NOT_FOUND
	detailsPayload = "payload"         // of a refusal with an application's message type
)

// The standard error codes.
const (
	codeToolNotFound     = "TOOL_NOT_FOUND"
	codeInvalidArguments = "INVALID_ARGUMENTS"
	codeExecutionFailed  = "EXECUTION_FAILED"
	codeTimeout          = "TIMEOUT"
	codeUnauthorized     = "UNAUTHORIZED"
	codeInternal         = "INTERNAL_ERROR"
)

// ErrorCodes has the error_code of each reason, and the reason as which it is read (addenda §2).
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	codeInvalidArguments: exchange.Malformed,
	codeInternal: {
		performatives.CodeInternal, performatives.CodeBusy, performatives.CodeRateLimited, performatives.CodeUnknownAgent,
		performatives.CodeStopped, performatives.CodeMoved, performatives.CodeConversationEnded, performatives.CodeMiddleware,
		performatives.CodeDisconnected,
	},
	codeToolNotFound:    exchange.Unable,
	codeUnauthorized:    slices.Concat(exchange.Untrusted, []performatives.Code{performatives.CodeForbidden}),
	codeTimeout:         exchange.Late,
	codeExecutionFailed: slices.Concat(exchange.Failed, []performatives.Code{performatives.CodeBudget}),
})

// errorTypes has the error_type of each standard code. The text names not_found only.
var errorTypes = map[string]string{
	codeToolNotFound: "not_found", codeInvalidArguments: "validation", codeExecutionFailed: "execution",
	codeTimeout: "timeout", codeUnauthorized: "authorization", codeInternal: "internal",
}

// usualRefusal returns the act of an error with that code (addenda §2). It is a FAILURE for a code
// of the peer's own.
func usualRefusal(word string) performatives.Performative {
	code, _ := ErrorCodes.Code(word)
	return code.Traits().Carrier
}

// error reads an ErrorMessage.
func (d *decoder) error(m [][]byte, rest performatives.Members) {
	code, message, category, details := m[0], m[1], m[2], m[3]
	word := jsonscan.Text(code)
	if d.act != 0 && !refusals.Has(d.act) {
		d.Wrong("metadata.performative", "the act of a refusal, got %s", d.act.String())
	}
	d.shape.code = word
	d.out.Performative = cmp.Or(d.act, usualRefusal(word))
	if d.out.MessageType != "" {
		if word != typedWord(d.out.Performative) {
			exchange.Keep(&rest, errorCode, code)
		}
		if jsonscan.Text(message) != d.out.MessageType {
			exchange.Keep(&rest, errorMessage, message)
		}
		if jsonscan.Text(category) != errorTypes[word] {
			exchange.Keep(&rest, errorType, category)
		}
		d.typed(d.out.Performative, jsonscan.Member(details, detailsPayload), rest)
		return
	}
	exchange.Keep(&rest, errorType, category)
	exchange.Keep(&rest, errorDetails, details)
	r := refusalIn(code, message, details)
	r.Act = d.out.Performative
	d.out.Payload = r.Payload(rest)
}

// refusalIn returns the refusal that members of an error are.
func refusalIn(code, message, details []byte) *performatives.Refusal {
	return &performatives.Refusal{
		Code: reasonOf(jsonscan.Text(code), details), Text: jsonscan.Text(message),
		RetryAfter: performatives.ParseRetryAfter(jsonscan.Member(details, performatives.MemberRetryAfter)),
	}
}

// reasonOf returns the code of an error: the reason_code of its details where that agrees with the
// error_code.
func reasonOf(word string, details []byte) performatives.Code {
	return ErrorCodes.Read(word, jsonscan.Text(jsonscan.Member(details, detailsReason)))
}

// fault is a refusal of this node in the form of this dialect.
type fault struct {
	performatives.Refusal
	word    string // the error_code; empty = that of the code
	kind    []byte // the error_type as JSON; nil = that of the code
	details []byte // of another peer, as JSON; nil = none
	tool    string // the tool that the failed request has named
	tools   []string
	content []byte // the payload of an application's message type; nil = none
	rest    performatives.Members
}

// write writes the members of the payload of an error.
func (f fault) write(b *jsonscan.Builder) {
	word := cmp.Or(f.word, ErrorCodes.Of(f.Code))
	b.Text(errorCode, word)
	b.Text(errorMessage, f.Text)
	switch {
	case f.kind != nil:
		b.Checked(errorType, f.kind)
	case errorTypes[word] != "":
		b.Text(errorType, errorTypes[word])
	}
	f.detailed(b, word)
	b.Sorted(f.rest, errorCode, errorMessage, errorType, errorDetails)
}

// detailed writes the details of an error: those of the peer that made it, else our own.
func (f fault) detailed(b *jsonscan.Builder, word string) {
	plain := f.Code == "" || string(f.Code) == word || f.Code == reasonOf(word, nil) // the error_code says all
	if plain && jsonscan.IsNull(f.details) {
		b.Raw(errorDetails, f.details)
		return
	}
	var had performatives.Members
	jsonscan.Read(f.details, exchange.Rest(&had))
	b.Open(errorDetails)
	if !plain {
		b.Text(detailsReason, string(f.Code))
		delete(had, detailsReason)
	}
	if f.Field != "" && had[detailsField] == nil {
		b.Text(detailsField, f.Field)
	}
	if f.tool != "" && had[detailsTool] == nil {
		b.Text(detailsTool, f.tool)
	}
	if len(f.tools) > 0 && had[detailsTools] == nil {
		b.Value(detailsTools, f.tools)
	}
	if again := performatives.RetryAfterMillis(f.RetryAfter); again != 0 {
		b.Value(performatives.MemberRetryAfter, again)
		delete(had, performatives.MemberRetryAfter)
	}
	if f.content != nil {
		b.Raw(detailsPayload, f.content)
	}
	b.Sorted(had)
	b.End()
}

// refusal returns the error that the message is.
func (w *writer) refusal() fault {
	m := w.Message
	if m.MessageType() != "" {
		return w.typedRefusal()
	}
	f := fault{Refusal: *m.AsRefusal(), tool: w.extras.tool, tools: w.extras.tools}
	f.Text = exchange.OfParameters(f.Text, requestArguments)
	_, f.rest, _ = performatives.RefusalIn(m.Payload())
	f.kind, f.details = f.rest[errorType], f.rest[errorDetails]
	if f.Text == "" && w.shape == unread {
		f.Text = f.Code.Traits().Text
	}
	if reasonOf(w.shape.code, f.details) == f.Code {
		f.word = w.shape.code
	}
	return f
}

// typedWord returns the usual error_code of a refusal with an application's message type.
func typedWord(act performatives.Performative) string {
	if act == performatives.ActNotUnderstood {
		return codeInvalidArguments
	}
	return codeExecutionFailed
}

// typedRefusal is refusal for a message with an application's message type.
func (w *writer) typedRefusal() fault {
	m, rest := w.Message, w.restOf()
	f := fault{
		Refusal: performatives.Refusal{Text: cmp.Or(jsonscan.Text(rest[errorMessage]), m.MessageType())},
		word:    cmp.Or(jsonscan.Text(rest[errorCode]), typedWord(m.Performative())), kind: rest[errorType], rest: rest, tool: w.extras.tool,
	}
	if m.Payload() == nil {
		return f
	}
	if _, _, own := performatives.RefusalIn(m.Payload()); own { // the application has no payload of its own
		r := m.AsRefusal()
		f.word, f.Code, f.Text = "", r.Code, r.Text
	}
	w.Marshal(m.Payload())
	f.content = w.Payload
	return f
}

// DecodeError is the error of [Codec.Decode]. It has the refusal, and the fields of the
// message that could be read, so that its sender can be answered. A field is empty when
// the message lacks it or ends before it.
type DecodeError struct {
	Refusal     *performatives.Refusal
	Type        string // the message_type
	ID          performatives.MessageID
	Sender      performatives.AgentID
	Receiver    performatives.AgentID
	Correlation string
	text        string // of an error
}

// Error returns the text of the refusal.
func (e *DecodeError) Error() string { return "bridge: " + e.Refusal.Error() }

// Unwrap returns the refusal, so that errors.Is asks for its code.
func (e *DecodeError) Unwrap() error { return e.Refusal }

// Answer returns the error message for the sender, from the agent from. It is nil for a message
// that is an error itself: two peers would otherwise answer each other without end.
func (e *DecodeError) Answer(from performatives.AgentID, s performatives.Stamp) []byte {
	if e.Type == kindError {
		return nil
	}
	return errorFrame(from, e.Sender, string(e.ID), s, fault{Refusal: *e.Refusal})
}

// failure returns the stored error together with the readable fields.
func (d *decoder) failure() *DecodeError {
	v := &d.Values
	e := &DecodeError{
		Refusal:     d.Refusal,
		Type:        exchange.Legible(v[memType]),
		ID:          performatives.MessageID(exchange.Legible(v[memID])),
		Sender:      performatives.AgentID(exchange.Legible(v[memSender])),
		Receiver:    performatives.AgentID(exchange.Legible(v[memReceiver])),
		Correlation: exchange.Legible(v[memCorrelation]),
	}
	e.text = cmp.Or(jsonscan.Text(jsonscan.Member(v[memPayload], errorMessage)), jsonscan.Text(v[memPayload]))
	d.Refusal.About = e.ID
	return e
}

// envelopeOf returns the envelope of a message that this package makes itself, up to its payload.
func envelopeOf(kind string, s performatives.Stamp, from, to performatives.AgentID, correlation string, p performatives.Priority) jsonscan.Builder {
	b := jsonscan.OpenObject(nil)
	b.Text(memberNames[memID], string(s.ID))
	b.Text(memberNames[memType], kind)
	b.Text(memberNames[memSender], string(from))
	b.TextOrNull(memberNames[memReceiver], string(to))
	b.Text(memberNames[memTimestamp], exchange.FormatTime(s.Time))
	b.TextOrNull(memberNames[memCorrelation], correlation)
	b.Text(memberNames[memPriority], p.String())
	return b
}

// errorFrame returns an error message that this package writes itself, about the message with that
// id. The receiver and the id may be empty.
func errorFrame(from, to performatives.AgentID, about string, s performatives.Stamp, f fault) []byte {
	b := envelopeOf(kindError, s, from, to, about, performatives.Normal)
	b.Open(memberNames[memPayload])
	f.write(&b)
	b.End()
	return append(b.JSON, '}')
}

// fieldNames has the names of bridge for the fields of a message.
var fieldNames = map[string]string{
	"sender": "sender_id", "receiver": "receiver_id", "in_reply_to": "correlation_id",
	"conversation_id": "metadata.conversation_id", "message_type": "metadata.message_type", "performative": "metadata.performative",
	"protocol": "metadata.protocol", "trace": "metadata.trace",
	"payload.task_type": "payload.tool_name", "payload.task_parameters": "payload.arguments", "payload.task_status": "payload.task_status",
	"payload.result_details": "payload.result",
}

// renamed returns the refusal in an error of package performatives, with the field names of bridge.
func renamed(err error) *performatives.Refusal { return exchange.Renamed(err, fieldNames) }
