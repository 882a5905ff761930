package ws

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// output writes frames to the network. It collects frames in a buffer, which goes out when it
// is full and at the end of each write call. Between calls it holds no buffer.
type output struct {
	network  net.Conn
	client   bool
	deflates bool
	closed   bool // a close frame has been written, after which nothing may follow
	time     time.Duration
	buf      []byte
}

// maxBuffer is the largest number of bytes that is collected before a network write. A longer
// payload is written without copying.
const maxBuffer = 64 << 10

// write writes frames. broken is the violation that ends the connection, or nil. peerCode is
// the code of the peer's close frame, or zero.
func (o *output) write(frames []wire.Frame, broken *violation, peerCode int) error {
	if len(frames) == 0 {
		return nil
	}
	o.buf = (*buffers.Get().(*[]byte))[:0]
	defer o.release()
	if err := o.network.SetWriteDeadline(time.Now().Add(o.time)); err != nil { // one deadline for all frames
		return lostError(err)
	}
	for i := range frames {
		if err := o.frame(&frames[i], broken, peerCode); err != nil {
			return err
		}
	}
	return o.flush()
}

func (o *output) release() {
	if b := o.buf; cap(b) <= maxIdleBuffer {
		buffers.Put(&b)
	}
	o.buf = nil
}

func (o *output) frame(f *wire.Frame, broken *violation, peerCode int) error {
	switch {
	case o.closed && f.Kind == wire.KindData:
		return fmt.Errorf("ws: %w", wire.ErrClosed)
	case o.closed:
		return nil
	}
	switch f.Kind {
	case wire.KindData:
		return o.message(f.Data)
	case wire.KindPing:
		return o.put(finBit|websocket.PingMessage, f.Data[:min(len(f.Data), maxControl)])
	case wire.KindPong:
		return o.put(finBit|websocket.PongMessage, f.Data[:min(len(f.Data), maxControl)])
	case wire.KindError:
		code, reason := closeOf(f, broken)
		return o.close(code, reason)
	case wire.KindClose:
		return o.close(o.orderlyCode(peerCode), string(f.Data))
	}
	return fmt.Errorf("ws: a frame of kind %d", f.Kind)
}

// closeOf returns the code and the reason of the close frame for an ERROR frame.
func closeOf(f *wire.Frame, broken *violation) (code int, reason string) {
	switch {
	case f.Err == nil:
		return websocket.CloseInternalServerErr, ""
	case broken != nil && broken.Refusal == f.Err:
		return broken.code, closeReason(f.Err)
	}
	return closeCode(f.Err.Code), closeReason(f.Err)
}

// orderlyCode returns the code of the close frame for an end in order.
func (o *output) orderlyCode(peerCode int) int {
	switch {
	case peerCode != 0 && peerCode != websocket.CloseNoStatusReceived: // which must not be sent
		return peerCode // RFC 6455 §5.5.1
	case peerCode != 0 || o.client:
		return websocket.CloseNormalClosure
	}
	return websocket.CloseGoingAway
}

func (o *output) close(code int, reason string) error {
	o.closed = true
	payload := binary.BigEndian.AppendUint16(nil, uint16(code)) //nolint:gosec // a close code has 16 bits
	return o.put(finBit|websocket.CloseMessage, append(payload, sockets.Clean(reason, maxReason)...))
}

// message writes a text message, compressed if that was negotiated and the message is not
// short.
func (o *output) message(data []byte) error {
	if !o.deflates || len(data) < minDeflate {
		return o.put(finBit|websocket.TextMessage, data)
	}
	d := deflaters.Get().(*deflater)
	defer d.release()
	short, err := d.deflate(data)
	if err != nil {
		return fmt.Errorf("ws: compress: %w", err)
	}
	return o.put(finBit|deflateBit|websocket.TextMessage, short)
}

// put writes one frame, to the buffer or directly.
func (o *output) put(first byte, payload []byte) error {
	if len(o.buf)+maxHeader+min(len(payload), maxBuffer) > maxBuffer {
		if err := o.flush(); err != nil {
			return err
		}
	}
	if o.client {
		return o.masked(first, payload)
	}
	o.buf = appendHeader(o.buf, first, len(payload), false)
	if len(payload) <= maxBuffer {
		o.buf = append(o.buf, payload...)
		return nil
	}
	return o.flush(payload)
}

// masked writes one frame of a client. It copies the payload in chunks, because it must not
// mask the caller's slice.
func (o *output) masked(first byte, payload []byte) error {
	key := newMask()
	o.buf = appendHeader(o.buf, first, len(payload), true)
	o.buf = append(o.buf, key[:]...)
	for {
		n := min(len(payload), maxBuffer) // all but the last chunk are a multiple of the key's length
		o.buf = append(o.buf, payload[:n]...)
		mask(o.buf[len(o.buf)-n:], key)
		if payload = payload[n:]; len(payload) == 0 {
			return nil
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
}

// flush writes the buffer and then more.
func (o *output) flush(more ...[]byte) error {
	if len(o.buf) == 0 {
		return nil
	}
	err := o.send(more)
	o.buf = o.buf[:0]
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("ws: %w: %w", wire.ErrSlow, err)
	case err != nil:
		return lostError(err)
	}
	return nil
}

func (o *output) send(more [][]byte) error {
	if len(more) == 0 {
		_, err := o.network.Write(o.buf)
		return err
	}
	all := net.Buffers(append([][]byte{o.buf}, more...))
	_, err := all.WriteTo(o.network)
	return err
}
