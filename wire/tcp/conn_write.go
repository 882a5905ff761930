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

// write is Write under the lock.
func (c *conn) write(frames []wire.Frame) error {
	switch c.form() {
	case undecided:
		frames = withoutPings(frames)
	case versioned:
		c.out.form = versioned
		c.noteHealth(frames)
	case plain, flagged:
	}
	if len(frames) == 0 {
		return nil
	}
	if err := c.stream.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	if err := c.out.write(frames); err != nil {
		return slow(err)
	}
	if frames[len(frames)-1].Kind == wire.KindClose {
		c.closeWrite()
		if c.broken.Load() {
			sockets.Linger(c.raw, c.patience)
		}
	}
	return nil
}

// withoutPings leaves out what would ask a peer that has said nothing yet, since nobody
// knows in which form it would understand the question. It is alive once it speaks.
func withoutPings(frames []wire.Frame) []wire.Frame {
	return slices.DeleteFunc(slices.Clone(frames), func(f wire.Frame) bool { return f.Kind == wire.KindPing })
}

// noteHealth remembers that a health check is a question.
func (c *conn) noteHealth(frames []wire.Frame) {
	for _, f := range frames {
		if f.Kind == wire.KindPing {
			c.asked.Store(true) // before the answer can come
		}
	}
}

// slow says so when a write failed because the peer does not read.
func slow(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%w: %w", wire.ErrSlow, err)
	}
	return err
}

// closeWrite ends this direction of the connection: in the versioned form that is how
// one closes, and TLS wants to be told. Elsewhere the frame CLOSE says it, and peers that
// take the end of one direction for the end of both still get to answer. It may fail when
// the peer is gone, which the reader finds out.
func (c *conn) closeWrite() {
	if c.out.form != versioned && !c.peer.TLS {
		return
	}
	if half, ok := c.stream.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// writeRaw writes one frame of the transport's own.
func (c *conn) writeRaw(h header, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	h.length = uint32(len(payload))
	if err := c.stream.SetWriteDeadline(time.Now().Add(c.patience)); err != nil {
		return err
	}
	_, err := c.stream.Write(append(h.append(nil), payload...))
	return slow(err)
}

// Compressions returns gzip, unless this end or the form does without.
func (c *conn) Compressions() []string {
	if c.noZip || c.form() == versioned {
		return nil
	}
	return []string{gzipMethod}
}

// Compress writes frames in 7-byte frames, and 8-byte ones from then on. What comes is
// taken for the latter before the last of frames goes out. See [wire.Compressing].
func (c *conn) Compress(method string, frames []wire.Frame) error {
	if method != gzipMethod || c.noZip || c.form() == versioned {
		return fmt.Errorf("tcp: compression %q has not been offered", method)
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
