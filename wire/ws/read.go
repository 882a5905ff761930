package ws

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/wire"
)

// Read returns the next message. See [wire.Conn].
func (c *conn) Read(control func(wire.Frame)) ([]byte, error) {
	c.release()
	if c.failed != nil {
		return nil, c.failed
	}
	c.control = control
	if err := c.next(); err != nil {
		c.release()
		c.failed = c.readError(err)
		return nil, c.failed
	}
	return c.data, nil
}

// next reads one message.
func (c *conn) next() error {
	c.inMessage = false
	c.socket.next()
	kind, r, err := c.ws.NextReader()
	if err != nil {
		return err
	}
	c.inMessage, c.socket.idle = true, false
	if err := c.gather(r); err != nil {
		return err
	}
	if kind == websocket.TextMessage && !utf8.Valid(c.data) {
		return errNotText
	}
	return nil
}

// controlHandler returns a gorilla handler that passes pings or pongs to the session.
func (c *conn) controlHandler(kind wire.Kind) func(string) error {
	return func(data string) error {
		c.control(wire.Frame{Kind: kind, Data: []byte(data)})
		if !c.inMessage {
			c.socket.next()
		}
		return nil
	}
}

// gather reads a complete message. Its memory grows with the data that arrived, not with the
// announced length.
func (c *conn) gather(r io.Reader) error {
	c.data = (*buffers.Get().(*[]byte))[:0]
	for {
		if len(c.data) == cap(c.data) {
			c.grow()
		}
		n, err := r.Read(c.data[len(c.data):cap(c.data)])
		c.data = c.data[:len(c.data)+n]
		switch {
		case len(c.data) > c.limit:
			return websocket.ErrReadLimit
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// grow doubles the memory of a message, to at most limit+1 bytes.
func (c *conn) grow() {
	more := make([]byte, len(c.data), max(len(c.data)+1, min(2*cap(c.data), c.limit+1)))
	copy(more, c.data)
	c.release()
	c.data = more
}

// release returns the memory of the last message to the pool.
func (c *conn) release() {
	if b := c.data; cap(b) > 0 && cap(b) <= maxIdleBuffer {
		buffers.Put(&b)
	}
	c.data = nil
}

const (
	minBuffer     = 4 << 10
	maxIdleBuffer = 2 * maxBuffer // largest buffer that is returned to the pool
)

// buffers is the pool for reading and writing.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, minBuffer)
	return &b
}}

// lostError wraps an error of the network.
func lostError(err error) error { return fmt.Errorf("ws: connection lost: %w", err) }
