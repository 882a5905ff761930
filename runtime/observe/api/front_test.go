package api_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// The root leads to the console, also below a prefix, and to nothing without a console.
func TestRootLeadsToTheConsole(t *testing.T) {
	_, with, _ := serve(t, func(o *api.Options) { o.Console = http.NotFoundHandler() })
	if w := ask(with.Handler, "GET", "/", ""); w.Code != http.StatusFound || w.Header().Get("Location") != "console/" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	_, without, _ := serve(t, nil)
	if w := ask(without.Handler, "GET", "/", ""); w.Code != http.StatusNotFound {
		t.Errorf("without a console: %d", w.Code)
	}
}

// certified lets those in whose certificate names them.
type certified struct{}

func (certified) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if len(c.Certificates) == 0 {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	return wire.Identity{Name: performatives.AgentID(c.Certificates[0].Subject.CommonName)}, nil
}

// An operator is known by the client certificate that TLS has verified, and by no other.
func TestOperatorsCertificate(t *testing.T) {
	var asked string
	_, h, _ := serve(t, func(o *api.Options) {
		o.Auth = certified{}
		o.Permits = func(who wire.Identity, _ auth.Right) bool {
			asked = string(who.Name)
			return true
		}
	})
	get := func(state *tls.ConnectionState) int {
		r := httptest.NewRequest(http.MethodGet, "/api/node", http.NoBody)
		r.Host, r.RemoteAddr, r.TLS = "127.0.0.1:8080", "127.0.0.1:5000", state
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	ann := []*x509.Certificate{{Subject: pkix.Name{CommonName: "ann"}}}
	if code := get(&tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{ann}}); code != http.StatusOK || asked != "ann" {
		t.Errorf("verified: %d for %q", code, asked)
	}
	for name, state := range map[string]*tls.ConnectionState{"none": nil, "without a certificate": {}, "not verified": {PeerCertificates: ann}} {
		if code := get(state); code != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, code)
		}
	}
}

// A page that has all conversations of two nodes leads to no other.
func TestLastPageOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	for range 2 {
		c.delegate() // which ends with the node
	}
	for path, more := range map[string]bool{"?limit=1": true, "?limit=2": false, "?limit=3": false} {
		p := view[list](c, "/api/conversations"+path)
		if (p.Next != "") != more || len(p.Conversations) == 0 || !p.Conversations[0].Live {
			t.Errorf("%s: %d conversations, next %q", path, len(p.Conversations), p.Next)
		}
	}
}
