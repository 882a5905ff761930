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
	CertURI                         // the first URI that matches CertOptions.Prefix
	CertDNS                         // the first DNS name
	CertCommonName                  // the common name of the subject
)

// CertOptions configures [Certificates]. The zero value works.
type CertOptions struct {
	Field CertField
	// Prefix is the part of a URI before the agent id, such as spiffe://example.org/agent/.
	// Empty means that any spiffe URI matches, with the agent id after its first /agent/.
	Prefix string
	// Agents are further agent ids that every peer with a certificate may send as.
	Agents []performatives.AgentID
	// Scopes are the scopes of every peer with a certificate.
	Scopes []string
}

type certificates struct {
	opaque
	opts CertOptions
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
	if o.Prefix != "" && !strings.HasSuffix(o.Prefix, "/") {
		return nil, errors.New("auth: CertOptions.Prefix does not end with /: the name would be part of a longer one")
	}
	if _, err := agentIDs(texts(o.Agents)); err != nil {
		return nil, fmt.Errorf("auth: CertOptions.Agents: %w", err)
	}
	return &certificates{"auth.Certificates", o}, nil
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
		if name, ok := a.below(u.String()); ok {
			return name, nil
		}
	}
	return "", errors.New("it has no URI that matches")
}

// below returns the part of a URI after the prefix. It refuses paths with percent-encoding
// (SPIFFE-ID §2.2), because two encodings could denote the same agent id.
func (a *certificates) below(uri string) (string, bool) {
	name, ok := strings.CutPrefix(uri, a.opts.Prefix)
	if a.opts.Prefix == "" {
		if _, name, ok = strings.Cut(uri, "/agent/"); ok {
			ok = strings.HasPrefix(uri, "spiffe://")
		}
	}
	if !ok || strings.ContainsAny(name, "%?#") {
		return "", false
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", false
		}
	}
	return name, true
}

func texts(ids []performatives.AgentID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}
