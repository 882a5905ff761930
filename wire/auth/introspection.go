package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire"
)

// IntrospectionOptions configures [Introspection]. URL, ClientID and one of Secret and SecretFile
// are required.
type IntrospectionOptions struct {
	// URL is the introspection endpoint. It must be https, or http to this host. Redirects are
	// not followed, because a token is sent.
	URL string
	// ClientID and the secret authenticate this end at the endpoint, by HTTP Basic (RFC 6749
	// §2.3.1).
	ClientID   string
	Secret     Secret
	SecretFile string

	// Issuer is the required value of iss, and Audience a required entry of aud. Empty means
	// that the member is not checked.
	Issuer, Audience string
	// CacheTime is how long an answer is used again, at most until exp. A token that is revoked
	// is accepted for as long. Zero means 30 s.
	CacheTime time.Duration
	// MaxCached bounds the number of answers that are kept. Zero means 4096.
	MaxCached int
	// Lifetime is how long an identity lasts whose token has no exp. Zero means 1 h.
	Lifetime time.Duration
	// Client sends the questions. Nil means a new client without idle connections.
	Client *http.Client
}

const (
	maxIntrospected = 1 << 20 // bytes of an answer
	maxQuestions    = 16      // that are under way at a time
)

// introspection asks an endpoint about tokens. The first caller with a token asks; callers with the
// same token wait for its answer.
type introspection struct {
	opaque
	opts      IntrospectionOptions
	url       *url.URL
	client    *http.Client
	questions chan struct{} // holds one value for each request under way

	mu    sync.Mutex
	known map[[sha256.Size]byte]*introspected
}

// introspected is the answer about one token. The fields besides done are valid once that is
// closed.
type introspected struct {
	done  chan struct{}
	id    wire.Identity
	err   error
	until time.Time // when to ask again
}

// Introspection returns an authenticator that asks an OAuth 2.0 issuer about tokens that it has
// issued (RFC 7662). An answer must be active and have sub, or else client_id. The [wire.Identity]
// has the name sub or client_id, the further agents of the member agents (an array), the scopes of
// scope, and expires at exp.
//
// An answer is kept for CacheTime at most, under the SHA-256 of its token. An identity is not asked
// about again while its session lasts.
//
// Introspection checks all tokens, so that it comes last in [Any], after [JWT] if the node verifies
// the issuer's JWTs itself. [Tokens] rejects each token that it does not have, so that the two do
// not go together. The error names the invalid option.
func Introspection(o IntrospectionOptions) (wire.Authenticator, error) {
	u, err := parseURL(o.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("auth: IntrospectionOptions.URL: %w", err)
	case o.ClientID == "":
		return nil, errors.New("auth: IntrospectionOptions.ClientID is empty")
	case o.CacheTime < 0 || o.Lifetime < 0 || o.MaxCached < 0:
		return nil, errors.New("auth: IntrospectionOptions: CacheTime, MaxCached or Lifetime is negative")
	}
	if o.Secret, err = clientSecret("IntrospectionOptions", o.Secret, o.SecretFile); err != nil {
		return nil, err
	}
	o.CacheTime, o.MaxCached, o.Lifetime = cmp.Or(o.CacheTime, 30*time.Second), cmp.Or(o.MaxCached, 4096), cmp.Or(o.Lifetime, time.Hour)
	client := httpClient(o.Client)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &introspection{
		opaque: "auth.Introspection", opts: o, url: u, client: client,
		questions: make(chan struct{}, maxQuestions), known: make(map[[sha256.Size]byte]*introspected),
	}, nil
}

// Authenticate asks about the token, unless the answer is known.
func (a *introspection) Authenticate(ctx context.Context, c wire.Credentials) (wire.Identity, error) {
	switch {
	case c.Token == "":
		return wire.Identity{}, wire.ErrNoCredentials
	case len(c.Token) > maxJWT:
		return wire.Identity{}, rejected(methodIntrospection, "the token is too long")
	}
	sum := sha256.Sum256([]byte(c.Token))
	answer, mine := a.find(sum)
	if mine {
		a.answer(ctx, answer, c.Token)
		return answer.id, answer.err
	}
	select {
	case <-answer.done:
	case <-ctx.Done():
		return wire.Identity{}, a.failed("the connection ended before the issuer answered", wire.ErrClosed)
	}
	return answer.id, answer.err
}

