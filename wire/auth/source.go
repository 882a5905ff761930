package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// FileToken returns a source that reads the token from a file, and reads it again when the
// file changes, as orchestrators do to rotate tokens. The error names the file.
func FileToken(path string) (TokenSource, error) {
	f := &fileToken{"auth.FileToken", reloaded[Secret]{load: func() (Secret, error) { return readToken(path) }, files: []watched{{path: path}}}}
	if _, err := f.file.current(); err != nil {
		return nil, err
	}
	return f, nil
}

type fileToken struct {
	opaque
	file reloaded[Secret]
}

func (f *fileToken) Token(context.Context) (string, error) {
	token, err := f.file.current()
	return string(token), err
}

// maxTokenBytes is the largest length of a client's token in bytes.
const maxTokenBytes = 64 << 10

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
