package tcp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// Each form transports short and long messages.
func TestForms(t *testing.T) {
	pki := newPKI(t)
	for name, tt := range map[string]struct {
		server tcp.Options
		client tcp.DialOptions
		scheme string
		zip    bool
	}{
		"7 bytes":            {},
		"7 bytes, TLS":       {server: tcp.Options{TLS: pki.server()}, client: tcp.DialOptions{TLS: pki.client()}, scheme: "tcps://"},
		"16 bytes":           {client: tcp.DialOptions{Versioned: true}, scheme: "tcp://"},
		"16 bytes, TLS":      {server: tcp.Options{TLS: pki.server()}, client: tcp.DialOptions{TLS: pki.client(), Versioned: true}},
		"8 bytes":            {zip: true},
		"8 bytes, TLS":       {server: tcp.Options{TLS: pki.server()}, client: tcp.DialOptions{TLS: pki.client()}, zip: true},
		"no gzip here":       {client: tcp.DialOptions{NoCompression: true}},
		"no gzip over there": {server: tcp.Options{NoCompression: true}},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, tt.server, func(o *wire.Options) { o.Dialects = []wire.Dialect{zipDialect{on: tt.zip}} })
			g := join(t, tt.scheme+h.addr, tt.client, zipDialect{on: tt.zip})
			g.request(t, 1, "may I?")
			g.request(t, 100, "short")
			g.request(t, 5, strings.Repeat("long ", 20_000))
			if got, want := h.Session(t, 0).Peer(), g.Peer(); got.TLS != (tt.server.TLS != nil) || got.TLS != want.TLS || got.Transport != "tcp" || want.Addr != h.addr {
				t.Errorf("the peers are %+v and %+v", got, want)
			}
			stop(t, g.Stop)
			if err := h.AwaitEnd(t, 1)[0]; err != nil {
				t.Errorf("the session ended with %v", err)
			}
		})
	}
}

// zipDialect is the test dialect with a codec that agrees on gzip with the first answer.
type zipDialect struct {
	wiretest.Dialect
	on bool
}

// Open returns a negotiating codec if compression is on and the connection supports it.
func (d zipDialect) Open(o wire.CodecOptions) (wire.Codec, error) {
	c, err := d.Dialect.Open(o)
	if !d.on || len(o.Compression) == 0 || err != nil {
		return c, err
	}
	return &zipCodec{Codec: c, method: o.Compression[0]}, nil
}

type zipCodec struct {
	wire.Codec
	method string
}

// Agreed returns the method once.
func (c *zipCodec) Agreed() string {
	method := c.method
	c.method = ""
	return method
}

// Offered returns false: the tests wait for the first answer.
func (c *zipCodec) Offered() bool { return false }

// byCertificate is an authenticator that uses the common name of the certificate.
type byCertificate struct{}

// Authenticate returns the common name.
func (byCertificate) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if len(c.Certificates) == 0 {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	name := c.Certificates[0].Subject.CommonName
	if name == "mallory" {
		return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "not you"}
	}
	return wire.Identity{Name: performatives.AgentID(name), Method: "mtls"}, nil
}

func mutualHost(t *testing.T, pki pki) *host {
	return serve(t, tcp.Options{TLS: pki.mutual()}, func(o *wire.Options) { o.Anonymous, o.Auth = false, byCertificate{} })
}

func TestMutualTLS(t *testing.T) {
	pki := newPKI(t)
	h := mutualHost(t, pki)
	g := join(t, "tcps://"+h.addr, tcp.DialOptions{TLS: pki.known()}, wiretest.Dialect{})
	g.request(t, 3, "it is me")
	if id, ok := h.Session(t, 0).Identity(); !ok || id.Name != "a" || id.Method != "mtls" {
		t.Errorf("identity %+v, %v", id, ok)
	}
}

// A peer without a certificate must authenticate by its messages.
func TestMutualTLSWithoutCertificate(t *testing.T) {
	pki := newPKI(t)
	h := mutualHost(t, pki)
	g := join(t, "tcps://"+h.addr, tcp.DialOptions{TLS: pki.client()}, wiretest.Dialect{})
	if err := g.Send(wiretest.Ask(t, "a", "b", "let me in")); err != nil {
		t.Fatal(err)
	}
	answer := g.Await(t, 1)[0]
	if p, err := performatives.PayloadAs[performatives.NotUnderstood](answer); err != nil || p.ReasonCode != performatives.CodeUnauthorized {
		t.Errorf("the answer is %v, %v", p, err)
	}
	if _, ok := h.Session(t, 0).Identity(); ok {
		t.Error("an unverified certificate was accepted")
	}
}

