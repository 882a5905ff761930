package ws

import (
	"errors"

	"github.com/gorilla/websocket"
)

// guard finds the violations of the framing that gorilla accepts: RSV1 on a control frame or a
// continuation frame after permessage-deflate was negotiated (RFC 7692 §6.1), and a close frame
// whose payload is one byte (RFC 6455 §5.5.1). It reads the frame headers of a listener's incoming
// bytes and skips the rest. gorilla refuses all other invalid headers, so the guard need not follow
// the framing after one of those.
type guard struct {
	opcode   byte
	second   bool   // the next byte of the header is the second
	extended int    // bytes of the extended length that are still to come
	length   uint64 // the extended length so far
	skip     uint64 // bytes of the masking key and the payload that are still to come
}

const (
	continuation = 0
	maskLength   = 4
	opcodeBits   = 0x0f
)

var (
	errCompressedControl = errors.New("RSV1 set on a control frame")
	errCompressedRest    = errors.New("RSV1 set on a continuation frame")
	errShortClose        = errors.New("a close frame with 1 byte")
)

// check reads p and returns its length, or the offset of the first byte of a violation with an
// error.
func (g *guard) check(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if g.skip > 0 {
			step := min(g.skip, uint64(len(p)-n))
			g.skip -= step
			n += int(step) //nolint:gosec // at most len(p)
			continue
		}
		if err := g.header(p[n]); err != nil {
			return n, err
		}
		n++
	}
	return len(p), nil
}

// header reads one byte of a frame header without its masking key.
func (g *guard) header(b byte) error {
	switch {
	case g.extended > 0:
		g.length = g.length<<8 | uint64(b)
		if g.extended--; g.extended == 0 {
			g.skip = g.length + maskLength // gorilla refuses a length that overflows
		}
	case !g.second:
		g.opcode, g.second = b&opcodeBits, true
		return compressedFrame(g.opcode, b&deflateBit != 0)
	default:
		g.second = false
		return g.shortLength(b &^ maskBit)
	}
	return nil
}

// compressedFrame returns the error for RSV1 on a frame that must not have it.
func compressedFrame(opcode byte, rsv1 bool) error {
	switch {
	case rsv1 && opcode == continuation:
		return errCompressedRest
	case rsv1 && opcode >= websocket.CloseMessage:
		return errCompressedControl
	}
	return nil
}

// shortLength reads the length in the second byte of a header.
func (g *guard) shortLength(n byte) error {
	g.length = 0
	switch {
	case n == 126:
		g.extended = 2
	case n == 127:
		g.extended = 8
	case n == 1 && g.opcode == websocket.CloseMessage:
		return errShortClose
	default:
		g.skip = uint64(n) + maskLength
	}
	return nil
}
