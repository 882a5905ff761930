package tcp

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// tape is a connection whose other end has said all that it will say.
type tape struct {
	in       io.Reader
	out      bytes.Buffer
	writes   int
	deadline []time.Time // that were set for reading
}

func (t *tape) Read(p []byte) (int, error) { return t.in.Read(p) }
func (t *tape) Write(p []byte) (int, error) {
	t.writes++
	return t.out.Write(p)
}
func (t *tape) Close() error                       { return nil }
func (t *tape) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (t *tape) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (t *tape) SetDeadline(time.Time) error        { return nil }
func (t *tape) SetWriteDeadline(time.Time) error   { return nil }
func (t *tape) SetReadDeadline(at time.Time) error { t.deadline = append(t.deadline, at); return nil }

// play returns the end of a connection on which b comes in.
func play(in io.Reader, f form, server bool, limit int) (*conn, *tape) {
	t := &tape{in: in}
	c := newConn(t, t, connOptions{form: f, server: server, limits: wire.Limits{Frame: limit, FrameTime: time.Minute}})
	return c, t
}

// heard reads everything that comes, copied, and why it ended.
func heard(c *conn) (frames []wire.Frame, err error) {
	keep := func(f wire.Frame) {
		f.Data = bytes.Clone(f.Data)
		frames = append(frames, f)
	}
	for {
		b, err := c.Read(keep)
		if err != nil {
			return frames, err
		}
		keep(wire.Frame{Kind: wire.KindData, Data: b})
	}
}

// written returns what frames are in a form.
func written(f form, frames ...wire.Frame) []byte {
	c, t := play(nil, f, true, wire.DefaultMaxFrame)
	if err := c.Write(frames); err != nil {
		panic(err)
	}
	return t.out.Bytes()
}