// A certificate that was not verified proves no identity.
func TestUnverifiedCertificate(t *testing.T) {
	pki, other := newPKI(t), newPKI(t)
	config := pki.server()
	config.ClientAuth = tls.RequireAnyClientCert
	h := serve(t, tcp.Options{TLS: config}, func(o *wire.Options) { o.Anonymous, o.Auth = false, byCertificate{} })
	strange := pki.client()
	strange.Certificates = []tls.Certificate{other.agent}
	g := join(t, h.addr, tcp.DialOptions{TLS: strange}, wiretest.Dialect{})
	if err := g.Send(wiretest.Ask(t, "a", "b", "let me in")); err != nil {
		t.Fatal(err)
	}
	g.Await(t, 1)
	if id, ok := h.Session(t, 0).Identity(); ok || len(h.Received()) != 0 {
		t.Errorf("identity %+v, and %d messages were received", id, len(h.Received()))
	}
}

// A peer whose certificate is refused receives an error frame.
func TestMutualTLSRefused(t *testing.T) {
	pki := newPKI(t)
	pki.agent = pki.leaf(t, "mallory")
	h := mutualHost(t, pki)
	g := join(t, "tcps://"+h.addr, tcp.DialOptions{TLS: pki.known()}, wiretest.Dialect{})
	err := g.AwaitEnd(t, 1)[0]
	var said *wire.PeerError
	if !errors.As(err, &said) || !errors.Is(err, performatives.CodeUnauthorized) || said.Refusal.Text != "not you" {
		t.Errorf("the session ended with %v", err)
	}
}

// A certificate of another authority, or a missing one that is required, is refused.
func TestMutualTLSInvalidCertificates(t *testing.T) {
	pki, other := newPKI(t), newPKI(t)
	config := pki.mutual()
	config.ClientAuth = tls.RequireAndVerifyClientCert
	h := serve(t, tcp.Options{TLS: config}, func(o *wire.Options) { o.Anonymous, o.Auth = false, byCertificate{} })
	strange := pki.client()
	strange.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &other.agent, nil }
	for _, c := range []*tls.Config{strange, pki.client()} {
		conn, err := tcp.Dial(t.Context(), "tcps://"+h.addr, tcp.DialOptions{TLS: c})
		if err == nil { // in TLS 1.3 the client completes its handshake before the server refuses
			_, err = conn.Read(func(wire.Frame) {})
			_ = conn.Close()
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a peer without a valid certificate got: %v", err)
		}
	}
	if n := h.Counts().Sessions; n != 0 {
		t.Errorf("%d sessions", n)
	}
}

// TLS below 1.2 and weak cipher suites are refused, also when the configuration allows them.
func TestWeakTLS(t *testing.T) {
	pki := newPKI(t)
	config := pki.server()
	config.MinVersion = tls.VersionTLS10
	chosen := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return chosen, nil }
	h := serve(t, tcp.Options{TLS: config}, nil)
	for name, tt := range map[string]struct {
		change func(*tls.Config)
		ok     bool
	}{
		"1.3":             {func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, true},
		"1.2":             {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, true},
		"1.1":             {func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, false},
		"1.2, CBC":        {func(c *tls.Config) { c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA} }, false},
		"1.2, a good one": {func(c *tls.Config) { c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256} }, true},
	} {
		c := pki.client()
		tt.change(c)
		if c.CipherSuites != nil {
			c.MaxVersion = tls.VersionTLS12
		}
		conn, err := tls.Dial("tcp", h.addr, c) // not tcp.Dial, which would not offer them
		if (err == nil) != tt.ok {
			t.Errorf("TLS %s: %v", name, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

// A client refuses an untrusted server and one without TLS.
func TestDialTLSFails(t *testing.T) {
	pki, other := newPKI(t), newPKI(t)
	h := serve(t, tcp.Options{TLS: pki.server()}, nil)
	open := serve(t, tcp.Options{}, nil)
	misnamed := pki.client()
	misnamed.ServerName = "node.example.com"
	for name, tt := range map[string]struct {
		addr   string
		config *tls.Config
	}{
		"another authority":  {h.addr, other.client()},
		"the system's roots": {"tcps://" + h.addr, nil},
		"another name":       {h.addr, misnamed},
		"no TLS":             {open.addr, pki.client()},
	} {
		if conn, err := tcp.Dial(t.Context(), tt.addr, tcp.DialOptions{TLS: tt.config}); err == nil {
			t.Errorf("%s: connected", name)
			_ = conn.Close()
		}
	}
}

// The client sends the host of the address, or the configured ServerName, in SNI.
func TestServerName(t *testing.T) {
	pki := newPKI(t)
	names := make(chan string, 2)
	config := pki.server()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		names <- hello.ServerName
		return nil, nil
	}
	h := serve(t, tcp.Options{TLS: config}, nil)
	_, port, err := net.SplitHostPort(h.addr)
	if err != nil {
		t.Fatal(err)
	}
	g := join(t, "tcps://localhost:"+port, tcp.DialOptions{TLS: pki.client()}, wiretest.Dialect{})
	g.request(t, 1, "hello")
	if name := <-names; name != "localhost" {
		t.Errorf("server name %q", name)
	}
}
