package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Token is a static bearer token and its identity.
type Token struct {
	// Value is the token. It has at least [MinToken] bytes, of which at least eight differ.
	Value Secret
	// Name, Agents and Scopes are those of the [wire.Identity].
	Name   performatives.AgentID
	Agents []performatives.AgentID
	Scopes []string
}

// MinToken is the smallest length of a static token in bytes: 128 random bits in base64,
// which cannot be guessed.
const MinToken = 22

// tokens is an authenticator that stores bearer tokens by their hashes.
type tokens struct {
	opaque
	key    [sha256.Size]byte
	byHash map[[sha256.Size]byte]wire.Identity
}

// Tokens returns an authenticator for a list of tokens. It stores only their hashes with a
// random key per process, so that the time of a lookup reveals nothing about a token. For a
// token with the form of a JWT it returns [wire.ErrNoCredentials]. The error names an invalid
// or duplicate entry by its index and never contains a token.
func Tokens(list []Token) (wire.Authenticator, error) {
	t := &tokens{opaque: opaque(fmt.Sprintf("auth.Tokens(%d)", len(list))), byHash: make(map[[sha256.Size]byte]wire.Identity, len(list))}
	_, _ = rand.Read(t.key[:]) // never fails
	for i, e := range list {
		if err := e.validate(); err != nil {
			return nil, fmt.Errorf("auth: token %d: %w", i, err)
		}
		sum := t.sum(string(e.Value))
		if _, ok := t.byHash[sum]; ok {
			return nil, fmt.Errorf("auth: token %d: the token occurs twice", i)
		}
		t.byHash[sum] = wire.Identity{Name: e.Name, Agents: slices.Clone(e.Agents), Method: "token", Scopes: slices.Clone(e.Scopes)}
	}
	return t, nil
}

func (t *tokens) sum(token string) [sha256.Size]byte {
	h := hmac.New(sha256.New, t.key[:])
	_, _ = h.Write([]byte(token)) // never fails
	return [sha256.Size]byte(h.Sum(nil))
}

// Authenticate looks up the token.
func (t *tokens) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if c.Token == "" || isJWT(c.Token) {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	id, ok := t.byHash[t.sum(c.Token)]
	if !ok {
		return wire.Identity{}, rejected("token", "the token is not known")
	}
	return id, nil
}

// validate returns an error if the token or an agent id is invalid.
func (e Token) validate() error {
	if err := e.Value.check(); err != nil {
		return err
	}
	return checkIDs(append([]performatives.AgentID{e.Name}, e.Agents...)...)
}

// minVaried is the smallest number of different bytes in a token. A random token of 22
// characters almost always has at least twelve.
const minVaried = 8

// check returns an error if s is not valid as a static token.
func (s Secret) check() error {
	switch {
	case len(s) < MinToken:
		return fmt.Errorf("the token is shorter than %d bytes: want a random one", MinToken)
	case strings.IndexFunc(string(s), notInToken) >= 0:
		return errors.New("the token has characters that a bearer token cannot have (RFC 6750 §2.1)")
	case isJWT(string(s)):
		return errors.New("the token has the form of a JWT and would be verified as one")
	}
	var seen [256]bool
	varied := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]], varied = true, varied+1
		}
	}
	if varied < minVaried {
		return fmt.Errorf("the token has fewer than %d different characters: want a random one", minVaried)
	}
	return nil
}

// notInToken reports whether c is not allowed in a bearer token (RFC 6750 §2.1, b64token).
func notInToken(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", c)
}
