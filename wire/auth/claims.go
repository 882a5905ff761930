package auth

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// maxClaimed is how many agents or scopes a token can name.
const maxClaimed = 1024

// identityOf makes an identity of claims that are verified.
func identityOf(claims jwt.MapClaims, leeway time.Duration) (wire.Identity, error) {
	sub, err := claims.GetSubject()
	if err != nil || checkName(sub) != nil {
		return wire.Identity{}, rejected("jwt", "the sub is not the name of an agent")
	}
	agents, err := stringsOf(claims["agents"])
	if err != nil {
		return wire.Identity{}, rejected("jwt", "the claim agents is no array of strings")
	}
	ids, err := agentIDs(agents)
	if err != nil {
		return wire.Identity{}, rejected("jwt", "the claim agents has what is not the name of an agent")
	}
	scopes, err := scopesOf(claims)
	if err != nil {
		return wire.Identity{}, rejected("jwt", "the claim scope or scp is neither a string nor an array of strings")
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil {
		return wire.Identity{}, rejected("jwt", "the exp is no time")
	}
	return wire.Identity{Name: performatives.AgentID(sub), Agents: ids, Method: "jwt", Scopes: scopes, Expires: exp.Add(leeway)}, nil
}

// scopesOf returns the scopes of scope, a text with spaces between them (RFC 8693 §4.2), or
// of scp, which some issuers write instead, as a text or an array.
func scopesOf(claims jwt.MapClaims) ([]string, error) {
	for _, name := range []string{"scope", "scp"} {
		switch v := claims[name].(type) {
		case nil:
		case string:
			return strings.Fields(v), nil
		default:
			return stringsOf(v)
		}
	}
	return nil, nil
}

// stringsOf returns an array of strings; nothing for none.
func stringsOf(claim any) ([]string, error) {
	if claim == nil {
		return nil, nil
	}
	list, ok := claim.([]any)
	if !ok || len(list) > maxClaimed {
		return nil, errors.New("no array, or too long")
	}
	texts := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, errors.New("no string")
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// reasons are what can be wrong with a token, in words that hold nothing of it. The first
// that fits counts.
var reasons = []struct {
	err  error
	text string
}{
	{jwt.ErrTokenMalformed, "the token is malformed"},
	{jwt.ErrTokenSignatureInvalid, "the signature does not fit, or its algorithm is not allowed"},
	{jwt.ErrTokenRequiredClaimMissing, "a claim is missing"},
	{jwt.ErrTokenExpired, "the token has expired"},
	{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "the token was issued in the future"},
	{jwt.ErrTokenInvalidIssuer, "the token is of another issuer"},
	{jwt.ErrTokenInvalidAudience, "the token is for another audience"},
	{jwt.ErrInvalidType, "a claim has the wrong type"},
}

// whyRejected puts the parser's error, which may hold parts of the token, in words of ours.
func whyRejected(err error) error {
	var known *RejectedError
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, ErrNoKey) {
		return &RejectedError{Method: "jwt", Reason: "the token cannot be verified", Err: ErrNoKey}
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return rejected("jwt", r.text)
		}
	}
	return rejected("jwt", "the token cannot be verified")
}
