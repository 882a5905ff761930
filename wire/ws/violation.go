package ws

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// violation is the refusal of a peer that violated the protocol.
type violation struct {
	*performatives.Refusal
	code int // of the close frame sent to the peer
}

var errNotText = errors.New("ws: a text message is not UTF-8")

// readError converts an error of gorilla's reader to the error of Read, as [wire.Conn]
// specifies.
func (c *conn) readError(err error) error {
	var closeErr *websocket.CloseError
	switch {
	case errors.As(err, &closeErr) && closeErr.Code != websocket.CloseAbnormalClosure: // gorilla uses this code for the end of the network connection
		return c.peerClosed(closeErr)
	case errors.Is(err, websocket.ErrReadLimit):
		return c.violated(websocket.CloseMessageTooBig, performatives.CodeInvalidPayload, fmt.Sprintf("the message is longer than %d bytes", c.limit))
	case errors.Is(err, errNotText):
		return c.violated(websocket.CloseInvalidFramePayloadData, performatives.CodeParsingError, "the text is not UTF-8")
	case c.socket.broken != nil:
		return c.violated(websocket.CloseProtocolError, performatives.CodeParsingError, "the framing is broken: "+c.socket.broken.Error())
	case c.socket.gorillaWrote:
		return c.violated(websocket.CloseProtocolError, performatives.CodeParsingError, "the framing is broken: "+strings.TrimPrefix(err.Error(), "websocket: "))
	case c.socket.networkErr != nil:
		return c.networkError(c.socket.networkErr)
	}
	return c.violated(websocket.CloseInvalidFramePayloadData, performatives.CodeParsingError, "the compressed data is corrupt")
}

// networkError converts an error of the network to the error of Read.
func (c *conn) networkError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.violated(websocket.ClosePolicyViolation, performatives.CodeTimeout, fmt.Sprintf("the message took longer than %v", c.socket.frameTime))
	case errors.Is(err, io.EOF) && c.socket.idle:
		return io.EOF
	case errors.Is(err, io.EOF):
		return lostError(io.ErrUnexpectedEOF)
	}
	return lostError(err)
}

func (c *conn) violated(closeCode int, code performatives.Code, text string) error {
	b := &violation{Refusal: &performatives.Refusal{Code: code, Text: text}, code: closeCode}
	c.violation.Store(b)
	return b.Refusal
}

// peerClosed passes the peer's close frame to the session as CLOSE or ERROR.
func (c *conn) peerClosed(closeErr *websocket.CloseError) error {
	c.peerCode.Store(uint32(closeErr.Code)) //nolint:gosec // a close code has 16 bits
	switch closeErr.Code {
	case websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived:
		c.control(wire.Frame{Kind: wire.KindClose, Data: []byte(closeErr.Text)})
	default:
		c.control(wire.Frame{Kind: wire.KindError, Err: refusalOf(closeErr)})
	}
	return io.EOF
}
