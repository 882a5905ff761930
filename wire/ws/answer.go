package ws

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// refused is why a request does not become a session.
type refused struct {
	status int
	err    error // what the peer is told of it is in its tree
}

func (r *refused) Error() string { return r.err.Error() }
func (r *refused) Unwrap() error { return r.err }

func denied(status int, code performatives.Code, text string) error {
	return &refused{status, &performatives.Refusal{Code: code, Text: text}}
}

// unavailable is why the server takes no connection more.
func unavailable(err error) error {
	var limit *wire.LimitError
	switch {
	case errors.As(err, &limit):
		return &refused{http.StatusTooManyRequests, err}
	case errors.Is(err, wire.ErrClosed):
		return denied(http.StatusServiceUnavailable, performatives.CodeStopped, "the server stops")
	}
	return denied(http.StatusServiceUnavailable, performatives.CodeBusy, wire.AsRefusal(err).Text)
}

// answer writes an error as wire's error object, with what HTTP asks for beside it.
func answer(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var r *refused
	if errors.As(err, &r) {
		status = r.status
	}
	o := wire.ErrorObjectOf(err)
	h := w.Header()
	switch status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusMethodNotAllowed:
		h.Set("Allow", http.MethodGet)
	case http.StatusUpgradeRequired:
		h.Set("Upgrade", "websocket")
		h.Set("Connection", "Upgrade")
		h.Set("Sec-WebSocket-Version", "13")
	case http.StatusTooManyRequests:
		if o.Details != nil {
			h.Set("Retry-After", strconv.Itoa(max(1, o.Details.RetryAfter)))
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(o.JSON()) // a peer that has gone does without
}

// answerUpgrade is how gorilla answers a request that it does not upgrade.
func answerUpgrade(w http.ResponseWriter, _ *http.Request, status int, reason error) {
	if status >= http.StatusInternalServerError {
		answer(w, &refused{status, reason}) // of which the peer learns nothing
		return
	}
	answer(w, denied(status, performatives.CodeParsingError, strings.TrimPrefix(reason.Error(), "websocket: ")))
}
