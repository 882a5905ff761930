package tcp

import (
	"crypto/tls"
	"errors"
	"log/slog"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Options configures a [Listener]. Addr is required. Limits and logger are those of the
// server. Its AuthTime bounds the TLS handshake and the authentication by certificate together, and
// its MaxConnections also the number of concurrent handshakes.
type Options struct {
	// Addr is host:port. Port 0 selects a free port.
	Addr string
	// TLS encrypts the connections. It must have a certificate. Versions below TLS 1.2 and
	// TLS 1.2 cipher suites without forward secrecy or authenticated encryption are removed
	// from it. With ClientAuth and ClientCAs, peers can authenticate by certificate. Nil
	// means no encryption.
	TLS *tls.Config
	// NoCompression disables gzip.
	NoCompression bool
}

func (o Options) validate() error {
	switch {
	case o.Addr == "":
		return errors.New("tcp: Options.Addr is empty: want host:port")
	case o.TLS != nil && !sockets.HasCertificate(o.TLS):
		return errors.New("tcp: Options.TLS has no certificate")
	}
	return nil
}

// logger returns the server's logger.
func logger(s *wire.Server) *slog.Logger { return s.Options().Logger }
