package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire"
)

type anyOf struct {
	opaque
	all []wire.Authenticator
}

// Any returns an authenticator that tries others in order. An authenticator that finds no
// credentials of its type ([wire.ErrNoCredentials]) is skipped; the first other result is
// final. In particular, a rejection is final: a peer with an invalid token and a valid
// certificate is rejected when the token authenticator comes first, and cannot probe which
// authenticator would accept it. The types do not overlap: [JWT] checks tokens with the form
// of a JWT, [Tokens] all other tokens, and [Certificates] certificates. Therefore the order
// of JWT and Tokens does not matter, and one authenticator of each type is enough. Only
// [Introspection] takes every token: it comes after JWT, and does not go with Tokens.
func Any(authenticators ...wire.Authenticator) wire.Authenticator {
	return &anyOf{opaque(fmt.Sprintf("auth.Any(%d)", len(authenticators))), append([]wire.Authenticator(nil), authenticators...)}
}

// Authenticate tries the authenticators in order.
func (a *anyOf) Authenticate(ctx context.Context, c wire.Credentials) (wire.Identity, error) {
	for _, one := range a.all {
		id, err := one.Authenticate(ctx, c)
		if !errors.Is(err, wire.ErrNoCredentials) {
			return id, err
		}
	}
	return wire.Identity{}, wire.ErrNoCredentials
}

// maxHeader is the largest length in bytes of a JWT header that isJWT decodes.
const maxHeader = 4096

// isJWT reports whether token has the form of a JWT: three parts, of which the first is a
// JSON object with the member alg (RFC 7515 §7.1).
func isJWT(token string) bool {
	header, rest, ok := strings.Cut(token, ".")
	if !ok || strings.Count(rest, ".") != 1 || len(header) > maxHeader {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return false
	}
	var h struct {
		Alg *string `json:"alg"`
	}
	return jsonscan.Unmarshal(b, &h) == nil && h.Alg != nil
}
