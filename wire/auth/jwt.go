package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/wire"
)

// JWTOptions configures [JWT]. One of KeyFile, SecretFile, Secret and JWKS.URL is required.
type JWTOptions struct {
	// KeyFile is a PEM file with a public key or a certificate.
	KeyFile string
	// SecretFile holds a shared secret of at least 32 bytes; Secret is one.
	SecretFile string
	Secret     Secret
	// JWKS is where keys are published.
	JWKS JWKSOptions

	// Algorithms are the signatures that are accepted, of HS256, HS384, HS512, RS256,
	// RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA. Empty means those
	// that go with the key; with JWKS, all but HS*.
	Algorithms []string
	// Issuer is what iss has to be, and Audience what aud has to contain. Empty means that
	// they are not looked at.
	Issuer, Audience string
	// Leeway is how far the clock of the issuer may be off. Zero means not at all.
	Leeway time.Duration
}

// maxJWT is the greatest length of a JWT in bytes.
const maxJWT = 16 << 10

type jwtAuth struct {
	opaque
	parser *jwt.Parser
	leeway time.Duration
	keys   keySource
}

// keySource finds keys.
type keySource interface {
	// find returns the key of that id that goes with the algorithm; without an id, the
	// only one that does. The error is ErrNoKey when there is none.
	find(ctx context.Context, kid, alg string) (any, error)
}

// JWT returns an authenticator that verifies JSON Web Tokens (RFC 7519), with an exp and a
// sub. The sub is the name of the [wire.Identity], the claim agents (an array) its further
// agents, scope (RFC 8693 §4.2) or scp its scopes, and exp, with the leeway, when it
// expires. Tokens of other forms it leaves to others ([wire.ErrNoCredentials]).
//
// An algorithm is accepted only with the type of key that it is made for (RFC 8725 §3.1),
// and "none" never. Claims that have the wrong type, and headers that ask for extensions
// (crit), are rejected.
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

// keys returns where the keys are, and the key itself if there is just one.
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

// oneKey is the key of all tokens, whatever they call it.
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
		return wire.Identity{}, rejected("jwt", "the token is too long")
	}
	claims := jwt.MapClaims{}
	_, err := a.parser.ParseWithClaims(c.Token, claims, func(t *jwt.Token) (any, error) { return a.key(ctx, t) })
	if err != nil {
		return wire.Identity{}, whyRejected(err)
	}
	return identityOf(claims, a.leeway)
}

// key finds the key of a token whose algorithm is allowed.
func (a *jwtAuth) key(ctx context.Context, t *jwt.Token) (any, error) {
	if _, ok := t.Header["crit"]; ok {
		return nil, rejected("jwt", "the header asks for an extension (crit)")
	}
	kid, ok := t.Header["kid"].(string)
	if _, is := t.Header["kid"]; is && !ok {
		return nil, rejected("jwt", "the kid is no string")
	}
	return a.keys.find(ctx, kid, t.Method.Alg())
}
