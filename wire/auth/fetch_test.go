package auth

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

// answerer answers each request in the same way, and notes whether the body has been closed.
type answerer struct {
	status int
	body   io.Reader
	err    error
	closed bool
}

func (a *answerer) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.status, Body: a}, nil
}

func (a *answerer) Read(b []byte) (int, error) { return a.body.Read(b) }

func (a *answerer) Close() error { a.closed = true; return nil }

// An answer is read up to its limit. An error has no part of the URL, which may have a secret.
func TestBodyOf(t *testing.T) {
	broken := errors.New("the wire is cut")
	for _, tt := range []struct {
		answerer
		want, err string
	}{
		{answerer{status: 200, body: strings.NewReader("abc")}, "abc", ""},
		{answerer{status: 200, body: strings.NewReader("abcd")}, "", "the answer is longer than 3 bytes"},
		{answerer{status: 404, body: strings.NewReader("abc")}, "", "the answer is 404"},
		{answerer{status: 200, body: iotest.ErrReader(broken)}, "", "the wire is cut"},
		{answerer{status: 200, body: iotest.ErrReader(&url.Error{Op: "Get", URL: "https://secret", Err: broken})}, "", "the wire is cut"},
		{answerer{err: broken, closed: true}, "", "the wire is cut"},
	} {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://secret", http.NoBody))
		b, err := bodyOf(&http.Client{Transport: &tt.answerer}, r, 3)
		if string(b) != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err || !tt.closed {
			t.Errorf("%q, %v, closed: %t, want %q, %s", b, err, tt.closed, tt.want, tt.err)
		}
	}
}
