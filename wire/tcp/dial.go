package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// DialOptions configures [Dial]. The zero value works.
type DialOptions struct {
	// TLS encrypts the connection, with the same minimum as in [Options]. The name of the
	// server is that of the address, unless it is set. Nil means the system's roots for
	// an address tcps://, and no encryption for any other.
	TLS *tls.Config
	// Limits bound what the server can make this end hold: Frame and FrameTime are looked
	// at. They should be those of [wire.Options].
	Limits wire.Limits
	// Versioned asks for the form of 16 bytes. In it there is no compression.
	Versioned bool
	// NoCompression says that gzip is not agreed on.
	NoCompression bool
	// HandshakeTime is how long connecting may take, TLS and version negotiation
	// included. Zero means 10 s.
	HandshakeTime time.Duration
}

// Dial connects to addr: host:port, tcp://host:port, or tcps://host:port for TLS. It
// gives up when ctx ends. What it returns is for [wire.Connect], and also a
// [wire.Compressing]. A server that does not speak the version gives an error that is
// what it said, a [*wire.PeerError], or a [*performatives.Refusal].
func Dial(ctx context.Context, addr string, o DialOptions) (wire.Conn, error) {
	hostport, config, err := target(addr, o.TLS)
	if err != nil {
		return nil, err
	}
	if o.HandshakeTime == 0 {
		o.HandshakeTime = DefaultHandshakeTime
	}
	ctx, cancel := context.WithTimeout(ctx, o.HandshakeTime)
	defer cancel()
	c, err := o.dial(ctx, hostport, config)
	if err != nil {
		return nil, fmt.Errorf("tcp: connect to %s: %w", hostport, err)
	}
	return c, nil
}

// dial connects, encrypts and agrees on the form.
func (o DialOptions) dial(ctx context.Context, hostport string, config *tls.Config) (*conn, error) {
	var d net.Dialer // TCP_NODELAY and keep-alive are on by default
	raw, err := d.DialContext(ctx, "tcp", hostport)
	if err != nil {
		return nil, err
	}
	stream := raw
	if config != nil {
		secure := tls.Client(raw, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // err says why
			return nil, err
		}
		stream = secure
	}
	co := connOptions{form: plain, noZip: o.NoCompression, limits: o.Limits.WithDefaults()}
	if !o.Versioned {
		return newConn(raw, stream, co), nil
	}
	co.form = versioned
	c := newConn(raw, stream, co)
	if err := c.propose(ctx); err != nil {
		_ = raw.Close() // err says why
		return nil, err
	}
	return c, nil
}

// target takes an address apart, and says how to encrypt.
func target(addr string, config *tls.Config) (hostport string, _ *tls.Config, err error) {
	scheme, hostport, ok := strings.Cut(addr, "://")
	if !ok {
		scheme, hostport = "", addr
	}
	host, port, err := net.SplitHostPort(hostport)
	switch {
	case ok && scheme != "tcp" && scheme != "tcps":
		return "", nil, errors.New("tcp: the address begins with another scheme than tcp:// or tcps://")
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
	if config.ServerName == "" {
		config.ServerName = host
	}
	return hostport, config, nil
}

// propose negotiates the version, before the session begins.
func (c *conn) propose(ctx context.Context) error {
	end := context.AfterFunc(ctx, func() { _ = c.raw.Close() }) // ends what is under way
	err := c.writeRaw(header{form: versioned, typ: typePropose}, proposePayload)
	if err == nil {
		err = c.agreement()
	}
	if !end() {
		return context.Cause(ctx)
	}
	return err
}

// agreement reads what the server says to the proposal.
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
		case health: // it may ask before it answers
			if err := c.writeRaw(header{form: versioned, typ: typeHealth}, healthPayload); err != nil {
				return err
			}
		case data, ping, pong, closing, propose:
			return &performatives.Refusal{Code: performatives.CodeUnexpectedAct, Text: "the server did not acknowledge the version"}
		}
	}
}
