package tcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Options configures a [Listener]. Addr is required. The limits and the logger are the
// server's.
type Options struct {
	// Addr is host:port. Port 0 means any that is free.
	Addr string
	// TLS encrypts the connections. It needs a certificate. What it allows below TLS 1.2,
	// and ciphers of TLS 1.2 without forward secrecy or authenticated encryption, are
	// left out. With ClientAuth and ClientCAs, a peer is known by its certificate. Nil
	// means no encryption.
	TLS *tls.Config
	// HandshakeTime is how long the TLS handshake and the authentication that goes with
	// it may take. Zero means 10 s.
	HandshakeTime time.Duration
	// MaxHandshakes is how many connections may be in their handshake at a time; the
	// next are closed. Zero means 1,024.
	MaxHandshakes int
	// NoCompression says that gzip is not agreed on.
	NoCompression bool
}

// The defaults of [Options].
const (
	DefaultHandshakeTime = 10 * time.Second
	DefaultMaxHandshakes = 1_024
)

func (o Options) withDefaults() Options {
	if o.HandshakeTime == 0 {
		o.HandshakeTime = DefaultHandshakeTime
	}
	if o.MaxHandshakes == 0 {
		o.MaxHandshakes = DefaultMaxHandshakes
	}
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
