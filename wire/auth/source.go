package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// TokenSource has the token of a client.
type TokenSource interface {
	// Token returns the token, without the word Bearer. One that could not be renewed
	// comes with an error that says why, and can be used as long as it lasts; after that
	// there is the error alone. The first call after each attempt to renew it reports it.
	Token(ctx context.Context) (string, error)
}

// Func returns what [wire.Options].Token wants: the token of source, or nothing when there
// is none. failed is told each error; it must not block. Nil is for those who do not want
// to know. ctx is that of the requests for tokens: it ends with the client. A session writes
// nothing while source waits for a token.
func Func(ctx context.Context, source TokenSource, failed func(error)) func() string {
	return func() string {
		token, err := source.Token(ctx)
		if err != nil && failed != nil {
			failed(err)
		}
		return token
	}
}

// StaticToken returns a source of one token.
func StaticToken(token Secret) TokenSource { return staticToken{"auth.StaticToken", token} }

type staticToken struct {
	opaque
	token Secret
}

func (s staticToken) Token(context.Context) (string, error) { return string(s.token), nil }

// FileToken returns a source of the token in a file, which is read again when it changes,
// as the tokens of an orchestrator do. The error names the file.
func FileToken(path string) (TokenSource, error) {
	f := &fileToken{opaque: "auth.FileToken", file: watched{path: path}}
	if _, err := f.Token(context.Background()); err != nil { //nolint:forbidigo // reads a file: nothing to end
		return nil, err
	}
	return f, nil
}

type fileToken struct {
	opaque
	mu     sync.Mutex
	file   watched
	token  Secret
	looked time.Time
	stale  bool // the file has changed, and could not be read yet
}

// maxTokenBytes is the greatest length of a token of a client in bytes.
const maxTokenBytes = 64 << 10

func (f *fileToken) Token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if now := time.Now(); f.looked.IsZero() || now.Sub(f.looked) >= recheck {
		f.looked = now
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

// readToken reads a file that holds a token and nothing else.
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
