package ws

import (
	"sync/atomic"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// conn is a [wire.Conn] over a WebSocket connection after the handshake.
type conn struct {
	ws     *websocket.Conn
	socket *socket
	peer   wire.Peer
	limit  int // largest length of a message in bytes
	out    output

	// Used by the reader only.
	control   func(wire.Frame)
	inMessage bool   // a message has begun and not ended
	data      []byte // the last message
	failed    error

	violation atomic.Pointer[violation] // set when the peer violated the protocol
	peerCode  atomic.Uint32             // code of the peer's close frame; zero before it arrives
}

var _ wire.Conn = (*conn)(nil)

// readBuffer is the size in bytes of the read buffer, which an idle connection keeps. Frame
// headers and control frames must fit into it.
const readBuffer = 1 << 10

// newConn returns the connection for a completed handshake.
func newConn(ws *websocket.Conn, s *socket, peer wire.Peer, l wire.Limits, client bool) *conn {
	s.upgraded = true
	if !client {
		s.guard = new(guard)
	}
	c := &conn{ws: ws, socket: s, peer: peer, out: output{network: s.Conn, client: client, deflates: s.deflates, time: l.FrameTime}}
	c.SetLimit(l.Frame)
	ws.SetPingHandler(c.controlHandler(wire.KindPing))
	ws.SetPongHandler(c.controlHandler(wire.KindPong))
	ws.SetCloseHandler(func(int, string) error { return nil }) // Read reports the close frame
	return c
}

// Peer describes the other end.
func (c *conn) Peer() wire.Peer { return c.peer }

// SetLimit sets the largest length of a message in bytes. See [wire.Conn].
func (c *conn) SetLimit(bytes int) {
	c.limit = bytes
	c.ws.SetReadLimit(int64(bytes)) // limits the data on the wire; gather limits the decompressed data
}

// Write writes frames. See [wire.Conn].
func (c *conn) Write(frames []wire.Frame) error {
	broken := c.violation.Load()
	err := c.out.write(frames, broken, int(c.peerCode.Load()))
	if err == nil && broken != nil && c.out.closed && broken.Code != performatives.CodeTimeout {
		sockets.Linger(sockets.Raw(c.socket.Conn), c.out.time)
	}
	return err
}

// Close closes the connection immediately. It sends TLS's close_notify only after the peer's
// close frame: writing it could block on a peer that does not read.
func (c *conn) Close() error {
	if c.peerCode.Load() != 0 && c.violation.Load() == nil {
		return c.socket.Conn.Close()
	}
	return sockets.Raw(c.socket.Conn).Close()
}
