package sockets

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// strongSuites are the TLS 1.2 cipher suites with forward secrecy and authenticated
// encryption (wire specification, TLS Requirements: strong cipher suites only). All TLS 1.3
// suites are strong, and crypto/tls does not allow a choice.
var strongSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Harden returns a copy of c with at least TLS 1.2 and only strong cipher suites. If c allows
// only weak ones, the copy allows none. The protocols, if there are any, are those that it
// negotiates.
func Harden(c *tls.Config, protocols ...string) *tls.Config {
	c = c.Clone()
	if len(protocols) > 0 {
		c.NextProtos = protocols
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	if len(c.CipherSuites) == 0 {
		c.CipherSuites = strongSuites
	} else {
		c.CipherSuites = slices.DeleteFunc(slices.Clone(c.CipherSuites), weak)
	}
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			chosen, err := choose(hello)
			if chosen == nil || err != nil {
				return nil, err
			}
			return Harden(chosen, protocols...), nil
		}
	}
	return c
}

// HasCertificate reports whether c has a certificate for a server.
func HasCertificate(c *tls.Config) bool {
	return len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil
}

func weak(suite uint16) bool { return !slices.Contains(strongSuites, suite) }

// Verified returns the verified chain of the peer's certificate, leaf first, or nil if there
// is none.
func Verified(state tls.ConnectionState) []*x509.Certificate {
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.VerifiedChains[0]
}
