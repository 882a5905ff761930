package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// problem is the reason for a missing result.
type problem struct {
	Outcome string             `json:"-"`              // the terminal state, in one word
	Code    performatives.Code `json:"code,omitempty"` // the code of the refusal; empty for another error
	Text    string             `json:"text"`           // for people: the reason and an advice
	code    int                // the exit code; 0 stands for exitFailed
}

// failure returns the error that ends the program; nil for a nil problem.
func (p *problem) failure() error {
	if p == nil {
		return nil
	}
	return &commandError{cmp.Or(p.code, exitFailed), p.Text}
}

// explain returns the reason why agent gave no result, and an advice, in one line. It
// returns nil for no error.
func (l *link) explain(err error, agent string) *problem {
	var own *commandError
	var refusal *performatives.Refusal
	var end *codons.EndError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return &problem{Outcome: "error", Text: own.text, code: own.code}
	case errors.Is(err, context.Canceled):
		return l.interrupted(err, agent)
	case errors.Is(err, performatives.CodeTimeout), errors.Is(err, performatives.CodeExpired), errors.Is(err, context.DeadlineExceeded):
		return &problem{Outcome: "timed_out", Code: performatives.CodeTimeout, Text: l.late(agent)}
	}
	p := &problem{Outcome: "error", Text: l.unreachable(err)}
	if errors.As(err, &end) {
		p.Outcome = string(end.State)
	}
	if errors.As(err, &refusal) || isUncheckedText(err, &refusal) {
		p.Code = refusal.Code
	}
	if s := l.session.Load(); refusal != nil && (s != nil || isAuth(refusal.Code) || isUnchecked(refusal)) {
		p.Text = l.refused(refusal, agent)
	}
	if (p.Code == performatives.CodeDisconnected || p.Code == performatives.CodeStopped) && l.cutOff {
		p.Text = l.cut()
	}
	p.Text = oneLine(p.Text)
	return p
}

// late returns the text for a passed deadline. Over TCP, an open connection does not prove
// that the other end is a node.
func (l *link) late(agent string) string {
	if l.at.transport == "tcp" && l.session.Load() != nil && !l.worked.Load() {
		return "the deadline passed, and nothing has come from " + l.at.url + "; if something else speaks there, check the scheme of --addr, else try again with a longer --deadline"
	}
	return "the deadline passed before " + l.responder(agent) + " answered; try again with a longer --deadline"
}

// isAuth reports whether a code is about authentication or permission.
func isAuth(c performatives.Code) bool {
	return c == performatives.CodeUnauthorized || c == performatives.CodeForbidden
}

// isUnchecked reports whether a node could not check the credentials because of a fault of
// its own.
func isUnchecked(r *performatives.Refusal) bool {
	return r.Code == performatives.CodeInternal && r.Text == auth.Unchecked
}

// isUncheckedText finds such a fault in an error of gRPC, which does not transmit the code
// of a fault of the node.
func isUncheckedText(err error, to **performatives.Refusal) bool {
	if !strings.HasSuffix(err.Error(), ": "+auth.Unchecked) {
		return false
	}
	*to = &performatives.Refusal{Code: performatives.CodeInternal, Text: auth.Unchecked}
	return true
}

// isNode reports whether a receiver is the node itself.
func isNode(agent string) bool {
	return agent == "" || performatives.AgentID(agent).Is(systemAgent)
}

// who returns the agent for a text, or the node if the agent is the node itself.
func (l *link) who(agent string) string {
	if isNode(agent) {
		return "the node at " + l.at.url
	}
	return agent
}

// responder returns the agent that answers, for a text. A task to the node itself is answered by
// the agent that the node gives it to, under the name of the node.
func (l *link) responder(agent string) string {
	if l.task && isNode(agent) {
		return "the agent that " + l.who("") + " chose"
	}
	return l.who(agent)
}

