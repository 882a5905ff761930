package api

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/runtime"
)

// What came by TLS does not go on without.
func TestTokenStaysEncrypted(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Stop(t.Context()) }()
	h := &Handler{options: Options{Node: n}}
	for _, test := range []struct {
		asked, url string
		passes     bool
	}{
		{"http://a/api/agents", "http://b", true},
		{"http://a/api/agents", "https://b", true},
		{"https://a/api/agents", "https://b", true},
		{"https://a/api/agents", "http://b", false},
	} {
		r := httptest.NewRequest(http.MethodGet, test.asked, http.NoBody) // it has TLS for https
		r.Header.Set("Authorization", "Bearer x")
		out, err := h.newRequest(t.Context(), r, Peer{Node: "b", URL: test.url}, nil)
		if (err == nil) != test.passes || err == nil && out.Header.Get("Authorization") != "Bearer x" || err != nil && !strings.Contains(err.Error(), "without TLS") {
			t.Errorf("%s to %s: %v", test.asked, test.url, err)
		}
	}
}

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
