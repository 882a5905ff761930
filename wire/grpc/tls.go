package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// secure returns the credentials of a connection with that configuration, without its weak
// versions and ciphers; nil means no encryption.
func secure(c *tls.Config) credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(sockets.Harden(c))
}

// certificatesOf returns the verified chain of the peer's certificate, leaf first.
func certificatesOf(ctx context.Context) []*x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return nil
	}
	return sockets.Verified(info.State)
}
