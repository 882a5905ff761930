package auth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// CertOptions configures [Certificates]. The zero value works.
type CertOptions struct {
	// Pattern says where a URI has the agent id, such as spiffe://example.org/ns/*/sa/{agent}.
	// The segment {agent} is the id, with all segments that follow if it is the last one of the
	// pattern. The segment * is any one segment, and each other segment is literal. Empty means
	// that any spiffe URI matches, with the agent id after its first /agent/, and that the common
	// name is the agent id of a certificate without URIs.
	Pattern string
}

type certificates struct {
	opaque
	pattern uriPattern // nil without CertOptions.Pattern
}

// Certificates returns an authenticator that takes the agent id from the client certificate
// of the TLS handshake. The identity expires with the certificate. The chain must have been
// verified: see [wire.Credentials].Certificates.
//
// A certificate with URIs of which none matches is rejected. Its common name is not used as a
// fallback, because the certificate was issued for another purpose.
func Certificates(o CertOptions) (wire.Authenticator, error) {
	var pattern uriPattern
	if o.Pattern != "" {
		var err error
		if pattern, err = parsePattern(o.Pattern); err != nil {
			return nil, fmt.Errorf("auth: CertOptions.Pattern: %w", err)
		}
	}
	return &certificates{"auth.Certificates", pattern}, nil
}

// Authenticate returns the identity in the leaf certificate.
func (a *certificates) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if len(c.Certificates) == 0 {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	leaf := c.Certificates[0]
	now := time.Now()
	if now.Before(leaf.NotBefore) || now.After(leaf.NotAfter) {
		return wire.Identity{}, rejected("certificate", "it has expired, or is not valid yet")
	}
	name, err := a.name(leaf)
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		return wire.Identity{}, &RejectedError{Method: "certificate", Reason: "it names no agent", Err: err}
	}
	return wire.Identity{Name: performatives.AgentID(name), Method: "certificate", Expires: leaf.NotAfter}, nil
}

// name returns the agent id in a certificate.
func (a *certificates) name(leaf *x509.Certificate) (string, error) {
	if a.pattern == nil && len(leaf.URIs) == 0 {
		return leaf.Subject.CommonName, nil
	}
	for _, u := range leaf.URIs {
		if name, ok := a.inURI(u.String()); ok {
			return name, nil
		}
	}
	return "", errors.New("it has no URI that matches")
}

// inURI returns the agent id in a URI.
func (a *certificates) inURI(uri string) (string, bool) {
	if a.pattern != nil {
		return a.pattern.agent(uri)
	}
	before, _, ok := strings.Cut(uri, "/agent/")
	if !ok || !strings.HasPrefix(uri, "spiffe://") {
		return "", false
	}
	return append(uriPattern(strings.Split(before, "/")), "agent", segmentAgent).agent(uri)
}
