package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// TokenSource provides the bearer token of a client.
type TokenSource interface {
	// Token returns the token without the word Bearer. If a renewal failed, Token returns the
	// old token and the error until the token expires, afterwards only the error. Each failed
	// attempt is reported by one call.
	Token(ctx context.Context) (string, error)
}

// Func returns a function for [wire.Options].Token, which returns source's token, or an empty
// string if there is none. It calls failed with each error; failed must not block, and nil
// discards the errors. ctx is passed to source and should end with the client. The session
// writes nothing while source blocks.
func Func(ctx context.Context, source TokenSource, failed func(error)) func() string {
	return func() string {
		token, err := source.Token(ctx)
		if err != nil && failed != nil {
			failed(err)
		}
		return token
	}
}

// StaticToken returns a source with a constant token.
func StaticToken(token Secret) TokenSource { return staticToken{"auth.StaticToken", token} }

type staticToken struct {
	opaque
	token Secret
}

func (s staticToken) Token(context.Context) (string, error) { return string(s.token), nil }

// FileToken returns a source that reads the token from a file, and reads it again when the
// file changes, as orchestrators do to rotate tokens. The error names the file.
func FileToken(path string) (TokenSource, error) {
	f := &fileToken{opaque: "auth.FileToken", file: watched{path: path}}
	if _, err := f.Token(context.Background()); err != nil { //nolint:forbidigo // reads a local file
		return nil, err
	}
	return f, nil
}

type fileToken struct {
	opaque
	mu      sync.Mutex
	file    watched
	token   Secret
	checked time.Time
	stale   bool // the file has changed and could not be read yet
}

// maxTokenBytes is the largest length of a client's token in bytes.
const maxTokenBytes = 64 << 10

func (f *fileToken) Token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if now := time.Now(); f.checked.IsZero() || now.Sub(f.checked) >= recheck {
		f.checked = now
		err = f.reload()
	}
	return string(f.token), err
}

func (f *fileToken) reload() error {
	changed, err := f.file.changed()
	if err != nil {
		f.stale = true
		return err
	}
	if !changed && !f.stale {
		return nil
	}
	f.stale = true
	token, err := readToken(f.file.path)
	if err != nil {
		return err
	}
	f.token, f.stale = token, false
	return nil
}

// readToken reads a file that contains only a token.
func readToken(path string) (Secret, error) {
	text, err := readSmall(path, maxTokenBytes)
	if err != nil {
		return "", err
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return "", fmt.Errorf("auth: %s is empty: want a token", path)
	case bytes.ContainsFunc(text, notInToken):
		return "", fmt.Errorf("auth: %s: %w", path, errNotOneToken)
	}
	return Secret(text), nil
}

var errNotOneToken = errors.New("want one token and nothing else")
