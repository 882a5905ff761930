package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/wire"
)

type anyOf struct {
	opaque
	all []wire.Authenticator
}

// Any returns an authenticator that asks others in turn. The first that finds credentials
// of its kind decides; those that find none ([wire.ErrNoCredentials]) are passed over. What
// one has rejected, no other is asked about: a peer that shows a bad token and a good
// certificate is turned away when the tokens come first, and cannot find out by trying who
// would have known which. The kinds do not overlap: [JWT] looks at tokens with the form of
// a JWT, [Tokens] at all others and [Certificates] at certificates, so that among the first
// two the order makes no difference, and one of each kind is enough.
func Any(authenticators ...wire.Authenticator) wire.Authenticator {
	return &anyOf{opaque(fmt.Sprintf("auth.Any(%d)", len(authenticators))), append([]wire.Authenticator(nil), authenticators...)}
}

// Authenticate asks one after the other.
func (a *anyOf) Authenticate(ctx context.Context, c wire.Credentials) (wire.Identity, error) {
	for _, one := range a.all {
		id, err := one.Authenticate(ctx, c)
		if !errors.Is(err, wire.ErrNoCredentials) {
			return id, err
		}
	}
	return wire.Identity{}, wire.ErrNoCredentials
}

// maxHeader bounds the header of a token that is looked at to see if it is one.
const maxHeader = 4096

// isJWT reports whether a token has the form of a JWT: three parts, of which the first is a
// JSON object that names an algorithm (RFC 7515 §7.1).
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
	return json.Unmarshal(b, &h) == nil && h.Alg != nil
}
