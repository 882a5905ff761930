package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// ClientCredentialsOptions configures the client credentials grant (RFC 6749 §4.4). URL,
// ClientID and one of Secret and SecretFile are required.
type ClientCredentialsOptions struct {
	// URL is the token endpoint. It must be https, or http to this host.
	URL        string
	ClientID   string
	Secret     Secret
	SecretFile string
	Scopes     []string
	// Audience is the audience parameter, which some issuers require. Empty means none.
	Audience string
	// Client sends the requests. Nil means a new client without idle connections.
	Client *http.Client
}

// The times of tokens.
const (
	renewEarly = time.Minute      // before the expiry of a token, at most half of its lifetime
	renewRetry = 5 * time.Second  // between a failed attempt and the next
	renewTime  = 10 * time.Second // for one attempt
)

// clientToken is a TokenSource for the client credentials grant. The first caller after the
// renewal time renews the token. Concurrent callers use the current token and block only if
// there is none.
type clientToken struct {
	opaque
	config clientcredentials.Config
	client *http.Client
	lock   chan struct{} // a mutex whose lock can be cancelled by a context
	state  atomic.Pointer[granted]
}

// granted is the result of the last attempts: the current token and the last error.
type granted struct {
	token   Secret
	renew   time.Time // when to renew; zero for never
	expires time.Time // zero for never
	retry   time.Time // earliest time of the next attempt
	err     error     // of the last attempt
}

// ClientCredentials returns a source of tokens from an OAuth 2.0 issuer. It requests the
// first token at the first call of Token, and renews it before it expires. It reports a
// failed attempt (see [TokenSource]) and retries after five seconds. The error names the invalid
// option.
func ClientCredentials(o ClientCredentialsOptions) (TokenSource, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("auth: ClientCredentialsOptions.URL: %w", err)
	}
	if o.ClientID == "" {
		return nil, errors.New("auth: ClientCredentialsOptions.ClientID is empty")
	}
	if o.Secret, err = clientSecret("ClientCredentialsOptions", o.Secret, o.SecretFile); err != nil {
		return nil, err
	}
	c := &clientToken{opaque: "auth.ClientCredentials", client: httpClient(o.Client), lock: make(chan struct{}, 1)}
	c.config = clientcredentials.Config{ClientID: o.ClientID, ClientSecret: string(o.Secret), TokenURL: u.String(), Scopes: slices.Clone(o.Scopes)}
	if o.Audience != "" {
		c.config.EndpointParams = map[string][]string{"audience": {o.Audience}}
	}
	c.state.Store(&granted{})
	return c, nil
}

// clientSecret returns the client secret of options: the secret itself or that in a file.
func clientSecret(options string, secret Secret, file string) (Secret, error) {
	if (secret == "") == (file == "") {
		return "", fmt.Errorf("auth: %s: want one of Secret and SecretFile", options)
	}
	if file == "" {
		return secret, nil
	}
	text, err := readSmall(file, maxTokenBytes)
	if err != nil {
		return "", err
	}
	if text = bytes.TrimRight(text, "\r\n"); len(text) == 0 {
		return "", fmt.Errorf("auth: %s is empty: want a secret", file)
	}
	return Secret(text), nil
}

// Token implements [TokenSource]. It blocks only while there is no valid token.
func (c *clientToken) Token(ctx context.Context) (string, error) {
	g := c.state.Load()
	now := time.Now()
	switch {
	case g.fresh(now):
		return string(g.token), nil
	case g.valid(now):
		if now.Before(g.retry) {
			return string(g.token), nil
		}
		select {
		case c.lock <- struct{}{}:
		default: // another caller renews it
			return string(g.token), nil
		}
	default:
		select {
		case c.lock <- struct{}{}:
		case <-ctx.Done():
			return "", fmt.Errorf("auth: no token: %w", context.Cause(ctx))
		}
	}
	defer func() { <-c.lock }()
	return c.renew(ctx)
}

// renew requests a token unless another caller just did. The caller holds the lock.
func (c *clientToken) renew(ctx context.Context) (string, error) {
	g := c.state.Load()
	now := time.Now()
	if !g.fresh(now) && !now.Before(g.retry) {
		g = c.request(ctx, g)
		if ctx.Err() == nil || g.err == nil { // a failure due to the caller's context is not the issuer's
			c.state.Store(g)
		}
	}
	if g.valid(time.Now()) {
		return string(g.token), g.err
	}
	return "", fmt.Errorf("auth: no token: %w", g.err)
}

// fresh reports whether there is a token that does not need renewal.
func (g *granted) fresh(now time.Time) bool {
	return g.token != "" && (g.renew.IsZero() || now.Before(g.renew))
}

// valid reports whether there is a token that has not expired.
func (g *granted) valid(now time.Time) bool {
	return g.token != "" && (g.expires.IsZero() || now.Before(g.expires))
}

// request requests a token.
func (c *clientToken) request(ctx context.Context, before *granted) *granted {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, c.client), renewTime)
	defer cancel()
	asked := time.Now()
	t, err := c.config.Token(ctx)
	if err != nil {
		g := *before
		g.err, g.retry = refusedBy(err), time.Now().Add(renewRetry)
		return &g
	}
	g := &granted{token: Secret(t.AccessToken), expires: t.Expiry}
	if !t.Expiry.IsZero() {
		g.renew = t.Expiry.Add(-min(renewEarly, t.Expiry.Sub(asked)/2))
	}
	return g
}

// oauthErrors are the error codes of RFC 6749 §5.2. Other codes are not included in errors,
// because they may be arbitrary text.
var oauthErrors = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// refusedBy converts an error of the oauth2 package to one without the text of the issuer's
// answer.
func refusedBy(err error) error {
	var r *oauth2.RetrieveError
	switch {
	case errors.As(err, &r) && slices.Contains(oauthErrors, r.ErrorCode):
		return fmt.Errorf("the issuer answers %s", r.ErrorCode)
	case errors.As(err, &r) && r.Response != nil:
		return fmt.Errorf("the issuer answers %d", r.Response.StatusCode)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the issuer does not answer: %w", context.DeadlineExceeded)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	var reached interface{ Timeout() bool } // an error of the network, not of the answer
	if errors.As(err, &reached) {
		return plainError(err)
	}
	return errors.New("the issuer's answer holds no token")
}
