package tcp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Write writes frames. See [wire.Conn].
func (c *conn) Write(frames []wire.Frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(frames)
}

// write implements Write. The caller holds c.writing.
func (c *conn) write(frames []wire.Frame) error {
	switch c.form() {
	case undecided:
		// The form of the frames of a peer that has sent nothing yet is unknown. Its first frame
		// will show that it is alive.
		frames = slices.DeleteFunc(slices.Clone(frames), isPing)
	case versioned:
		c.out.form = versioned
		if slices.ContainsFunc(frames, isPing) {
			c.healthSent.Store(true) // the next health check is its answer, which cannot arrive before
		}
	case plain, flagged:
	}
	if len(frames) == 0 {
		return nil
	}
	if err := c.stream.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if err := c.out.write(frames); err != nil {
		return slow(err)
	}
	if frames[len(frames)-1].Kind == wire.KindClose {
		c.closeWrite()
		if c.violated.Load() {
			sockets.Linger(c.raw, c.timeout)
		}
	}
	return nil
}

func isPing(f wire.Frame) bool { return f.Kind == wire.KindPing }

// slow marks a write timeout with [wire.ErrSlow].
func slow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", wire.ErrSlow, err)
	}
	return err
}

// closeWrite closes the write direction of the connection in two cases: the versioned form,
// which has no CLOSE frame, and TLS, which needs close_notify. Otherwise the CLOSE frame
// suffices, and peers that treat a half-closed connection as closed can still answer. Errors
// are ignored, because the reader detects a lost connection.
func (c *conn) closeWrite() {
	if c.out.form != versioned && !c.peer.TLS {
		return
	}
	if half, ok := c.stream.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// writeRaw writes one frame that the transport itself created.
func (c *conn) writeRaw(h header, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	h.length = uint32(len(payload))
	if err := c.stream.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	_, err := c.stream.Write(append(h.append(nil), payload...))
	return slow(err)
}

// Compressions returns gzip, or nothing if compression is disabled or the form has none.
func (c *conn) Compressions() []string {
	if c.noCompression || c.form() == versioned {
		return nil
	}
	return []string{gzipMethod}
}

// Compress writes frames with 7-byte headers and uses 8-byte headers afterwards. Reading
// switches to 8-byte headers before the last of frames is written. See [wire.CompressConn].
func (c *conn) Compress(method string, frames []wire.Frame) error {
	if method != gzipMethod || c.noCompression || c.form() == versioned {
		return fmt.Errorf("tcp: compression %q was not offered", method)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	last := max(0, len(frames)-1)
	if err := c.write(frames[:last]); err != nil {
		return err
	}
	c.in.form.Store(uint32(flagged))
	if err := c.write(frames[last:]); err != nil {
		return err
	}
	c.out.form = flagged
	return nil
}
