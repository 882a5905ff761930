package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// problem is why there is no result.
type problem struct {
	Outcome string             `json:"-"`              // in a word
	Code    performatives.Code `json:"code,omitempty"` // of the refusal, if it was one
	Text    string             `json:"text"`           // for people: why, and what to do
	usage   bool               // the program was called wrongly
}

// failure is the error that ends the program; none of a nil problem.
func (p *problem) failure() error {
	switch {
	case p == nil:
		return nil
	case p.usage:
		return &usageError{p.Text}
	}
	return &failure{p.Text}
}

// explain says in one line why agent gave no result, and what to do; nil for no error.
func (l *link) explain(err error, agent string) *problem {
	var usage *usageError
	var own *failure
	var refusal *performatives.Refusal
	var end *codons.EndError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage):
		return &problem{Outcome: "error", Text: usage.text, usage: true}
	case errors.As(err, &own):
		return &problem{Outcome: "error", Text: own.text}
	case errors.Is(err, context.Canceled):
		return interrupted(err, agent)
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

// late says that agent did not answer in time. Over TCP, it may be none of ours: that a
// connection opens does not tell.
func (l *link) late(agent string) string {
	if l.at.transport == "tcp" && l.session.Load() != nil && !l.worked.Load() {
		return "the deadline passed, and nothing has come from " + l.at.url + "; if something else speaks there, check the scheme of --addr, else try again with a longer --deadline"
	}
	return "the deadline passed before " + l.who(agent) + " answered; try again with a longer --deadline"
}

// isAuth reports whether a code is about who may do what.
func isAuth(c performatives.Code) bool {
	return c == performatives.CodeUnauthorized || c == performatives.CodeForbidden
}

// isUnchecked reports whether a node could not find out who calls, by no fault of theirs.
func isUnchecked(r *performatives.Refusal) bool {
	return r.Code == performatives.CodeInternal && r.Text == auth.Unchecked
}

// isUncheckedText is errors.As for gRPC, which passes on no code of a fault of the node.
func isUncheckedText(err error, to **performatives.Refusal) bool {
	if !strings.HasSuffix(err.Error(), ": "+auth.Unchecked) {
		return false
	}
	*to = &performatives.Refusal{Code: performatives.CodeInternal, Text: auth.Unchecked}
	return true
}

// who is the agent, or the node.
func (l *link) who(agent string) string {
	if agent == "" || agent == string(systemAgent) {
		return "the node at " + l.at.url
	}
	return agent
}

// interrupted tells whether the agent has said that it stopped.
func interrupted(err error, agent string) *problem {
	p := &problem{Outcome: "cancelled", Code: performatives.CodeCanceled, Text: "interrupted; run it again for a result"}
	var end *codons.EndError
	switch {
	case !errors.As(err, &end):
	case end.State == "cancelled":
		p.Text = fmt.Sprintf("interrupted; %s has stopped", agent)
	case end.Refusal.Code == performatives.CodeStillRunning:
		p.Text = fmt.Sprintf("interrupted; %s was told, and still runs", agent)
	default:
		p.Text = fmt.Sprintf("interrupted; %s was told, and has not said that it stopped", agent)
	}
	return p
}

// notSender is the text of wire for a message in the name of another.
const notSender = "the sender is not who has authenticated"

// credentials says how to show who calls.
func (l *link) credentials() string {
	text := "give a token with --token-file or " + variable("token")
	if l.tls != nil && l.tls.GetClientCertificate == nil {
		text += ", or a certificate with --cert and --key"
	}
	return text
}

// refused says who refused, why, and what to do.
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
	case performatives.CodeIncapable, performatives.CodeUnknownAction:
		return fmt.Sprintf("%s cannot do it: %s; ribosome agents --addr %s lists who can do what", l.who(agent), reason.Error(), l.at.url)
	case performatives.CodeInvalidPayload:
		return fmt.Sprintf("%s did not understand it: %s; check --data, and --max-frame if it is long", l.who(agent), reason.Error())
	}
	return fmt.Sprintf("%s gave no result: %s; %s", l.who(agent), reason.Error(), advice(r))
}

// advice says whether to try again.
func advice(r *performatives.Refusal) string {
	if r.Code.Traits().Retry {
		return "try again"
	}
	return "this will not change by trying again"
}
