package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire"
)

// JWTOptions configures [JWT]. One of KeyFile, SecretFile, Secret and JWKS.URL is required.
type JWTOptions struct {
	// KeyFile is a PEM file with a public key or a certificate.
	KeyFile string
	// SecretFile is a file with a shared secret of at least 32 bytes. Secret is the shared
	// secret itself.
	SecretFile string
	Secret     Secret
	// JWKS is a published key set.
	JWKS JWKSOptions

	// Algorithms are the accepted signature algorithms, of HS256, HS384, HS512, RS256, RS384,
	// RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA. Empty means all that accept
	// the key; with JWKS, all except HS*.
	Algorithms []string
	// Issuer is the required value of iss, and Audience a required entry of aud. Empty means
	// that the claim is not checked.
	Issuer, Audience string
	// Leeway is the tolerated clock difference to the issuer. Zero means none.
	Leeway time.Duration
}

// maxJWT is the largest length of a JWT in bytes.
const maxJWT = 16 << 10

type jwtAuth struct {
	opaque
	parser *jwt.Parser
	leeway time.Duration
	keys   keySource
}

// keySource finds the keys of tokens.
type keySource interface {
	// find returns the key with the id kid that alg accepts; without an id, the only key that
	// alg accepts. It returns ErrNoKey if there is none.
	find(ctx context.Context, kid, alg string) (any, error)
}

// JWT returns an authenticator that verifies JSON Web Tokens (RFC 7519). A token must have
// exp and sub. The [wire.Identity] has the name sub, the further agents of the claim agents
// (an array), the scopes of scope (RFC 8693 §4.2) or scp, and expires at exp plus the leeway.
// For tokens without the form of a JWT it returns [wire.ErrNoCredentials].
//
// An algorithm is accepted only with its type of key (RFC 8725 §3.1), and "none" is never
// accepted. Claims of the wrong type and headers with extensions (crit) are rejected.
func JWT(o JWTOptions) (wire.Authenticator, error) {
	keys, key, err := o.keys()
	if err != nil {
		return nil, err
	}
	if o.Leeway < 0 {
		return nil, fmt.Errorf("auth: JWTOptions.Leeway is %v", o.Leeway)
	}
	names, err := allowed(o.Algorithms, key)
	if err != nil {
		return nil, err
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(names), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithStrictDecoding(), jwt.WithLeeway(o.Leeway),
	}
	if o.Issuer != "" {
		options = append(options, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		options = append(options, jwt.WithAudience(o.Audience))
	}
	return &jwtAuth{"auth.JWT", jwt.NewParser(options...), o.Leeway, keys}, nil
}

// keys returns the source of keys, and the key itself if there is only one.
func (o JWTOptions) keys() (keySource, any, error) {
	n := 0
	for _, s := range []string{o.KeyFile, o.SecretFile, string(o.Secret), o.JWKS.URL} {
		if s != "" {
			n++
		}
	}
	if n != 1 {
		return nil, nil, errors.New("auth: JWTOptions: want one of KeyFile, SecretFile, Secret and JWKS.URL")
	}
	if o.JWKS.URL != "" {
		keys, err := newKeySet(o.JWKS)
		return keys, nil, err
	}
	key, err := o.key()
	return oneKey{key}, key, err
}

func (o JWTOptions) key() (any, error) {
	switch {
	case o.KeyFile != "":
		return loadPublicKey(o.KeyFile)
	case o.SecretFile != "":
		return loadSecret(o.SecretFile)
	case len(o.Secret) < minSecret:
		return nil, fmt.Errorf("auth: JWTOptions.Secret: a shared secret has at least %d bytes", minSecret)
	}
	return []byte(o.Secret), nil
}

// oneKey is a keySource with one key, which ignores key ids.
type oneKey struct{ key any }

func (k oneKey) find(_ context.Context, _, alg string) (any, error) {
	if !fits(alg, k.key) {
		return nil, ErrNoKey
	}
	return k.key, nil
}

// Authenticate verifies the token.
func (a *jwtAuth) Authenticate(ctx context.Context, c wire.Credentials) (wire.Identity, error) {
	switch {
	case !isJWT(c.Token):
		return wire.Identity{}, wire.ErrNoCredentials
	case len(c.Token) > maxJWT:
		return wire.Identity{}, rejected(methodJWT, "the token is too long")
	}
	claims := jwt.MapClaims{}
	_, err := a.parser.ParseWithClaims(c.Token, claims, func(t *jwt.Token) (any, error) { return a.key(ctx, t) })
	if err != nil {
		return wire.Identity{}, whyRejected(err)
	}
	if text, err := base64.RawURLEncoding.DecodeString(strings.Split(c.Token, ".")[1]); err != nil || jsonscan.Unmarshal(text, new(map[string]any)) != nil {
		return wire.Identity{}, rejected(methodJWT, "a claim occurs twice")
	}
	return identityOf(methodJWT, claims, a.leeway)
}

// key returns the key for a token whose algorithm is allowed.
func (a *jwtAuth) key(ctx context.Context, t *jwt.Token) (any, error) {
	if _, ok := t.Header["crit"]; ok {
		return nil, rejected(methodJWT, "the header asks for an extension (crit)")
	}
	kid, ok := t.Header["kid"].(string)
	if _, is := t.Header["kid"]; is && !ok {
		return nil, rejected(methodJWT, "the kid is not a string")
	}
	return a.keys.find(ctx, kid, t.Method.Alg())
}
