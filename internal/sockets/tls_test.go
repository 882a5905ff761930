package sockets

import (
	"crypto/tls"
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
