package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// clientToken is a TokenSource for the client credentials grant.
type clientToken struct {
	opaque
	config clientcredentials.Config
	client *http.Client
	token  *renewed[Secret]
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
	c := &clientToken{opaque: "auth.ClientCredentials", client: httpClient(o.Client)}
	c.config = clientcredentials.Config{ClientID: o.ClientID, ClientSecret: string(o.Secret), TokenURL: u.String(), Scopes: slices.Clone(o.Scopes)}
	if o.Audience != "" {
		c.config.EndpointParams = map[string][]string{"audience": {o.Audience}}
	}
	c.token = newRenewed(c.request)
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
	there := func(token Secret) bool { return token != "" }
	g, own, err := c.token.get(ctx, there)
	switch {
	case err != nil:
		return "", fmt.Errorf("auth: no token: %w", err)
	case !g.valid(there):
		return "", fmt.Errorf("auth: no token: %w", g.err)
	case own:
		return string(g.value), g.err
	}
	return string(g.value), nil
}

// request requests a token. A failure due to the caller's context is not the issuer's, and not
// kept.
func (c *clientToken) request(ctx context.Context, g attempt[Secret]) (attempt[Secret], bool) {
	within, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, c.client), renewTime)
	defer cancel()
	asked := time.Now()
	t, err := c.config.Token(within)
	if err != nil {
		g.err, g.retry = refusedBy(err), time.Now().Add(renewRetry)
		return g, ctx.Err() == nil
	}
	g = attempt[Secret]{value: Secret(t.AccessToken), expires: t.Expiry}
	if !t.Expiry.IsZero() {
		g.due = t.Expiry.Add(-min(renewEarly, t.Expiry.Sub(asked)/2))
	}
	return g, true
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
