package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// maxSecret is the longest file with a token, a key or certificates, in bytes.
const maxSecret = 1 << 20

// authenticator returns the authenticator of the flags; nil accepts every peer.
func (c *nodeCmd) authenticator(log *slog.Logger) (wire.Authenticator, error) {
	var all []wire.Authenticator
	for _, kind := range []func(*slog.Logger) (wire.Authenticator, error){c.jwt, c.tokens, c.introspection, c.certificates} {
		one, err := kind(log)
		if err != nil {
			return nil, err
		}
		if one != nil {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // --no-auth
	}
	return auth.Any(all...), nil
}

// tokens returns the authenticator for the tokens of --tokens.
func (c *nodeCmd) tokens(log *slog.Logger) (wire.Authenticator, error) {
	if c.Tokens == "" {
		return nil, nil //nolint:nilnil // there are none
	}
	list, err := parseFile("--tokens", c.Tokens, auth.ParseTokens, "write an agent and its token a line")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, usagef("--tokens %s has no token in it; write an agent and its token a line", c.Tokens)
	}
	if w := auth.Exposed(c.Tokens); w != "" {
		log.Warn(w)
	}
	return auth.Tokens(list)
}

// jwt returns the authenticator for JSON Web Tokens, with the key of --jwt-key or --jwks-url.
func (c *nodeCmd) jwt(log *slog.Logger) (wire.Authenticator, error) {
	o := auth.JWTOptions{Algorithms: c.JWTAlg, Issuer: c.JWTIssuer, Audience: c.JWTAudience}
	flag, value := "--jwt-key", c.JWTKey
	switch {
	case c.JWKSURL != "":
		flag, value = "--jwks-url", c.JWKSURL
		o.JWKS = auth.JWKSOptions{URL: c.JWKSURL, Failed: func(err error) { log.Warn("keys not fetched", "err", err) }}
	case c.JWTKey == "":
		return nil, nil //nolint:nilnil // there is none
	default:
		text, err := readFile(flag, c.JWTKey, maxSecret)
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN ")) {
			o.KeyFile = c.JWTKey
		} else {
			o.SecretFile = c.JWTKey
		}
	}
	a, err := auth.JWT(o)
	if err != nil {
		return nil, usagef("%s %s: %s; see also --jwt-alg", flag, value, reason(err))
	}
	return a, nil
}

// introspection returns the authenticator that asks at --introspect-url.
func (c *nodeCmd) introspection(*slog.Logger) (wire.Authenticator, error) {
	if c.Introspect == "" {
		return nil, nil //nolint:nilnil // nobody is asked
	}
	if _, err := readFile("--introspect-secret-file", c.IntroSecret, maxSecret); err != nil {
		return nil, err
	}
	a, err := auth.Introspection(auth.IntrospectionOptions{URL: c.Introspect, ClientID: c.IntroClient, SecretFile: c.IntroSecret, Audience: c.IntroAud})
	if err != nil {
		return nil, usagef("--introspect-url %s: %s", c.Introspect, reason(err))
	}
	return a, nil
}

// certificates returns the authenticator for client certificates.
func (c *nodeCmd) certificates(*slog.Logger) (wire.Authenticator, error) {
	if c.ClientCA == "" {
		return nil, nil //nolint:nilnil // they show none
	}
	a, err := auth.Certificates(auth.CertOptions{Pattern: c.ClientAgent})
	if err != nil {
		return nil, usagef("--client-agent %s: %s", c.ClientAgent, strings.TrimPrefix(reason(err), "CertOptions.Pattern: "))
	}
	return a, nil
}

// authorizer returns the authorizer of --rules; nil permits all messages.
func (c *nodeCmd) authorizer() (wire.Authorizer, error) {
	rules, err := c.rules()
	if rules == nil || err != nil {
		return nil, err
	}
	return rules.Authorizer()
}

// rules returns the rules of --rules; nil without the flag.
func (c *nodeCmd) rules() (auth.Rules, error) {
	if c.Rules == "" {
		return nil, nil
	}
	return parseFile("--rules", c.Rules, auth.ParseRules, `write a JSON array such as [{"agent":"crm","allow":["Eddy"]}]`)
}

// config returns the TLS configuration of a node; nil for none. A changed certificate that cannot
// be loaded is logged.
func (c *nodeCmd) config(log *slog.Logger) (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil //nolint:nilnil // no TLS
	}
	err := readable("--tls-cert", c.TLSCert, "--tls-key", c.TLSKey, "--client-ca", c.ClientCA)
	if err != nil {
		return nil, err
	}
	of := auth.ServerTLS
	if c.Gossip != "" {
		of = auth.NodeTLS
	}
	config, err := of(auth.Files{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.ClientCA, RequireClientCert: c.RequireClientCert, Failed: seldom(func(err error) {
		log.Error("the certificate was not loaded again: the one before stays in use", "err", err)
	})})
	if err != nil {
		return nil, usagef("TLS: %s; check --tls-cert, --tls-key and --client-ca", reason(err))
	}
	if c.Gossip == "" {
		return config, nil
	}
	pair, err := config.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	if leaf := pair.Leaf; !slices.Contains(leaf.DNSNames, c.Name) || leaf.VerifyHostname(c.Name) != nil {
		return nil, usagef("--tls-cert %s is for the DNS names %q, and other nodes want the name of this one, %s, among them", c.TLSCert, leaf.DNSNames, shown(c.Name))
	}
	return config, nil
}

// readable returns an error that names the flag of a file that cannot be read. It skips
// empty names.
func readable(flagsAndNames ...string) error {
	for i := 0; i < len(flagsAndNames); i += 2 {
		if flagsAndNames[i+1] == "" {
			continue
		}
		if _, err := readFile(flagsAndNames[i], flagsAndNames[i+1], maxSecret); err != nil {
			return err
		}
	}
	return nil
}

// seldom returns a function for errors that are repeated: it passes on each that differs from the
// one before, and the same one once a minute. It is safe for concurrent use.
func seldom(say func(error)) func(error) {
	var mu sync.Mutex
	var last string
	var said time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); err.Error() != last || now.Sub(said) >= time.Minute {
			last, said = err.Error(), now
			say(err)
		}
	}
}

// reason returns an error of package auth without the name of the package.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "auth: ") }

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
