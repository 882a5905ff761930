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

// gzipMethod is the one compression there is.
const gzipMethod = "gzip"

// conn is one connection: a [wire.Conn] that is also [wire.Compressing].
type conn struct {
	raw    net.Conn // the connection itself
	stream net.Conn // raw, or TLS over it
	peer   wire.Peer
	server bool
	noZip  bool
	in     *reader
	asked  atomic.Bool // a health check of ours is out
	broken atomic.Bool // what the peer still says, nobody reads

	owned func() // is told once that somebody will close the connection; nil for nobody
	once  sync.Once

	writing  sync.Mutex
	out      writer
	patience time.Duration // for one write
}

// connOptions is what both ends of a connection have to say about it.
type connOptions struct {
	form   form
	server bool
	noZip  bool
	limits wire.Limits
}

func newConn(raw, stream net.Conn, o connOptions) *conn {
	_, secure := stream.(*tls.Conn)
	return &conn{
		raw: raw, stream: stream, server: o.server, noZip: o.noZip, patience: o.limits.FrameTime,
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
	c.own()
	for {
		h, payload, err := c.in.next()
		if err != nil {
			if errors.Is(err, io.EOF) && c.form() == versioned { // which has no other way to say it
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

// failed notes that the peer broke the framing, if it did.
func (c *conn) failed(err error) error {
	var broken *performatives.Refusal
	if errors.As(err, &broken) {
		c.broken.Store(true)
	}
	return err
}

// control takes a frame that is not data. After the last one it returns io.EOF.
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
	case data: // is what Read returns
	}
	return nil
}

// health takes a health check, which is an answer when this end has asked.
func (c *conn) health(payload []byte, control func(wire.Frame)) {
	kind := wire.KindPing
	if c.asked.CompareAndSwap(true, false) {
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

// negotiate answers a version negotiation, from the goroutine that reads.
func (c *conn) negotiate(payload []byte) error {
	if err := answerProposal(payload); err != nil {
		return err
	}
	return c.writeRaw(header{form: versioned, typ: typeAgree}, agreePayload)
}

func (c *conn) form() form { return form(c.in.form.Load()) }

// SetLimit sets the longest payload. See [wire.Conn].
func (c *conn) SetLimit(bytes int) { c.in.limit = bytes }

// Close closes the connection. TLS is not told: what ends in order has said so before.
func (c *conn) Close() error {
	c.own()
	if err := c.raw.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// own says that somebody will close the connection.
func (c *conn) own() {
	if c.owned != nil {
		c.once.Do(c.owned)
	}
}

// Peer says who is at the other end.
func (c *conn) Peer() wire.Peer { return c.peer }
