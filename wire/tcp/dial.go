package tcp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// DialOptions configures [Dial]. The zero value works.
type DialOptions struct {
	// TLS encrypts the connection, with the same minimum as in [Options]. An empty ServerName
	// means the host of the address. Nil means the system's root certificates for a tcps://
	// address, and no encryption for any other.
	TLS *tls.Config
	// Limits bounds the resources that the server can occupy. Only Frame and FrameTime are
	// used. They should equal those of [wire.Options]. FrameTime also bounds connecting, TLS
	// handshake and version negotiation together.
	Limits wire.Limits
	// Versioned selects the form with 16-byte headers, which has no compression.
	Versioned bool
	// NoCompression disables gzip.
	NoCompression bool
}

// Dial connects to addr: host:port, tcp://host:port, or tcps://host:port for TLS. It blocks
// until the connection is established or ctx ends. The result is for [wire.Connect] and also
// implements [wire.CompressConn]. When the server does not support the version, the error
// wraps a [*wire.PeerError] with the server's text or a [*performatives.Refusal].
func Dial(ctx context.Context, addr string, o DialOptions) (wire.Conn, error) {
	hostport, config, err := target(addr, o.TLS)
	if err != nil {
		return nil, err
	}
	o.Limits = o.Limits.WithDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Limits.FrameTime)
	defer cancel()
	c, err := o.dial(ctx, hostport, config)
	if err != nil {
		return nil, fmt.Errorf("tcp: connect to %s: %w", hostport, err)
	}
	return c, nil
}

// dial connects, encrypts and negotiates the version.
func (o DialOptions) dial(ctx context.Context, hostport string, config *tls.Config) (*conn, error) {
	stream, err := sockets.Dial(ctx, hostport, config)
	if err != nil {
		return nil, err
	}
	raw := sockets.Raw(stream)
	sockets.Shorten(raw)
	co := connOptions{form: plain, noCompression: o.NoCompression, limits: o.Limits}
	if !o.Versioned {
		return newConn(raw, stream, co), nil
	}
	co.form = versioned
	c := newConn(raw, stream, co)
	if err := c.propose(ctx); err != nil {
		_ = raw.Close() // err is the cause
		return nil, err
	}
	return c, nil
}

// target splits an address into host:port and the TLS configuration.
func target(addr string, config *tls.Config) (hostport string, _ *tls.Config, err error) {
	scheme, hostport, ok := strings.Cut(addr, "://")
	if !ok {
		scheme, hostport = "", addr
	}
	host, port, err := net.SplitHostPort(hostport)
	switch {
	case ok && scheme != "tcp" && scheme != "tcps":
		return "", nil, errors.New("tcp: the scheme of the address is neither tcp:// nor tcps://")
	case err != nil || host == "" || port == "":
		return "", nil, errors.New("tcp: the address is not host:port")
	case scheme == "tcp" && config != nil:
		return "", nil, errors.New("tcp: the address tcp:// is for connections without TLS; want tcps://")
	case scheme != "tcps" && config == nil:
		return hostport, nil, nil
	case config == nil:
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = sockets.Harden(config)
	config.ServerName = cmp.Or(config.ServerName, host)
	return hostport, config, nil
}

// propose negotiates the version before the session starts.
func (c *conn) propose(ctx context.Context) error {
	end := context.AfterFunc(ctx, func() { _ = c.raw.Close() }) // interrupts a blocked read or write
	err := c.writeRaw(header{form: versioned, typ: typePropose}, proposePayload)
	if err == nil {
		err = c.agreement()
	}
	if !end() {
		return context.Cause(ctx)
	}
	return err
}

// agreement reads the server's answer to the proposal.
func (c *conn) agreement() error {
	for {
		h, payload, err := c.in.next()
		if err != nil {
			return err
		}
		switch h.role {
		case agree:
			return checkAgreement(payload)
		case failure:
			return &wire.PeerError{Refusal: textError(payload)}
		case health: // the server may send a health check before its answer
			if err := c.writeRaw(header{form: versioned, typ: typeHealth}, healthPayload); err != nil {
				return err
			}
		case data, ping, pong, closing, propose:
			return &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Text: "the server did not acknowledge the version"}
		}
	}
}
