package tcp

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Options configures a [Listener]. Addr is required. Limits and logger are those of the
// server.
type Options struct {
	// Addr is host:port. Port 0 selects a free port.
	Addr string
	// TLS encrypts the connections. It must have a certificate. Versions below TLS 1.2 and
	// TLS 1.2 cipher suites without forward secrecy or authenticated encryption are removed
	// from it. With ClientAuth and ClientCAs, peers can authenticate by certificate. Nil
	// means no encryption.
	TLS *tls.Config
	// HandshakeTime bounds the TLS handshake and the authentication by certificate together.
	// Zero means 10 s.
	HandshakeTime time.Duration
	// MaxHandshakes is the largest number of concurrent handshakes. Further connections are
	// refused. Zero means 1,024.
	MaxHandshakes int
	// NoCompression disables gzip.
	NoCompression bool
}

// The defaults of [Options].
const (
	DefaultHandshakeTime = 10 * time.Second
	DefaultMaxHandshakes = 1_024
)

func (o Options) withDefaults() Options {
	o.HandshakeTime = cmp.Or(o.HandshakeTime, DefaultHandshakeTime)
	o.MaxHandshakes = cmp.Or(o.MaxHandshakes, DefaultMaxHandshakes)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Addr == "":
		return errors.New("tcp: Options.Addr is empty: want host:port")
	case o.HandshakeTime < 0:
		return fmt.Errorf("tcp: Options.HandshakeTime is %v", o.HandshakeTime)
	case o.MaxHandshakes < 0:
		return fmt.Errorf("tcp: Options.MaxHandshakes is %d", o.MaxHandshakes)
	case o.TLS != nil && !sockets.HasCertificate(o.TLS):
		return errors.New("tcp: Options.TLS has no certificate")
	}
	return nil
}

// logger returns the server's logger.
func logger(s *wire.Server) *slog.Logger { return s.Options().Logger }
