package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"
)

// pki writes a certificate authority into the current folder, ca.pem, and what it has
// signed: server.pem and server.key for this host, Crm.pem and Crm.key for the agent Crm,
// and workload.pem and workload.key for the account Crm of the namespace sales, by its SPIFFE id.
// other.pem is an authority that has signed nothing.
func pki(t *testing.T) {
	t.Helper()
	ca, caKey := certificate(t, "ca", nil, nil)
	certificate(t, "other", nil, nil)
	certificate(t, "server", ca, caKey)
	certificate(t, "Crm", ca, caKey)
	certificate(t, "workload", ca, caKey, "spiffe://example.org/ns/sales/sa/Crm")
}

// certificate writes a certificate of that name, with URIs; without a parent, of an authority.
func certificate(t *testing.T, name string, parent *x509.Certificate, by *ecdsa.PrivateKey, uris ...string) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost", name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	for _, text := range uris {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
	}
	if parent == nil {
		parent, by = c, key
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	writeFile(t, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	return c, key
}
