package tcp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// gzipMethod is the only supported compression method.
const gzipMethod = "gzip"

// conn is one connection: a [wire.Conn] that is also [wire.CompressConn].
type conn struct {
	raw           net.Conn // TCP connection
	stream        net.Conn // raw, or TLS over it
	peer          wire.Peer
	server        bool
	noCompression bool
	in            *reader
	healthSent    atomic.Bool // this end has sent a health check and has no answer yet
	violated      atomic.Bool // the peer violated the framing; its further frames are discarded

	writing sync.Mutex
	out     writer
	timeout time.Duration // for one Write
}

// connOptions holds the parameters of a connection for both ends.
type connOptions struct {
	form          form
	server        bool
	noCompression bool
	limits        wire.Limits
}

func newConn(raw, stream net.Conn, o connOptions) *conn {
	_, secure := stream.(*tls.Conn)
	return &conn{
		raw: raw, stream: stream, server: o.server, noCompression: o.noCompression, timeout: o.limits.FrameTime,
		peer: peerOf(raw, secure),
		in:   newReader(stream, o.form, o.limits.Frame, o.limits.FrameTime),
		out:  writer{dst: stream, form: o.form, server: o.server},
	}
}

func peerOf(raw net.Conn, secure bool) wire.Peer {
	return wire.Peer{Transport: "tcp", Addr: raw.RemoteAddr().String(), TLS: secure}
}

// Read returns the next data frame. See [wire.Conn].
func (c *conn) Read(control func(wire.Frame)) ([]byte, error) {
	for {
		h, payload, err := c.in.next()
		if err != nil {
			if errors.Is(err, io.EOF) && c.form() == versioned { // the versioned form has no CLOSE frame
				control(wire.Frame{Kind: wire.KindClose})
			}
			return nil, c.failed(err)
		}
		if h.role == data {
			return payload, nil
		}
		if err := c.control(h, payload, control); err != nil {
			return nil, c.failed(err)
		}
	}
}

// failed records a violation of the framing.
func (c *conn) failed(err error) error {
	var broken *performatives.Refusal
	if errors.As(err, &broken) {
		c.violated.Store(true)
	}
	return err
}

// control handles a frame that is not data. After the peer's last frame it returns io.EOF.
func (c *conn) control(h header, payload []byte, control func(wire.Frame)) error {
	switch h.role {
	case ping:
		control(wire.Frame{Kind: wire.KindPing, Data: payload})
	case pong:
		control(wire.Frame{Kind: wire.KindPong, Data: payload})
	case health:
		c.health(payload, control)
	case failure:
		c.failure(h.form, payload, control)
	case closing:
		control(wire.Frame{Kind: wire.KindClose, Data: payload})
		return io.EOF
	case propose:
		return c.negotiate(payload)
	case agree:
		return refuse("a version is acknowledged that was not proposed")
	case data: // Read returns data frames
	}
	return nil
}

// health handles a health check. It is a pong if this end waits for one, else a ping.
func (c *conn) health(payload []byte, control func(wire.Frame)) {
	kind := wire.KindPing
	if c.healthSent.CompareAndSwap(true, false) {
		kind = wire.KindPong
	}
	control(wire.Frame{Kind: kind, Data: payload})
}

func (c *conn) failure(f form, payload []byte, control func(wire.Frame)) {
	var said *performatives.Refusal
	if f == versioned {
		said = textError(payload)
	} else {
		said = parseError(payload)
	}
	control(wire.Frame{Kind: wire.KindError, Err: said})
}

// negotiate answers a version negotiation. The reading goroutine calls it.
func (c *conn) negotiate(payload []byte) error {
	if err := answerProposal(payload); err != nil {
		return err
	}
	return c.writeRaw(header{form: versioned, typ: typeAgree}, agreePayload)
}

func (c *conn) form() form { return form(c.in.form.Load()) }

// SetLimit sets the largest payload in bytes. See [wire.Conn].
func (c *conn) SetLimit(bytes int) { c.in.limit = bytes }

// Close closes the connection. It sends no TLS close_notify: an orderly end has sent it
// before.
func (c *conn) Close() error {
	if err := c.raw.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Peer describes the other end.
func (c *conn) Peer() wire.Peer { return c.peer }
