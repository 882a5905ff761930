package wiretest

import (
	"io"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Pipe returns the two ends of an in-memory connection. Write blocks until the other end has
// read the frame, so that a test controls the speed of its peer. It works in a synctest
// bubble.
func Pipe() (a, b wire.Conn) {
	ab, ba := make(chan wire.Frame), make(chan wire.Frame)
	shut := make(chan struct{})
	once := new(sync.Once)
	closing := func() { once.Do(func() { close(shut) }) }
	return &pipe{in: ba, out: ab, shut: shut, close: closing, limit: wire.DefaultMaxFrame},
		&pipe{in: ab, out: ba, shut: shut, close: closing, limit: wire.DefaultMaxFrame}
}

type pipe struct {
	in    <-chan wire.Frame
	out   chan<- wire.Frame
	shut  chan struct{}
	close func()
	limit int
}

// Read returns the next data frame.
func (p *pipe) Read(control func(wire.Frame)) ([]byte, error) {
	for {
		select {
		case f := <-p.in:
			switch {
			case f.Kind != wire.KindData:
				control(f)
			case len(f.Data) > p.limit:
				return nil, &performatives.Refusal{Code: performatives.CodeParsingError, Text: "the frame is too long"}
			default:
				return f.Data, nil
			}
		case <-p.shut:
			return nil, io.EOF
		}
	}
}

// Write passes frames to the other end one by one.
func (p *pipe) Write(frames []wire.Frame) error {
	for _, f := range frames {
		f.Data = append([]byte(nil), f.Data...)
		select {
		case p.out <- f:
		case <-p.shut:
			return io.ErrClosedPipe
		}
	}
	return nil
}

// SetLimit sets the largest length of a frame in bytes.
func (p *pipe) SetLimit(bytes int) { p.limit = bytes }

// Close closes both ends.
func (p *pipe) Close() error {
	p.close()
	return nil
}

// Peer returns a fixed address.
func (p *pipe) Peer() wire.Peer { return wire.Peer{Transport: "pipe", Addr: "pipe:0"} }
