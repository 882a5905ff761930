package tcp

import (
	"crypto/tls"
	"slices"
	"testing"
)

// What is too weak is left out of a copy, and what is stricter stays.
func TestHarden(t *testing.T) {
	old := &tls.Config{MinVersion: tls.VersionTLS10, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA, strongSuites[1]}}
	c := harden(old)
	if c.MinVersion != tls.VersionTLS12 || !slices.Equal(c.CipherSuites, strongSuites[1:2]) {
		t.Errorf("version %x and ciphers %x", c.MinVersion, c.CipherSuites)
	}
	if old.MinVersion != tls.VersionTLS10 || len(old.CipherSuites) != 2 {
		t.Error("the caller's configuration has changed")
	}
	if c := harden(&tls.Config{MinVersion: tls.VersionTLS13}); c.MinVersion != tls.VersionTLS13 || len(c.CipherSuites) == 0 {
		t.Errorf("version %x and ciphers %x", c.MinVersion, c.CipherSuites)
	}
}
