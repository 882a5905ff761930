package tcp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"
)

// pki is an authority with a certificate for a server on loopback and one for a client.
type pki struct {
	root         *x509.Certificate
	signer       *ecdsa.PrivateKey
	roots        *x509.CertPool
	serve, agent tls.Certificate
}

func newPKI(t testing.TB) pki {
	t.Helper()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signer := newKey(t)
	rootCert := sign(t, root, root, signer, signer)
	pool := x509.NewCertPool()
	pool.AddCert(rootCert.Leaf)
	p := pki{root: root, signer: signer, roots: pool}
	p.serve, p.agent = p.leaf(t, "node"), p.leaf(t, "a")
	return p
}

// leaf issues a certificate with the given name, for either end.
func (p pki) leaf(t testing.TB, name string) tls.Certificate {
	t.Helper()
	return sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: p.root.NotBefore, NotAfter: p.root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}, p.root, newKey(t), p.signer)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, cert, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) tls.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (p pki) server() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{p.serve}} }

// mutual returns a server configuration that verifies client certificates if there are any.
func (p pki) mutual() *tls.Config {
	c := p.server()
	c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, p.roots
	return c
}

func (p pki) client() *tls.Config { return &tls.Config{RootCAs: p.roots} }

func (p pki) known() *tls.Config {
	c := p.client()
	c.Certificates = []tls.Certificate{p.agent}
	return c
}
