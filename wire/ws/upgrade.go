package ws

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/wire"
)

// upgrade makes a connection of a request. When it fails, the request has its answer.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) (*conn, error) {
	limits := h.server.Limits()
	up := websocket.Upgrader{
		HandshakeTimeout:  limits.FrameTime,
		ReadBufferSize:    readBuffer,
		WriteBufferPool:   noBuffers{},
		EnableCompression: h.opts.Compression,
		CheckOrigin:       func(*http.Request) bool { return true }, // admit has
		Error:             answerUpgrade,
	}
	hijacker := &hijacker{ResponseWriter: w, limits: limits}
	gorilla, err := up.Upgrade(hijacker, r, nil)
	if err != nil {
		return nil, err
	}
	return newConn(gorilla, hijacker.socket, peerOf(r), limits, false), nil
}

// hijacker gives gorilla a socket for the connection below a request.
type hijacker struct {
	http.ResponseWriter
	limits wire.Limits
	socket *socket
}

// Hijack takes the connection from the HTTP server.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	network, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.socket = &socket{Conn: network, frameTime: h.limits.FrameTime}
	return h.socket, rw, nil
}

// noBuffers keeps gorilla from holding a write buffer for each connection: it does not
// write messages.
type noBuffers struct{}

// Get returns nothing.
func (noBuffers) Get() any { return nil }

// Put keeps nothing.
func (noBuffers) Put(any) {}
