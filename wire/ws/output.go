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

// output is how a connection writes. What a call has to write comes together in a buffer
// that goes out when it is full or the call is over; between calls there is none.
type output struct {
	network  net.Conn
	client   bool
	deflates bool
	closed   bool // nothing may follow a close frame
	time     time.Duration
	buf      []byte
}

// maxBuffer is how much comes together before it goes out. A longer message goes out
// beside the buffer.
const maxBuffer = 64 << 10

// write writes frames. broken is what ends the connection and goodbye the peer's close
// code, if there is one.
func (o *output) write(frames []wire.Frame, broken *breach, goodbye int) error {
	if len(frames) == 0 {
		return nil
	}
	o.buf = (*buffers.Get().(*[]byte))[:0]
	defer o.release()
	if err := o.network.SetWriteDeadline(time.Now().Add(o.time)); err != nil { // for all of it
		return lostError(err)
	}
	for i := range frames {
		if err := o.frame(&frames[i], broken, goodbye); err != nil {
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

func (o *output) frame(f *wire.Frame, broken *breach, goodbye int) error {
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
		return o.close(o.farewell(goodbye), string(f.Data))
	}
	return fmt.Errorf("ws: a frame of kind %d", f.Kind)
}

// closeOf is how a session gives up.
func closeOf(f *wire.Frame, broken *breach) (code int, reason string) {
	switch {
	case f.Err == nil:
		return websocket.CloseInternalServerErr, ""
	case broken != nil && broken.Refusal == f.Err:
		return broken.code, closeReason(f.Err)
	}
	return closeCode(f.Err.Code), closeReason(f.Err)
}

// farewell is the code of an end in order.
func (o *output) farewell(goodbye int) int {
	switch {
	case goodbye == websocket.CloseNormalClosure || goodbye == websocket.CloseGoingAway:
		return goodbye
	case goodbye != 0 || o.client:
		return websocket.CloseNormalClosure
	}
	return websocket.CloseGoingAway
}

func (o *output) close(code int, reason string) error {
	o.closed = true
	payload := binary.BigEndian.AppendUint16(nil, uint16(code)) //nolint:gosec // a close code has 16 bits
	return o.put(finBit|websocket.CloseMessage, append(payload, sockets.Clean(reason, maxReason)...))
}

// message writes a text message, compressed where that was agreed and helps.
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

// put writes one frame.
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

// masked writes one frame of a client's, piece by piece: the payload is not ours to
// change.
func (o *output) masked(first byte, payload []byte) error {
	key := newMask()
	o.buf = appendHeader(o.buf, first, len(payload), true)
	o.buf = append(o.buf, key[:]...)
	for {
		n := min(len(payload), maxBuffer) // a multiple of the key's length, but for the last
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

// flush writes the buffer, and more.
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
