package main

import (
	"context"

	"github.com/ribosome-agents/ribosome/wire/auth"
)

// oauthFlags has the token endpoint and the credentials for it (RFC 6749 §4.4).
type oauthFlags struct {
	OAuthURL        string   `name:"oauth-url" placeholder:"URL" help:"Token endpoint to get the bearer token from, as a client by itself"`
	OAuthClient     string   `name:"oauth-client" placeholder:"ID" help:"Client id at the token endpoint"`
	OAuthSecretFile string   `name:"oauth-secret-file" placeholder:"FILE" help:"File with the client secret"`
	OAuthScope      []string `name:"oauth-scope" placeholder:"SCOPE" help:"Scope to ask for; may be repeated"`
	OAuthAudience   string   `name:"oauth-audience" placeholder:"AUDIENCE" help:"Audience to ask for, where the endpoint wants one"`
}

// source returns the source of tokens of the flags; nil for none.
func (f *oauthFlags) source() (auth.TokenSource, error) {
	switch {
	case f.OAuthURL == "" && f.OAuthClient == "" && f.OAuthSecretFile == "":
		return nil, nil //nolint:nilnil // without one
	case f.OAuthURL == "" || f.OAuthClient == "" || f.OAuthSecretFile == "":
		return nil, usagef("--oauth-url, --oauth-client and --oauth-secret-file belong together; give all three")
	}
	if err := readable("--oauth-secret-file", f.OAuthSecretFile); err != nil {
		return nil, err
	}
	source, err := auth.ClientCredentials(auth.ClientCredentialsOptions{
		URL: f.OAuthURL, ClientID: f.OAuthClient, SecretFile: f.OAuthSecretFile, Scopes: f.OAuthScope, Audience: f.OAuthAudience,
	})
	if err != nil {
		return nil, usagef("--oauth-url: %v; check the flags that begin with --oauth", err)
	}
	return source, nil
}

// firstToken gets a token before the first message, so that a missing token has a clear
// error.
func firstToken(ctx context.Context, source auth.TokenSource) error {
	if source == nil {
		return nil
	}
	token, err := source.Token(ctx)
	if token != "" || err == nil {
		return nil
	}
	return failf("%s; check the flags that begin with --oauth", oneLine(reason(err)))
}
