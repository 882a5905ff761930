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

// breach is how a peer broke the rules of the protocol.
type breach struct {
	*performatives.Refusal
	code int // of the close frame that tells it
}

var errNotText = errors.New("ws: a text message is not UTF-8")

// explain says what it means for a session that reading has failed.
func (c *conn) explain(err error) error {
	var bye *websocket.CloseError
	switch {
	case errors.As(err, &bye) && bye.Code != websocket.CloseAbnormalClosure: // gorilla's word for the end of the network
		return c.farewell(bye)
	case errors.Is(err, websocket.ErrReadLimit):
		return c.broken(websocket.CloseMessageTooBig, performatives.CodeInvalidPayload, fmt.Sprintf("the message is longer than %d bytes", c.limit))
	case errors.Is(err, errNotText):
		return c.broken(websocket.CloseInvalidFramePayloadData, performatives.CodeParsingError, "the text is not UTF-8")
	case c.socket.objected:
		return c.broken(websocket.CloseProtocolError, performatives.CodeParsingError, "the framing is broken: "+strings.TrimPrefix(err.Error(), "websocket: "))
	case c.socket.lost != nil:
		return c.silence(c.socket.lost)
	}
	return c.broken(websocket.CloseInvalidFramePayloadData, performatives.CodeParsingError, "the compressed data is corrupt")
}

// silence is when nothing more comes.
func (c *conn) silence(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return c.broken(websocket.ClosePolicyViolation, performatives.CodeTimeout, fmt.Sprintf("the message took longer than %v", c.socket.frameTime))
	case errors.Is(err, io.EOF) && c.socket.between:
		return io.EOF
	case errors.Is(err, io.EOF):
		return lostError(io.ErrUnexpectedEOF)
	}
	return lostError(err)
}

func (c *conn) broken(closeCode int, code performatives.Code, text string) error {
	b := &breach{Refusal: &performatives.Refusal{Code: code, Text: text}, code: closeCode}
	c.breach.Store(b)
	return b.Refusal
}

// farewell is a close frame of the peer's.
func (c *conn) farewell(bye *websocket.CloseError) error {
	c.goodbye.Store(uint32(bye.Code)) //nolint:gosec // a close code has 16 bits
	switch bye.Code {
	case websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived:
		c.control(wire.Frame{Kind: wire.KindClose, Data: []byte(bye.Text)})
	default:
		c.control(wire.Frame{Kind: wire.KindError, Err: refusalOf(bye)})
	}
	return io.EOF
}
