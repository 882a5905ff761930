package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// Files names the PEM files of one end of a TLS connection. Errors contain the file names and
// never their contents.
type Files struct {
	// Cert is the certificate of this end with its intermediate certificates, and Key its
	// private key. They are read again when the files change.
	Cert, Key string
	// ClientCA holds the root certificates for clients. Empty means that clients are not
	// asked for a certificate. For servers only.
	ClientCA string
	// RequireClientCert refuses clients without a certificate. Otherwise they may
	// authenticate by other credentials. For servers only.
	RequireClientCert bool
	// RootCA holds the root certificates for servers. Empty means those of the system. For
	// clients only.
	RootCA string
	// ServerName is the name that the server's certificate must have. Empty means the host of
	// the address. For clients only.
	ServerName string
	// Failed is called when a changed certificate cannot be loaded. The old one stays in use.
	// It must not block. Nil discards the errors.
	Failed func(error)
}

// ServerTLS returns a server configuration: at least TLS 1.2, strong cipher suites, and the
// certificate in f. The certificate is read again when its files change, so it can be renewed
// without a restart. ClientCA is read once. An error names the file.
func ServerTLS(f Files) (*tls.Config, error) {
	switch {
	case f.Cert == "" || f.Key == "":
		return nil, errors.New("auth: Files: a server needs Cert and Key")
	case f.RequireClientCert && f.ClientCA == "":
		return nil, errors.New("auth: Files.RequireClientCert: nothing to verify certificates with: want ClientCA")
	case f.RootCA != "" || f.ServerName != "":
		return nil, errors.New("auth: Files.RootCA and ServerName are for clients: want ClientCA")
	}
	cert, err := loadCertificate(f)
	if err != nil {
		return nil, err
	}
	c := sockets.Harden(&tls.Config{})
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert(), nil }
	if f.ClientCA == "" {
		return c, nil
	}
	if c.ClientCAs, err = loadRoots(f.ClientCA); err != nil {
		return nil, err
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	if f.RequireClientCert {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// NodeTLS returns the configuration of a node of a cluster, which accepts links from other nodes
// and opens links to them: that of [ServerTLS], whose certificate the node also shows where it is
// the client. ClientCA, which is required, holds the authorities of the certificates of all nodes.
func NodeTLS(f Files) (*tls.Config, error) {
	if f.ClientCA == "" {
		return nil, errors.New("auth: Files: a node needs ClientCA")
	}
	c, err := ServerTLS(f)
	if err != nil {
		return nil, err
	}
	c.RootCAs = c.ClientCAs
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.GetCertificate(nil) }
	return c, nil
}

// ClientTLS returns a client configuration as [ServerTLS] does, with the certificate in f if
// there is one. RootCA is read once.
func ClientTLS(f Files) (*tls.Config, error) {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, errors.New("auth: Files: want both of Cert and Key, or neither")
	case f.ClientCA != "" || f.RequireClientCert:
		return nil, errors.New("auth: Files.ClientCA and RequireClientCert are for servers: want RootCA")
	}
	c := sockets.Harden(&tls.Config{})
	c.ServerName = f.ServerName
	var err error
	if f.RootCA != "" {
		if c.RootCAs, err = loadRoots(f.RootCA); err != nil {
			return nil, err
		}
	}
	if f.Cert == "" {
		return c, nil
	}
	cert, err := loadCertificate(f)
	if err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert(), nil }
	return c, nil
}

// loadRoots reads root certificates.
func loadRoots(path string) (*x509.CertPool, error) {
	text, err := readSmall(path, 16<<20) // the system's root certificates take about 200 KiB
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("auth: %s: no certificate in it", path)
	}
	return pool, nil
}
