package ws

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// handshakeError is the HTTP answer to a request that does not become a session.
type handshakeError struct {
	status int
	err    error // the peer receives the refusal in its tree
}

func (r *handshakeError) Error() string { return r.err.Error() }
func (r *handshakeError) Unwrap() error { return r.err }

func denied(status int, code performatives.Code, text string) error {
	return &handshakeError{status, &performatives.Refusal{Code: code, Text: text}}
}

// unavailable converts an error of wire.Server.Admit to an HTTP answer.
func unavailable(err error) error {
	var limit *wire.LimitError
	switch {
	case errors.As(err, &limit):
		return &handshakeError{http.StatusTooManyRequests, err}
	case errors.Is(err, wire.ErrClosed):
		return denied(http.StatusServiceUnavailable, performatives.CodeStopped, "the server is stopping")
	}
	return denied(http.StatusServiceUnavailable, performatives.CodeBusy, wire.AsRefusal(err).Text)
}

// writeError writes err as an error object, with the HTTP headers that its status requires.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var r *handshakeError
	if errors.As(err, &r) {
		status = r.status
	}
	o := wire.ErrorObjectOf(err)
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		if h.Get("Allow") == "" {
			h.Set("Allow", http.MethodGet)
		}
	case http.StatusUpgradeRequired:
		h.Set("Upgrade", "websocket")
		h.Set("Connection", "Upgrade")
		h.Set("Sec-WebSocket-Version", "13")
	case http.StatusTooManyRequests:
		if o.Details != nil {
			h.Set("Retry-After", strconv.Itoa(max(1, o.Details.RetryAfter)))
		}
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1") // the end of another connection cannot be predicted: the client should at least pause
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(o.JSON()) // best effort
}

// writeUpgradeError is gorilla's callback for a request that it does not upgrade.
func writeUpgradeError(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	if status >= http.StatusInternalServerError {
		writeError(w, &handshakeError{status, reason}) // the peer does not receive the text of reason
		return
	}
	writeError(w, denied(status, performatives.CodeParsingError, strings.TrimPrefix(reason.Error(), "websocket: ")))
}
