package sockets

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// strongSuites are the ciphers of TLS 1.2 with forward secrecy and authenticated
// encryption (wire, TLS Requirements: strong cipher suites only). Those of TLS 1.3 are
// all strong and cannot be chosen.
var strongSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// Harden returns a copy of c that allows TLS 1.2 at least and strong ciphers only. One
// that allows nothing else as it is allows nothing then.
func Harden(c *tls.Config) *tls.Config {
	c = c.Clone()
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
			return Harden(chosen), nil
		}
	}
	return c
}

// HasCertificate reports whether a server can listen with c.
func HasCertificate(c *tls.Config) bool {
	return len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil
}

func weak(suite uint16) bool { return !slices.Contains(strongSuites, suite) }

// Verified returns the chain of the certificate that the peer showed, leaf first, or
// nothing when it showed none or nobody has verified it.
func Verified(state tls.ConnectionState) []*x509.Certificate {
	if len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.VerifiedChains[0]
}
