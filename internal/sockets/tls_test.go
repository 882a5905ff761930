package sockets

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
)

// Harden removes weak settings from a copy and keeps stricter ones.
func TestHarden(t *testing.T) {
	old := &tls.Config{MinVersion: tls.VersionTLS10, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA, strongSuites[1]}}
	c := Harden(old)
	if c.MinVersion != tls.VersionTLS12 || !slices.Equal(c.CipherSuites, strongSuites[1:2]) {
		t.Errorf("version %x and ciphers %x", c.MinVersion, c.CipherSuites)
	}
	if old.MinVersion != tls.VersionTLS10 || len(old.CipherSuites) != 2 {
		t.Error("the caller's configuration has changed")
	}
	if c := Harden(&tls.Config{MinVersion: tls.VersionTLS13}); c.MinVersion != tls.VersionTLS13 || len(c.CipherSuites) == 0 {
		t.Errorf("version %x and ciphers %x", c.MinVersion, c.CipherSuites)
	}
	chosen := Harden(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return old, nil }})
	if c, err := chosen.GetConfigForClient(nil); err != nil || c.MinVersion != tls.VersionTLS12 || !slices.Equal(c.CipherSuites, strongSuites[1:2]) {
		t.Errorf("what is chosen for a client: %+v, %v", c, err)
	}
}

// Only the verified chain is used, not the certificates that the peer sent.
func TestVerified(t *testing.T) {
	chain := []*x509.Certificate{{}}
	if got := Verified(tls.ConnectionState{PeerCertificates: chain}); got != nil {
		t.Error("an unverified chain is returned")
	}
	if got := Verified(tls.ConnectionState{PeerCertificates: chain, VerifiedChains: [][]*x509.Certificate{chain}}); len(got) != 1 {
		t.Error("the verified chain is not returned")
	}
}
