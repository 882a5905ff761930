package bridge

import (
	"bytes"

	"github.com/ribosome-agents/ribosome/performatives"
)

// The members of the payload of an error (bridge, Error Handling).
const (
	errorCode    = "error_code"
	errorMessage = "error_message"
	errorType    = "error_type"
	errorDetails = "details"
)

// The members of details that this dialect writes. reason_code and payload are extensions.
const (
	detailsReason  = "reason_code" // a performatives.Code, which is more exact than the error_code
	detailsField   = "field"       // the path of the wrong member
	detailsTool    = "tool_name"
	detailsPayload = "payload" // of a refusal with an application's message type
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

// errorTypes has the error_type of each standard code. The text names not_found only.
var errorTypes = map[string]string{
	codeToolNotFound: "not_found", codeInvalidArguments: "validation", codeExecutionFailed: "execution",
	codeTimeout: "timeout", codeUnauthorized: "authorization", codeInternal: "internal",
}

// usualRefusal returns the act of an error with that code (addenda §2).
func usualRefusal(code string) performatives.Performative {
	switch code {
	case codeToolNotFound, codeUnauthorized:
		return performatives.ActTaskReject
	case codeInvalidArguments:
		return performatives.ActNotUnderstood
	}
	return performatives.ActFailure
}

// error reads an ErrorMessage.
func (d *decoder) error(v []byte) {
	var code, message, category, details []byte
	var rest performatives.Members
	over := false
	object(v, keep(&rest, &over), found{errorCode, &code}, found{errorMessage, &message}, found{errorType, &category}, found{errorDetails, &details})
	if over {
		d.tooMany("payload")
	}
	word := d.name(errorCode, "the code of an error", code)
	if !is(message, '"') {
		d.invalid(field(errorMessage), "a string", message)
	}
	d.kinded(errorType, "a string", `"`, category)
	d.kinded(errorDetails, "an object", "{", details)
	if d.act != 0 && !refuses(d.act) {
		d.refuse(performatives.CodeInvalidPayload, "metadata.performative", "metadata.performative: want the act of a refusal, got "+d.act.String())
	}
	if d.refusal != nil {
		return
	}
	d.shape.code = word
	d.out.Performative = d.actOr(usualRefusal(word))
	if d.out.MessageType != "" {
		var content []byte
		object(details, nil, found{detailsPayload, &content})
		if usual := typedWord(d.out.Performative); word != usual {
			put(&rest, errorCode, code)
		}
		if text(message) != d.out.MessageType {
			put(&rest, errorMessage, message)
		}
		if text(category) != errorTypes[word] {
			put(&rest, errorType, category)
		}
		d.typed(d.out.Performative, content, rest)
		return
	}
	put(&rest, errorType, category)
	put(&rest, errorDetails, details)
	d.out.Payload = performatives.RefusalWith(refusalPayload(d.out.Performative, reasonOf(word, details), text(message)), rest)
}

// reasonOf returns the code of an error: the reason_code of its details where that agrees with the
// error_code.
func reasonOf(word string, details []byte) performatives.Code {
	var reason []byte
	object(details, nil, found{detailsReason, &reason})
	if own := performatives.Code(text(reason)); own.Known() && own.Traits().Bridge == word {
		return own
	}
	if known, ok := performatives.CodeBy(performatives.DialectBridge, word); ok {
		return known
	}
	return performatives.Code(word)
}

func refusalPayload(act performatives.Performative, code performatives.Code, text string) any {
	switch act { //nolint:exhaustive // the acts that refuse
	case performatives.ActTaskReject:
		return performatives.TaskReject{ReasonCode: code, ReasonText: text}
	case performatives.ActRefuse:
		return performatives.Refuse{ReasonCode: code, ReasonText: text}
	case performatives.ActRejectProposal:
		return performatives.RejectProposal{ReasonCode: code, ReasonText: text}
	case performatives.ActNotUnderstood:
		return performatives.NotUnderstood{ReasonCode: code, ReasonText: text}
	}
	return performatives.Failure{ErrorCode: code, ErrorText: text}
}

// fault is an error in the form of this dialect.
type fault struct {
	code    performatives.Code
	word    string // the error_code; empty = that of code
	text    string
	kind    []byte // the error_type as JSON; nil = that of the code
	details []byte // of another peer, as JSON; nil = none
	field   string
	tool    string // the tool that the failed request has named
	content []byte // the payload of an application's message type; nil = none
	rest    performatives.Members
}

// payload returns the payload of an error.
func (f fault) payload() ([]byte, error) {
	word := f.word
	if word == "" {
		word = f.code.Traits().Bridge
	}
	b := openObject(nil)
	b.text(errorCode, word)
	b.text(errorMessage, f.text)
	switch {
	case f.kind != nil:
		b.unchecked(errorType, f.kind)
	case errorTypes[word] != "":
		b.text(errorType, errorTypes[word])
	}
	details, err := f.detailed(word)
	if err != nil {
		return nil, err
	}
	b.raw(errorDetails, details)
	b.extra(f.rest, errorCode, errorMessage, errorType, errorDetails)
	return b.close()
}

// detailed returns the details of an error: those of the peer that made it, else our own.
func (f fault) detailed(word string) ([]byte, error) {
	b := openObject(nil)
	var had performatives.Members
	if is(f.details, '{') && valid(f.details) {
		over := false
		object(f.details, keep(&had, &over))
	} else if len(f.details) > 0 && isNull(f.details) && f.reasonless(word) {
		return f.details, nil
	}
	if !f.reasonless(word) {
		b.text(detailsReason, string(f.code))
		delete(had, detailsReason)
	}
	if f.field != "" && had[detailsField] == nil {
		b.text(detailsField, f.field)
	}
	if f.tool != "" && had[detailsTool] == nil {
		b.text(detailsTool, f.tool)
	}
	if f.content != nil {
		b.raw(detailsPayload, f.content)
		delete(had, detailsPayload)
	}
	b.extra(had)
	return b.close()
}

// reasonless reports whether the error_code says all about the reason.
func (f fault) reasonless(word string) bool {
	return f.code == "" || string(f.code) == word || f.code == reasonOf(word, nil)
}

// error writes an ErrorMessage.
func (w *writer) error() ([]byte, error) {
	f, err := w.fault()
	if err != nil {
		return nil, err
	}
	return f.payload()
}

// fault returns the error that the refusal m is.
func (w *writer) fault() (fault, error) {
	m := w.m
	if m.MessageType() != "" {
		return w.typedFault()
	}
	r := m.AsRefusal()
	f := fault{code: r.Code, text: inItsWords(r.Text), rest: refusalExtra(m.Payload()), tool: w.extras.tool}
	f.kind, f.details = f.rest[errorType], f.rest[errorDetails]
	if f.text == "" && w.shape == unread {
		f.text = r.Code.Traits().Text
	}
	if w.shape.code != "" && reasonOf(w.shape.code, f.details) == r.Code {
		f.word = w.shape.code
	}
	return f, nil
}

// typedWord returns the usual error_code of a refusal with an application's message type.
func typedWord(act performatives.Performative) string {
	if act == performatives.ActNotUnderstood {
		return codeInvalidArguments
	}
	return codeExecutionFailed
}

// typedFault returns the error for a refusal with an application's message type.
func (w *writer) typedFault() (fault, error) {
	m := w.m
	rest := w.restOf()
	f := fault{
		word: orText(rest[errorCode], typedWord(m.Performative())), text: orText(rest[errorMessage], m.MessageType()), kind: rest[errorType],
		rest: rest, tool: w.extras.tool,
	}
	if m.Payload() == nil {
		return f, nil
	}
	if r := m.AsRefusal(); refuses(actOfPayload(m.Payload())) { // the application has no payload of its own
		f.word, f.code, f.text = "", r.Code, r.Text
	}
	var err error
	f.content, err = w.marshalled()
	return f, err
}

// actOfPayload returns the act that a payload of package performatives belongs to; 0 for any other.
func actOfPayload(payload any) performatives.Performative {
	if p, ok := payload.(interface {
		Act() performatives.Performative
	}); ok {
		return p.Act()
	}
	return 0
}

// refusalExtra returns the unknown members of the payload of a refusal.
func refusalExtra(payload any) performatives.Members {
	switch p := payload.(type) {
	case performatives.TaskReject:
		return p.Extra
	case performatives.Refuse:
		return p.Extra
	case performatives.RejectProposal:
		return p.Extra
	case performatives.NotUnderstood:
		return p.Extra
	case performatives.Failure:
		return p.Extra
	}
	return nil
}

// inItsWords returns an error text about the parameters of a task with the name of bridge for them.
func inItsWords(text string) string {
	const parameters = "task_parameters"
	if rest, ok := bytes.CutPrefix([]byte(text), []byte(parameters)); ok {
		return requestArguments + string(rest)
	}
	return text
}
