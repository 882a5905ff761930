package ws

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// conn is one connection after its handshake.
type conn struct {
	ws     *websocket.Conn
	socket *socket
	peer   wire.Peer
	limit  int // of a message
	out    output

	// Of the reader.
	control func(wire.Frame)
	within  bool   // a message has begun
	data    []byte // the last message
	failed  error

	breach  atomic.Pointer[breach] // how the peer broke the rules
	goodbye atomic.Uint32          // the code of the peer's close frame
	owned   func()                 // is told once that somebody will close the connection
	once    sync.Once
}

var _ wire.Conn = (*conn)(nil)

// readBuffer is what an idle connection holds, in bytes. A header or a control frame has
// to fit in it.
const readBuffer = 1 << 10

// newConn takes over from the handshake.
func newConn(ws *websocket.Conn, s *socket, peer wire.Peer, l wire.Limits, client bool) *conn {
	s.upgraded = true
	c := &conn{ws: ws, socket: s, peer: peer, out: output{network: s.Conn, client: client, deflates: s.deflates, time: l.FrameTime}}
	c.SetLimit(l.Frame)
	ws.SetPingHandler(c.heard(wire.KindPing))
	ws.SetPongHandler(c.heard(wire.KindPong))
	ws.SetCloseHandler(func(int, string) error { return nil }) // Read tells of it
	return c
}

// Peer says who is at the other end.
func (c *conn) Peer() wire.Peer { return c.peer }

// SetLimit sets how long a message may be.
func (c *conn) SetLimit(bytes int) {
	c.limit = bytes
	c.ws.SetReadLimit(int64(bytes)) // of what travels; Read counts what it decompresses to
}

// Write writes frames.
func (c *conn) Write(frames []wire.Frame) error {
	broken := c.breach.Load()
	err := c.out.write(frames, broken, int(c.goodbye.Load()))
	if err == nil && broken != nil && c.out.closed && broken.Code != performatives.CodeTimeout {
		sockets.Linger(raw(c.socket.Conn), c.out.time)
	}
	return err
}

// raw is the network below an encrypted connection.
func raw(network net.Conn) net.Conn {
	if t, ok := network.(*tls.Conn); ok {
		return t.NetConn()
	}
	return network
}

// Close closes the connection at once. TLS would wait for a peer that does not read; it
// has its own goodbye only after WebSocket's.
func (c *conn) Close() error {
	c.own()
	if c.goodbye.Load() != 0 && c.breach.Load() == nil {
		return c.socket.Conn.Close()
	}
	return raw(c.socket.Conn).Close()
}

// own says that somebody will close the connection.
func (c *conn) own() {
	if c.owned != nil {
		c.once.Do(c.owned)
	}
}