// interrupted returns the text for an interrupt. It tells whether there was a receipt.
func (l *link) interrupted(err error, agent string) *problem {
	p := &problem{Outcome: "cancelled", Code: performatives.CodeCanceled, Text: "interrupted; run it again for a result"}
	var end *codons.EndError
	switch {
	case !errors.As(err, &end), isNode(agent) && !l.task: // a query has no effects
	case end.State == "cancelled":
		p.Text = fmt.Sprintf("interrupted; %s has stopped", l.responder(agent))
	case end.Refusal.Code == performatives.CodeStillRunning:
		p.Text = fmt.Sprintf("interrupted; %s was told, and still runs", l.responder(agent))
	default:
		p.Text = fmt.Sprintf("interrupted; %s was told, and has not said that it stopped", l.responder(agent))
	}
	return p
}

// notSender is the text of wire for a message whose sender has not authenticated.
const notSender = "the peer has not authenticated as the sender"

// credentials returns the advice on flags for authentication.
func (l *link) credentials() string {
	text := "give a token with --token-file or " + variable("token")
	if l.tls != nil && l.tls.GetClientCertificate == nil {
		text += ", or a certificate with --cert and --key"
	}
	return text
}

// refused returns the text of a refusal: the agent that refused, the reason, and an advice.
func (l *link) refused(r *performatives.Refusal, agent string) string {
	reason := *r
	reason.From = ""
	if isUnchecked(r) {
		return l.who("") + " cannot tell who calls: " + reason.Error() + "; try again later, or ask who runs it"
	}
	switch r.Code { //nolint:exhaustive // the others have no advice of their own
	case performatives.CodeUnauthorized:
		if l.token == nil {
			return l.who("") + " wants to know who calls: " + reason.Error() + "; " + l.credentials()
		}
		return l.who("") + " does not accept the token: " + reason.Error() + "; get one that is valid, and check --addr"
	case performatives.CodeForbidden:
		if l.nameless && r.Text == notSender {
			return fmt.Sprintf("%s does not permit it: %s; give with --as the name that the token or the certificate is for", l.who(""), reason.Error())
		}
		return fmt.Sprintf("%s does not permit it: %s; check --as and the rules there", l.who(""), reason.Error())
	case performatives.CodeUnknownAgent:
		return fmt.Sprintf("there is no agent %s at %s; ribosome agents --addr %s lists them", agent, l.at.url, l.at.url)
	case performatives.CodeUnknownAction:
		return fmt.Sprintf("%s cannot do it: %s; ribosome agents --addr %s lists who can do what", l.who(agent), reason.Error(), l.at.url)
	case performatives.CodeIncapable, performatives.CodeUnknownReference, performatives.CodeCannotDecide:
		return fmt.Sprintf("%s cannot do it: %s; ribosome agents --addr %s lists who can do what", l.responder(agent), reason.Error(), l.at.url)
	case performatives.CodeParsingError:
		return fmt.Sprintf("%s could not read it: %s; check --data, and --max-frame if it is long", l.who(agent), reason.Error())
	case performatives.CodeInvalidPayload:
		if isTooLong(r) {
			return fmt.Sprintf("%s did not get it: %s; check --data, and --max-frame", l.who(agent), reason.Error())
		}
		return fmt.Sprintf("%s did not understand it: %s; check --data", l.responder(agent), reason.Error())
	case performatives.CodeRateLimited:
		return fmt.Sprintf("%s gave no result: %s; %s", l.who(agent), reason.Error(), advice(r))
	}
	return fmt.Sprintf("%s gave no result: %s; %s", l.responder(agent), reason.Error(), advice(r))
}

// isTooLong reports whether a message was longer than a connection carries. Its code is that of a
// wrong field, but no field is wrong.
func isTooLong(r *performatives.Refusal) bool {
	return r.Field == "" && (strings.HasPrefix(r.Text, "the message is longer than ") || strings.HasPrefix(r.Text, "the frame is longer than "))
}

// advice tells whether a retry may succeed.
func advice(r *performatives.Refusal) string {
	if r.Code.Traits().Retry {
		return "try again"
	}
	return "this will not change by trying again"
}
