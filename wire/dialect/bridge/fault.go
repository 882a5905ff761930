package bridge

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// fault is an error in the form of this dialect.
type fault struct {
	code    performatives.Code
	word    string // the error_code; empty = that of code
	text    string
	kind    []byte // the error_type as JSON; nil = that of the code
	details []byte // of another peer, as JSON; nil = none
	field   string
	again   int64  // the retry_after_ms; 0 = none
	tool    string // the tool that the failed request has named
	tools   []string
	content []byte // the payload of an application's message type; nil = none
	rest    performatives.Members
}

// faultOf returns the error that a refusal of this node is.
func faultOf(r *performatives.Refusal) fault {
	return fault{code: r.Code, text: r.Text, field: r.Field, again: performatives.RetryAfterMillis(r.RetryAfter)}
}

// payload returns the payload of an error.
func (f fault) payload() ([]byte, error) {
	word := f.word
	if word == "" {
		word = ErrorCodes.Of(f.code)
	}
	b := jsonscan.OpenObject(nil)
	b.Text(errorCode, word)
	b.Text(errorMessage, f.text)
	switch {
	case f.kind != nil:
		b.Checked(errorType, f.kind)
	case errorTypes[word] != "":
		b.Text(errorType, errorTypes[word])
	}
	details, err := f.detailed(word)
	if err != nil {
		return nil, err
	}
	b.Raw(errorDetails, details)
	b.Sorted(f.rest, errorCode, errorMessage, errorType, errorDetails)
	return b.Close()
}

// detailed returns the details of an error: those of the peer that made it, else our own.
func (f fault) detailed(word string) ([]byte, error) {
	b := jsonscan.OpenObject(nil)
	var had performatives.Members
	if jsonscan.Is(f.details, '{') && jsonscan.Valid(f.details) {
		jsonscan.Read(f.details, exchange.Rest(&had, nil))
	} else if len(f.details) > 0 && jsonscan.IsNull(f.details) && f.reasonless(word) {
		return f.details, nil
	}
	if !f.reasonless(word) {
		b.Text(detailsReason, string(f.code))
		delete(had, detailsReason)
	}
	if f.field != "" && had[detailsField] == nil {
		b.Text(detailsField, f.field)
	}
	if f.tool != "" && had[detailsTool] == nil {
		b.Text(detailsTool, f.tool)
	}
	if len(f.tools) > 0 && had[detailsTools] == nil {
		b.Value(detailsTools, f.tools)
	}
	if f.again != 0 {
		b.Raw(performatives.MemberRetryAfter, strconv.AppendInt(nil, f.again, 10))
		delete(had, performatives.MemberRetryAfter)
	}
	if f.content != nil {
		b.Raw(detailsPayload, f.content)
		delete(had, detailsPayload)
	}
	b.Sorted(had)
	return b.Close()
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
	f := fault{code: r.Code, text: inItsWords(r.Text), again: performatives.RetryAfterMillis(r.RetryAfter), tool: w.extras.tool}
	_, f.rest, _ = performatives.RefusalIn(m.Payload())
	f.kind, f.details = f.rest[errorType], f.rest[errorDetails]
	if w.extras.tools != nil && ErrorCodes.Of(r.Code) == codeToolNotFound {
		f.tools = w.extras.tools(m.Receiver(), m.Sender())
	}
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
		word: cmp.Or(jsonscan.Text(rest[errorCode]), typedWord(m.Performative())), text: cmp.Or(jsonscan.Text(rest[errorMessage]), m.MessageType()), kind: rest[errorType],
		rest: rest, tool: w.extras.tool,
	}
	if m.Payload() == nil {
		return f, nil
	}
	if r := m.AsRefusal(); refusals.Has(actOfPayload(m.Payload())) { // the application has no payload of its own
		f.word, f.code, f.text = "", r.Code, r.Text
	}
	var err error
	f.content, err = exchange.Object("bridge", w.m.Payload())
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

// inItsWords returns an error text about the parameters of a task with the name of bridge for them.
func inItsWords(text string) string {
	if rest, ok := strings.CutPrefix(text, "task_parameters"); ok {
		return requestArguments + rest
	}
	return text
}
