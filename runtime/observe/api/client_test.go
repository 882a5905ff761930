package api

import (
	"crypto/tls"
	"net/http"
	"testing"
)

// A node has no certificate for other nodes: it would lend its rights to operators.
func TestClientHasNoCertificate(t *testing.T) {
	own := &tls.Config{
		ServerName: "kept", MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{}},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tls.Certificate{}, nil },
	}
	c := newClient(own)
	transport, ok := c.Transport.(*http.Transport)
	if !ok {
		t.Fatalf("the transport is a %T", c.Transport)
	}
	if got := transport.TLSClientConfig; len(got.Certificates) > 0 || got.GetClientCertificate != nil || got.ServerName != "kept" {
		t.Errorf("got %+v", got)
	}
	if len(own.Certificates) != 1 {
		t.Error("the configuration of the caller has changed")
	}
}
