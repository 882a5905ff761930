package auth

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxClaimed is the largest number of agents or scopes in a token.
const maxClaimed = 1024

// The names of the methods that have claims.
const (
	methodJWT           = "jwt"
	methodIntrospection = "introspection"
)

// identityOf converts verified claims to an identity by a method.
func identityOf(method string, claims jwt.MapClaims, leeway time.Duration) (wire.Identity, error) {
	sub, err := claims.GetSubject()
	if err != nil || checkName(sub) != nil {
		return wire.Identity{}, rejected(method, "the sub is not a valid agent id")
	}
	agents, err := stringsOf[performatives.AgentID](claims["agents"])
	if err != nil {
		return wire.Identity{}, rejected(method, "the claim agents is not an array of strings")
	}
	if err := checkIDs(agents...); err != nil {
		return wire.Identity{}, rejected(method, "the claim agents has an entry that is not a valid agent id")
	}
	scopes, err := scopesOf(claims)
	if err != nil {
		return wire.Identity{}, rejected(method, "the claim scope or scp is neither a string nor an array of strings")
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil {
		return wire.Identity{}, rejected(method, "the exp is not a time")
	}
	return wire.Identity{Name: performatives.AgentID(sub), Agents: agents, Method: method, Scopes: scopes, Expires: exp.Add(leeway)}, nil
}

// scopesOf returns the scopes in the claim scope, a space-separated text (RFC 8693 §4.2), or
// in scp, which some issuers use instead, as a text or an array.
func scopesOf(claims jwt.MapClaims) ([]string, error) {
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case nil:
		case string:
			return strings.Fields(v), nil
		default:
			return stringsOf[string](v)
		}
	}
	return nil, nil
}

// stringsOf converts a claim to a list of strings. A missing claim gives an empty list.
func stringsOf[T ~string](claim any) ([]T, error) {
	if claim == nil {
		return nil, nil
	}
	list, ok := claim.([]any)
	if !ok || len(list) > maxClaimed {
		return nil, errors.New("no array, or too long")
	}
	texts := make([]T, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("no string")
		}
		texts = append(texts, T(s))
	}
	return texts, nil
}

// reasons maps the parser's errors to texts without any part of the token. The first match
// counts.
var reasons = []struct {
	err  error
	text string
}{
	{jwt.ErrTokenMalformed, "the token is malformed"},
	{jwt.ErrTokenSignatureInvalid, "the signature is invalid, or its algorithm is not allowed"},
	{jwt.ErrTokenExpired, "the token has expired"},
	{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "the token was issued in the future"},
	{jwt.ErrTokenInvalidIssuer, "the token is of another issuer"},
	{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
	{jwt.ErrInvalidType, "a claim has the wrong type"},
}

// missing names the claim that a token lacks. The parser's errors have the name only in their text.
func missing(err error) string {
	for _, name := range []string{"exp", "iss", "aud"} {
		if strings.Contains(err.Error(), name+" claim is required") {
			return "the claim " + name + " is missing"
		}
	}
	return "a claim is missing"
}

// whyRejected converts a parser's error, which may contain parts of the token, to a
// [RejectedError].
func whyRejected(err error) error {
	var known *RejectedError
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, ErrNoKey) {
		return &RejectedError{Method: methodJWT, Reason: "the token cannot be verified", Err: ErrNoKey}
	}
	if errors.Is(err, jwt.ErrTokenRequiredClaimMissing) {
		return rejected(methodJWT, missing(err))
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return rejected(methodJWT, r.text)
		}
	}
	return rejected(methodJWT, "the token cannot be verified")
}
