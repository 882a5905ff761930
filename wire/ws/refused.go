package ws

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// RefusedError is returned by [Dial] when the server answers with anything but an upgrade.
type RefusedError struct {
	Status     int                    // HTTP status
	Refusal    *performatives.Refusal // from the server's error object; nil when the answer holds none
	RetryAfter time.Duration          // zero when the server sent none
}

// Error returns the status and the server's code and text.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("ws: the server answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Refusal == nil {
		return text
	}
	return text + ": " + e.Refusal.Error()
}

// Unwrap returns the refusal, so that errors.Is compares its code.
func (e *RefusedError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// maxText is the largest length in bytes of a server's text in an error.
const maxText = 256

// refusedBy parses an HTTP answer. gorilla has truncated its body to 1 KiB.
func refusedBy(r *http.Response) error {
	e := &RefusedError{Status: r.StatusCode}
	if s, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && s > 0 && s <= int(maxRetryAfter/time.Second) {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var o wire.ErrorObject
	body, err := io.ReadAll(r.Body)
	if err != nil || jsonscan.Unmarshal(body, &o) != nil {
		return e
	}
	if code, ok := wire.ErrorCodes.Code(o.Code); ok {
		e.Refusal = &performatives.Refusal{Code: code, Text: sockets.Clean(o.Message, maxText)}
	}
	return e
}

// maxRetryAfter is the longest Retry-After that is accepted; longer ones are ignored.
const maxRetryAfter = 24 * time.Hour
