package ws

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	ca := a.issue(t, "authority")
	a.cert, a.key = ca.Leaf, ca.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue issues a certificate. The first is the authority's own.
func (a *authority) issue(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        a.cert == nil, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func (a *authority) server(t *testing.T) *tls.Config {
	t.Helper()
	return &tls.Config{
		Certificates: []tls.Certificate{a.issue(t, "server")}, ClientCAs: a.pool(), ClientAuth: tls.VerifyClientCertIfGiven,
		NextProtos: []string{"h2"}, // as in a configuration shared with a web server
	}
}

func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	h := start(t, Options{TLS: ca.server(t), Compression: true}, nil)
	if !strings.HasPrefix(h.URL(), "wss://127.0.0.1:") {
		t.Fatalf("the URL is %s", h.URL())
	}
	g := dialSession(t, h.URL(), DialOptions{TLS: &tls.Config{RootCAs: ca.pool()}})
	g.request(t, "hello", 1)
	g.request(t, wiretest.Long(1<<20), 2)
	if p := g.Peer(); !p.TLS || p.Transport != "ws" || p.Addr != h.Addr().String() || p.Path != "/mcp" {
		t.Errorf("the client's peer is %+v", p)
	}
	if p := h.Session(t, 0).Peer(); !p.TLS || p.Transport != "ws" || p.Path != "/mcp" || !strings.HasPrefix(p.Addr, "127.0.0.1:") {
		t.Errorf("the server's peer is %+v", p)
	}
	if _, err := Dial(t.Context(), h.URL(), DialOptions{}); err == nil {
		t.Error("a certificate of an unknown authority is trusted")
	}
	if _, err := Dial(t.Context(), h.URL(), DialOptions{TLS: &tls.Config{RootCAs: ca.pool(), ServerName: "other"}}); err == nil {
		t.Error("a certificate of another name is trusted")
	}
	if err := g.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the session ended with %v", err)
	}
}

// A client's certificate determines its identity.
func TestMutualTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	h := start(t, Options{TLS: ca.server(t)}, guarded)
	with := func(c tls.Certificate) DialOptions {
		return DialOptions{TLS: &tls.Config{RootCAs: ca.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }}}
	}
	g := dialSession(t, h.URL(), with(ca.issue(t, "a")))
	g.request(t, "hello", 1)
	if id, ok := h.Session(t, 0).Identity(); !ok || id.Name != "a" || id.Method != "mtls" {
		t.Errorf("the identity is %+v", id)
	}
	dialSession(t, h.URL(), with(ca.issue(t, "b"))).refused(t)
	_, err := Dial(t.Context(), h.URL(), DialOptions{TLS: &tls.Config{RootCAs: ca.pool()}})
	wantRefused(t, err, 401, performatives.CodeUnauthorized, "credentials")
	if _, err := Dial(t.Context(), h.URL(), with(other.issue(t, "a"))); err == nil {
		t.Error("a certificate of another authority is trusted")
	}
}

// refused checks that a message with the sender a is refused.
func (g *client) refused(t *testing.T) {
	t.Helper()
	if err := g.Send(wiretest.Ask(t, "a", "b", "hello")); err != nil {
		t.Fatal(err)
	}
	if p, ok := g.Await(t, 1)[0].Payload().(performatives.Raw); !ok || !strings.Contains(string(p), string(performatives.CodeForbidden)) {
		t.Errorf("the answer is %s", p)
	}
}

// Old TLS versions, weak cipher suites and plain HTTP are refused on an encrypted port.
func TestWeakTLSIsRefused(t *testing.T) {
	ca := newAuthority(t)
	h := start(t, Options{TLS: ca.server(t)}, strict)
	old := &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the test needs an old version
	if c, err := tls.Dial("tcp", h.Addr().String(), old); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is accepted")
	}
	weak := &tls.Config{RootCAs: ca.pool(), MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}
	if c, err := tls.Dial("tcp", h.Addr().String(), weak); err == nil {
		_ = c.Close()
		t.Error("a weak cipher suite is accepted")
	}
	for _, say := range []string{handshake, "", "\x16\x03\x01\x40"} {
		s := dialRaw(t, h)
		s.send(t, []byte(say))
		if b, err := io.ReadAll(s.r); strings.Contains(string(b), "101") || errors.Is(err, net.ErrClosed) {
			t.Errorf("the answer is %q, %v", b, err)
		}
	}
}

func TestBadOptions(t *testing.T) {
	h := start(t, Options{}, nil)
	for says, o := range map[string]Options{
		"Options.Path":       {Path: "mcp"},
		"Options.AgentPath":  {AgentPath: "/ws"},
		"Options.Origins[1]": {Origins: []string{"*", "example.com"}},
		"Options.TLS":        {TLS: &tls.Config{}},
		"listen":             {Addr: "nowhere:0:0"},
		"Options.Addr":       {},
	} {
		if l, err := Listen(h.Server, o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, %v", o, l, err)
		}
	}
	if _, err := Listen(nil, Options{}); err == nil {
		t.Error("Listen accepts a nil server")
	}
	defer func() {
		if recover() == nil {
			t.Error("Handler accepts invalid options")
		}
	}()
	Handler(h.Server, Options{Path: "mcp"})
}
