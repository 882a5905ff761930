package ws

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/wire"
)

// upgrade performs the WebSocket handshake. After an error the request has been answered.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) (*conn, error) {
	limits := h.server.Limits()
	up := websocket.Upgrader{
		HandshakeTimeout:  limits.FrameTime,
		ReadBufferSize:    readBuffer,
		WriteBufferPool:   noBuffers{},
		EnableCompression: h.opts.Compression,
		Subprotocols:      []string{"mcp"},                          // which clients of MCP insist on (addenda §9)
		CheckOrigin:       func(*http.Request) bool { return true }, // admit has checked it
		Error:             writeUpgradeError,
	}
	up.EnableCompression = up.EnableCompression && usableOffer(r.Header)
	hijacker := &hijacker{ResponseWriter: w, limits: limits}
	gorilla, err := up.Upgrade(hijacker, r, nil)
	if err != nil {
		return nil, err
	}
	return newConn(gorilla, hijacker.socket, peerOf(r), limits, false), nil
}

// hijacker makes gorilla use a socket as the network connection.
type hijacker struct {
	http.ResponseWriter
	limits wire.Limits
	socket *socket
}

// Hijack takes the connection over from the HTTP server.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	network, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.socket = &socket{Conn: network, frameTime: h.limits.FrameTime}
	return h.socket, rw, nil
}

// noBuffers is a buffer pool without buffers. It prevents a write buffer per connection,
// because gorilla writes no messages.
type noBuffers struct{}

// Get returns nil.
func (noBuffers) Get() any { return nil }

// Put discards its argument.
func (noBuffers) Put(any) {}
