package tcp

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// scriptedNet is a network connection with fixed input. It records its output.
type scriptedNet struct {
	in        io.Reader
	out       bytes.Buffer
	writes    int
	deadlines []time.Time // values passed to SetReadDeadline
}

func (t *scriptedNet) Read(p []byte) (int, error) { return t.in.Read(p) }
func (t *scriptedNet) Write(p []byte) (int, error) {
	t.writes++
	return t.out.Write(p)
}
func (t *scriptedNet) Close() error                     { return nil }
func (t *scriptedNet) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *scriptedNet) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *scriptedNet) SetDeadline(time.Time) error      { return nil }
func (t *scriptedNet) SetWriteDeadline(time.Time) error { return nil }
func (t *scriptedNet) SetReadDeadline(at time.Time) error {
	t.deadlines = append(t.deadlines, at)
	return nil
}

// newScripted returns a connection whose input is in.
func newScripted(in io.Reader, f form, server bool, limit int) (*conn, *scriptedNet) {
	t := &scriptedNet{in: in}
	c := newConn(t, t, connOptions{form: f, server: server, limits: wire.Limits{Frame: limit, FrameTime: time.Minute}})
	return c, t
}

// readAll reads all frames and the final error. It copies the payloads.
func readAll(c *conn) (frames []wire.Frame, err error) {
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

// encoded returns frames in the given form.
func encoded(f form, frames ...wire.Frame) []byte {
	c, t := newScripted(nil, f, true, wire.DefaultMaxFrame)
	if err := c.Write(frames); err != nil {
		panic(err)
	}
	return t.out.Bytes()
}
