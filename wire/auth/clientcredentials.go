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

// ClientCredentialsOptions says how a client gets a token for itself (RFC 6749 §4.4). URL,
// ClientID and one of Secret and SecretFile are required.
type ClientCredentialsOptions struct {
	// URL is the token endpoint. It is https, or on this host.
	URL string
	// Insecure allows http to other hosts: the secret then is anybody's.
	Insecure   bool
	ClientID   string
	Secret     Secret
	SecretFile string
	Scopes     []string
	// Audience is a parameter that some issuers want. Empty means none.
	Audience string
	// Early is how long before its end a token is renewed, at most half of its life. Zero
	// means 1 min.
	Early time.Duration
	// Retry is the least time between an attempt that failed and the next. Zero means 5 s.
	Retry time.Duration
	// Timeout bounds an attempt. Zero means 10 s.
	Timeout time.Duration
	// Client asks. Nil means one of its own, which keeps no connection.
	Client *http.Client
}

// clientToken is the token that an issuer gave. Whoever finds that it is to be renewed does
// it; the others go on with it, and wait only when there is none.
type clientToken struct {
	opaque
	opts   ClientCredentialsOptions
	config clientcredentials.Config
	client *http.Client
	turn   chan struct{} // a lock that can be waited for with a context
	state  atomic.Pointer[granted]
}

// granted is what the issuer said.
type granted struct {
	token   Secret
	renew   time.Time // when to ask for the next; zero for never
	expires time.Time // zero for never
	retry   time.Time // no attempt before
	err     error     // of the last attempt
}

// ClientCredentials returns a source of tokens that the client gets from an issuer: the
// first when it is asked for one, the next before that one expires. An attempt that fails is
// reported ([TokenSource]), and repeated after a while. The error names the option that is
// wrong.
func ClientCredentials(o ClientCredentialsOptions) (TokenSource, error) {
	u, err := parseURL(o.URL, o.Insecure)
	if err != nil {
		return nil, fmt.Errorf("auth: ClientCredentialsOptions.URL: %w", err)
	}
	if o.Early < 0 || o.Retry < 0 || o.Timeout < 0 {
		return nil, errors.New("auth: ClientCredentialsOptions: Early, Retry or Timeout is negative")
	}
	if o.ClientID == "" {
		return nil, errors.New("auth: ClientCredentialsOptions.ClientID is empty")
	}
	if o.Secret, err = o.secret(); err != nil {
		return nil, err
	}
	o.Early, o.Retry, o.Timeout = orElse(o.Early, time.Minute), orElse(o.Retry, 5*time.Second), orElse(o.Timeout, 10*time.Second)
	c := &clientToken{opaque: "auth.ClientCredentials", opts: o, client: httpClient(o.Client, o.Insecure), turn: make(chan struct{}, 1)}
	c.config = clientcredentials.Config{ClientID: o.ClientID, ClientSecret: string(o.Secret), TokenURL: u.String(), Scopes: slices.Clone(o.Scopes)}
	if o.Audience != "" {
		c.config.EndpointParams = map[string][]string{"audience": {o.Audience}}
	}
	c.state.Store(&granted{})
	return c, nil
}

// secret returns the client's secret.
func (o ClientCredentialsOptions) secret() (Secret, error) {
	if (o.Secret == "") == (o.SecretFile == "") {
		return "", errors.New("auth: ClientCredentialsOptions: want one of Secret and SecretFile")
	}
	if o.SecretFile == "" {
		return o.Secret, nil
	}
	text, err := readSmall(o.SecretFile, maxTokenBytes)
	if err != nil {
		return "", err
	}
	if text = bytes.TrimRight(text, "\r\n"); len(text) == 0 {
		return "", fmt.Errorf("auth: %s is empty: want a secret", o.SecretFile)
	}
	return Secret(text), nil
}

// Token implements TokenSource.
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
		case c.turn <- struct{}{}:
		default: // somebody renews it
			return string(g.token), nil
		}
	default:
		select {
		case c.turn <- struct{}{}:
		case <-ctx.Done():
			return "", fmt.Errorf("auth: no token: %w", context.Cause(ctx))
		}
	}
	defer func() { <-c.turn }()
	return c.renew(ctx)
}

// renew asks the issuer, unless somebody just did. The caller has the turn.
func (c *clientToken) renew(ctx context.Context) (string, error) {
	g := c.state.Load()
	now := time.Now()
	if !g.fresh(now) && !now.Before(g.retry) {
		g = c.ask(ctx, g)
		if ctx.Err() == nil || g.err == nil { // what the caller gave up says nothing of the issuer
			c.state.Store(g)
		}
	}
	if g.valid(time.Now()) {
		return string(g.token), g.err
	}
	return "", fmt.Errorf("auth: no token: %w", g.err)
}

// fresh reports whether there is a token that is not to be renewed yet.
func (g *granted) fresh(now time.Time) bool {
	return g.token != "" && (g.renew.IsZero() || now.Before(g.renew))
}

// valid reports whether there is a token that has not expired.
func (g *granted) valid(now time.Time) bool {
	return g.token != "" && (g.expires.IsZero() || now.Before(g.expires))
}

// ask asks for a token.
func (c *clientToken) ask(ctx context.Context, before *granted) *granted {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, c.client), c.opts.Timeout)
	defer cancel()
	asked := time.Now()
	t, err := c.config.Token(ctx)
	if err != nil {
		g := *before
		g.err, g.retry = refusedBy(err), time.Now().Add(c.opts.Retry)
		return &g
	}
	g := &granted{token: Secret(t.AccessToken), expires: t.Expiry}
	if !t.Expiry.IsZero() {
		g.renew = t.Expiry.Add(-min(c.opts.Early, t.Expiry.Sub(asked)/2))
	}
	return g
}

// oauthErrors are the codes of RFC 6749 §5.2. Others may be anything.
var oauthErrors = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// refusedBy says why there is no token, without the answer's text, which may hold anything.
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
	var reached interface{ Timeout() bool } // of the network, not of the answer
	if errors.As(err, &reached) {
		return plainError(err)
	}
	return errors.New("the issuer's answer holds no token")
}
