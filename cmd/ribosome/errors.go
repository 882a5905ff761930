package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// commandError is the error of a command, with its exit code. Its text has the reason and an
// advice, in one line; with an empty text, nothing is printed.
type commandError struct {
	code int
	text string
}

func (e *commandError) Error() string { return e.text }

// usagef returns the error of a wrong call.
func usagef(format string, args ...any) error {
	return &commandError{exitUsage, fmt.Sprintf(format, args...)}
}

// failf returns the error of a command that was refused, failed or was interrupted.
func failf(format string, args ...any) error {
	return &commandError{exitFailed, fmt.Sprintf(format, args...)}
}

// ending returns the exit code of an error, and the line for stderr.
func ending(err error) (code int, line string) {
	if err == nil {
		return exitDone, ""
	}
	if own, ok := errors.AsType[*commandError](err); ok {
		return own.code, own.text
	}
	return exitFailed, err.Error()
}

// unreachable returns the reason for a missing connection, and an advice.
func (l *link) unreachable(err error) string {
	var (
		answer *ws.RefusedError
		told   *performatives.Refusal
	)
	text := l.mistaken(err)
	switch {
	case text != "":
	case errors.Is(err, errSilent):
		text = err.Error()
	case is[*net.DNSError](err):
		text = "there is no host of that name; check --addr"
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()):
		text = "nobody listens there; start the node, or check --addr"
	case errors.As(err, &answer) && answer.Status == http.StatusNotFound:
		text = "there is no WebSocket at this path; use that of the node's --ws-path, such as /mcp"
	case hungUp(err):
		text = "it " + l.ifHungUp()
	case errors.As(err, &told) && told.Text != "" && told.Code.Traits().Retry:
		text = told.Text + "; try again"
	default:
		text = withoutPackages(err) + "; check --addr and whether a node listens there"
	}
	return "cannot reach " + l.at.url + ": " + text
}

// mistaken returns the fault in --addr or in the flags of TLS; nothing for another error.
func (l *link) mistaken(err error) string {
	if text := mismatch(err, l.at); text != "" {
		return text
	}
	var answer *ws.RefusedError
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusBadRequest && answer.Refusal == nil && !l.at.secure:
		return "what speaks there is no WebSocket, or wants TLS; use wss://, or check the scheme of --addr"
	case strings.Contains(err.Error(), "malformed HTTP "), strings.Contains(err.Error(), "a frame does not begin with 4D 43"):
		return "something else speaks there; check the scheme of --addr"
	}
	return ""
}

// hungUp reports whether the other end closed the connection without an error message.
func hungUp(err error) bool {
	wraps := func(e error) bool { return errors.Is(err, e) }
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	return slices.ContainsFunc([]error{wire.ErrHungUp, io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET}, wraps) ||
		slices.ContainsFunc([]string{"error reading server preface", "error reading from server: EOF", syscall.EPIPE.Error(), syscall.ECONNRESET.Error()}, says) // by gRPC
}

// ifHungUp returns the advice for a closed connection. A connection that has worked needs
// none.
func (l *link) ifHungUp() string {
	switch {
	case l.worked.Load():
		return "hung up; try again"
	case !l.at.secure:
		return "hung up; check the scheme of --addr, and use " + l.at.transport + "s:// if it wants TLS"
	case l.tls.GetClientCertificate == nil:
		return "hung up; try again, and see --cert and --key if it wants a client certificate"
	}
	return "hung up; try again, and ask who runs it whether it knows the authority of your certificate"
}

// is reports whether err wraps a T.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// withoutPackages returns the text of an error without the names of packages.
func withoutPackages(err error) string {
	text := err.Error()
	for _, name := range []string{"runtime: ", "uplink: ", "wire: ", "ws: ", "tcp: ", "grpc: "} {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// isCut reports whether the connection has ended.
func (l *link) isCut() bool {
	s := l.session.Load()
	if s == nil {
		return false
	}
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// isReplaced reports whether the node has ended the connection because another one speaks for the
// agent. A connection that came back would end the other in its turn.
func (l *link) isReplaced() bool {
	s := l.session.Load()
	var told *wire.PeerError
	return s != nil && errors.As(s.Err(), &told) && errors.Is(told, performatives.CodeForbidden)
}

// cut returns the reason for the end of the connection.
func (l *link) cut() string {
	var why error
	if s := l.session.Load(); s != nil {
		why = s.Err()
	}
	var told *performatives.Refusal
	switch {
	case errors.As(why, &told) && (isAuth(told.Code) || isUnchecked(told)):
		return l.refused(told, "")
	case why != nil && l.mistaken(why) != "":
		return "cannot reach " + l.at.url + ": " + l.mistaken(why)
	case why != nil && hungUp(why):
		return l.who("") + " " + l.ifHungUp()
	case told != nil && isTooLong(told):
		return fmt.Sprintf("%s gave the connection up: %s; check --data, and --max-frame of the node", l.who(""), told.Error())
	case told != nil:
		return fmt.Sprintf("%s gave the connection up: %s; %s", l.who(""), cmp.Or(told.Text, told.Error()), advice(told))
	case why == nil:
		return l.who("") + " has closed the connection; try again"
	}
	return fmt.Sprintf("the connection to %s was lost: %s; try again", l.who(""), withoutPackages(why))
}

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
