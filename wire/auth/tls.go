package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// Files are the PEM files of one end of TLS. Only their names are ever shown.
type Files struct {
	// Cert and Key are the certificate of this end, with those between it and the root, and
	// its private key. They are read again when they change.
	Cert, Key string
	// ClientCA has the roots of the certificates of clients. Empty means that clients are
	// not asked for any. It is for servers.
	ClientCA string
	// RequireClientCert turns clients without a certificate away. Unset, they may prove who
	// they are otherwise.
	RequireClientCert bool
	// RootCA has the roots of the certificates of servers. Empty means those of the system.
	// It is for clients.
	RootCA string
	// ServerName is whom the certificate of a server has to be of. Empty means the host
	// that is dialled. It is for clients.
	ServerName string
	// Failed is told of a changed certificate that cannot be used: the last one is, until
	// then. It must not block. Nil is for those who do not want to know.
	Failed func(error)
}

// ServerTLS returns what a server listens with: TLS 1.2 at least, strong suites, and
// the certificate of its files, which is read again when they change, so that it can be
// renewed without a restart. The roots in ClientCA are read once. An error names a file.
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
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert.current(), nil }
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

// ClientTLS returns what a client dials with: as [ServerTLS], with the certificate of its
// files if it has any. The roots in RootCA are read once.
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
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert.current(), nil }
	return c, nil
}

// loadRoots reads certificates that others are verified with.
func loadRoots(path string) (*x509.CertPool, error) {
	text, err := readSmall(path, 16<<20) // the system's own are some 200 KiB
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("auth: %s: no certificate in it", path)
	}
	return pool, nil
}
