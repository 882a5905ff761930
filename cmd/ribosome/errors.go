package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
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

// printing returns the error of an incomplete output. A closed pipe is no error: a reader
// such as head needs no further output.
func printing(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno // without the name of the file, which is stdout
	}
	return failf("the output is not complete: %v; run it again where there is room for it", err)
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
	for _, e := range []error{wire.ErrHungUp, io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, e) {
			return true
		}
	}
	for _, text := range []string{"error reading server preface", "error reading from server: EOF", syscall.EPIPE.Error(), syscall.ECONNRESET.Error()} { // by gRPC
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
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
