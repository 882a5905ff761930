package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// CertField is the certificate field that holds the agent id.
type CertField uint8

// The certificate fields.
const (
	CertAuto       CertField = iota // the URI, or the common name of a certificate without URIs
	CertURI                         // the first URI that matches CertOptions.Pattern
	CertDNS                         // the first DNS name
	CertCommonName                  // the common name of the subject
)

// CertOptions configures [Certificates]. The zero value works.
type CertOptions struct {
	Field CertField
	// Pattern says where a URI has the agent id, such as spiffe://example.org/ns/*/sa/{agent}.
	// The segment {agent} is the id, with all segments that follow if it is the last one of the
	// pattern. The segment * is any one segment, and each other segment is literal. Empty means
	// that any spiffe URI matches, with the agent id after its first /agent/.
	Pattern string
	// Agents are further agent ids that every peer with a certificate may send as.
	Agents []performatives.AgentID
	// Scopes are the scopes of every peer with a certificate.
	Scopes []string
}

type certificates struct {
	opaque
	opts    CertOptions
	pattern uriPattern // nil without CertOptions.Pattern
}

// Certificates returns an authenticator that takes the agent id from the client certificate
// of the TLS handshake. The identity expires with the certificate. The chain must have been
// verified ([wire.Credentials].Certificates, see [VerifiedChain]).
//
// A certificate with URIs of which none matches is rejected. Its common name is not used as a
// fallback, because the certificate was issued for another purpose.
func Certificates(o CertOptions) (wire.Authenticator, error) {
	if o.Field > CertCommonName {
		return nil, fmt.Errorf("auth: CertOptions.Field is %d", o.Field)
	}
	var pattern uriPattern
	if o.Pattern != "" {
		var err error
		if pattern, err = parsePattern(o.Pattern); err != nil {
			return nil, fmt.Errorf("auth: CertOptions.Pattern: %w", err)
		}
	}
	if _, err := agentIDs(texts(o.Agents)); err != nil {
		return nil, fmt.Errorf("auth: CertOptions.Agents: %w", err)
	}
	return &certificates{"auth.Certificates", o, pattern}, nil
}

// VerifiedChain returns the verified chain of the peer's certificate, leaf first, or nil if
// there is none. It ignores s.PeerCertificates, which are not verified.
func VerifiedChain(s *tls.ConnectionState) []*x509.Certificate {
	if s == nil {
		return nil
	}
	return sockets.Verified(*s)
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
	return wire.Identity{
		Name: performatives.AgentID(name), Agents: a.opts.Agents, Method: "certificate", Scopes: a.opts.Scopes, Expires: leaf.NotAfter,
	}, nil
}

// name returns the agent id in the configured field.
func (a *certificates) name(leaf *x509.Certificate) (string, error) {
	switch a.opts.Field {
	case CertDNS:
		if len(leaf.DNSNames) == 0 {
			return "", errors.New("it has no DNS name")
		}
		return leaf.DNSNames[0], nil
	case CertCommonName:
		return leaf.Subject.CommonName, nil
	case CertAuto:
		if len(leaf.URIs) == 0 {
			return leaf.Subject.CommonName, nil
		}
	case CertURI:
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

func texts(ids []performatives.AgentID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}
