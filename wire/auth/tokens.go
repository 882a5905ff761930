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

// Token is a static bearer token, and who has it.
type Token struct {
	// Value is the token. It is at least [MinToken] bytes, of which eight or more differ.
	Value Secret
	// Name, Agents and Scopes become those of the [wire.Identity].
	Name   performatives.AgentID
	Agents []performatives.AgentID
	Scopes []string
}

// MinToken is the least length of a static token in bytes: 128 bits in base64. Such a
// token cannot be guessed; one that a person made up could be.
const MinToken = 22

// tokens knows bearer tokens by their hashes.
type tokens struct {
	opaque
	key [sha256.Size]byte
	by  map[[sha256.Size]byte]known
}

// known is a token's hash and its owner.
type known struct {
	sum [sha256.Size]byte
	id  wire.Identity
}

// Tokens returns an authenticator that knows these tokens. It keeps only their hashes,
// keyed anew in each process, so that how long a look-up takes says nothing of the token.
// A token with the form of a JWT is left to [JWT]. The error names the entry that is weak,
// occurs twice or has no name, by its index, and never a token.
func Tokens(list []Token) (wire.Authenticator, error) {
	t := &tokens{opaque: opaque(fmt.Sprintf("auth.Tokens(%d)", len(list))), by: make(map[[sha256.Size]byte]known, len(list))}
	_, _ = rand.Read(t.key[:]) // never fails
	for i, e := range list {
		if err := e.validate(); err != nil {
			return nil, fmt.Errorf("auth: token %d: %w", i, err)
		}
		sum := t.sum(string(e.Value))
		if _, ok := t.by[sum]; ok {
			return nil, fmt.Errorf("auth: token %d: the same token occurs before", i)
		}
		t.by[sum] = known{sum, wire.Identity{Name: e.Name, Agents: slices.Clone(e.Agents), Method: "token", Scopes: slices.Clone(e.Scopes)}}
	}
	return t, nil
}

func (t *tokens) sum(token string) [sha256.Size]byte {
	h := hmac.New(sha256.New, t.key[:])
	_, _ = h.Write([]byte(token)) // never fails
	return [sha256.Size]byte(h.Sum(nil))
}

// Authenticate looks the token up.
func (t *tokens) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if c.Token == "" || isJWT(c.Token) {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	sum := t.sum(c.Token)
	k, ok := t.by[sum]
	if !ok || !hmac.Equal(k.sum[:], sum[:]) {
		return wire.Identity{}, rejected("token", "the token is not known")
	}
	return k.id, nil
}

// validate says what is wrong with e.
func (e Token) validate() error {
	if err := e.Value.check(); err != nil {
		return err
	}
	if err := checkName(string(e.Name)); err != nil {
		return err
	}
	for _, a := range e.Agents {
		if err := checkName(string(a)); err != nil {
			return err
		}
	}
	return nil
}

// minVaried is how many different bytes a token has at least: a random one of 22
// characters practically always has twelve or more.
const minVaried = 8

// check says whether the token is fit to be one.
func (s Secret) check() error {
	switch {
	case len(s) < MinToken:
		return fmt.Errorf("the token is shorter than %d bytes: want a random one", MinToken)
	case strings.IndexFunc(string(s), notInToken) >= 0:
		return errors.New("the token has characters that a bearer token cannot have (RFC 6750 §2.1)")
	case isJWT(string(s)):
		return errors.New("the token has the form of a JWT, which would be verified as one")
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

// notInToken reports whether a bearer token cannot have c (RFC 6750 §2.1, b64token).
func notInToken(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	}
	return !strings.ContainsRune("-._~+/=", c)
}