// find returns the answer about a token, and whether the caller has to ask for it.
func (a *introspection) find(sum [sha256.Size]byte) (answer *introspected, ask bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if answer = a.known[sum]; answer != nil && !answer.stale(now) {
		return answer, false
	}
	if len(a.known) >= a.opts.MaxCached {
		a.makeRoomLocked(now)
	}
	answer = &introspected{done: make(chan struct{})}
	a.known[sum] = answer
	return answer, true
}

// stale reports whether the answer has come and is too old.
func (i *introspected) stale(now time.Time) bool {
	select {
	case <-i.done:
		return !now.Before(i.until)
	default:
		return false
	}
}

// makeRoomLocked drops the answers that are too old and, if they are too few, any others, which are
// then asked for again. A caller that waits for a dropped answer still gets it.
func (a *introspection) makeRoomLocked(now time.Time) {
	for sum, answer := range a.known {
		if answer.stale(now) {
			delete(a.known, sum)
		}
	}
	for sum := range a.known {
		if len(a.known) < a.opts.MaxCached {
			return
		}
		delete(a.known, sum)
	}
}

// answer asks about a token and notes the answer. A failure is not kept. The question goes on when
// ctx ends, because others may wait for the answer.
func (a *introspection) answer(ctx context.Context, to *introspected, token string) {
	defer close(to.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	select {
	case a.questions <- struct{}{}:
		defer func() { <-a.questions }()
	case <-ctx.Done():
		to.err = a.failed("too many questions are under way", ctx.Err())
		return
	}
	claims, err := a.ask(ctx, token)
	if err != nil {
		to.err = a.failed("the issuer could not be asked", err)
		return
	}
	now := time.Now()
	to.until = now.Add(a.opts.CacheTime)
	if to.id, to.err = a.identity(claims, now); to.err == nil && to.id.Expires.Before(to.until) {
		to.until = to.id.Expires
	}
}

// failed returns the error of a failure of this end or of the issuer.
func (a *introspection) failed(reason string, err error) error {
	return &RejectedError{Method: methodIntrospection, Reason: reason, Err: err, internal: true}
}

// ask sends the question (RFC 7662 §2.1).
func (a *introspection) ask(ctx context.Context, token string) (jwt.MapClaims, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, plainError(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth(url.QueryEscape(a.opts.ClientID), url.QueryEscape(string(a.opts.Secret)))
	text, err := bodyOf(a.client, r, maxIntrospected)
	if err != nil {
		return nil, err
	}
	var claims jwt.MapClaims
	if jsonscan.Unmarshal(text, &claims) != nil || claims == nil {
		return nil, errors.New("the answer is not a JSON object")
	}
	if _, ok := claims["active"].(bool); !ok {
		return nil, errors.New("the answer does not say whether the token is active")
	}
	return claims, nil
}

// identity returns the identity of an answer (RFC 7662 §2.2).
func (a *introspection) identity(claims jwt.MapClaims, now time.Time) (wire.Identity, error) {
	if active, _ := claims["active"].(bool); !active {
		return wire.Identity{}, rejected(methodIntrospection, "the token is not active")
	}
	if iss, err := claims.GetIssuer(); a.opts.Issuer != "" && (err != nil || iss != a.opts.Issuer) {
		return wire.Identity{}, rejected(methodIntrospection, "the token is of another issuer")
	}
	if aud, err := claims.GetAudience(); a.opts.Audience != "" && (err != nil || !slices.Contains(aud, a.opts.Audience)) {
		return wire.Identity{}, rejected(methodIntrospection, "the token is for another audience")
	}
	if claims["sub"] == nil {
		claims["sub"] = claims["client_id"]
	}
	if claims["exp"] == nil {
		claims["exp"] = float64(now.Add(a.opts.Lifetime).Unix())
	}
	id, err := identityOf(methodIntrospection, claims, 0)
	if err == nil && !id.Expires.After(now) {
		return wire.Identity{}, rejected(methodIntrospection, "the token has expired")
	}
	return id, err
}
