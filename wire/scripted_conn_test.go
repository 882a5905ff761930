package wire_test

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// scriptedConn is a connection that a test controls: the test feeds frames to Read and
// decides the result of Write. It records the written frames.
type scriptedConn struct {
	closed chan struct{}
	wake   chan struct{} // has a value after feed

	mu          sync.Mutex
	frames      []wire.Frame
	err         error         // returned by Read after frames
	blocked     chan struct{} // Write blocks until it is closed; nil when Write does not block
	writeResult int           // result of Write: 2 fails, 3 panics
	written     map[performatives.MessageID]int
	closes      int // written CLOSE frames
	after       int // frames written after a CLOSE frame
}

func newScriptedConn() *scriptedConn {
	return &scriptedConn{closed: make(chan struct{}), wake: make(chan struct{}, 1), written: make(map[performatives.MessageID]int)}
}

// feed adds a frame for Read.
func (c *scriptedConn) feed(kind wire.Kind, text string) {
	c.mu.Lock()
	c.frames = append(c.frames, wire.Frame{Kind: kind, Data: []byte(text)})
	c.mu.Unlock()
	c.signal()
}

// endInput makes Read return err after the frames.
func (c *scriptedConn) endInput(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	c.signal()
}

func (c *scriptedConn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// blockWrites makes Write block.
func (c *scriptedConn) blockWrites() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocked == nil {
		c.blocked = make(chan struct{})
	}
}

// releaseWrites sets the result of Write and unblocks it.
func (c *scriptedConn) releaseWrites(result int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeResult = result
	if c.blocked != nil {
		close(c.blocked)
		c.blocked = nil
	}
}

// next returns the next frame, if there is one.
func (c *scriptedConn) next() (wire.Frame, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.frames) == 0 {
		return wire.Frame{}, false, c.err
	}
	f := c.frames[0]
	c.frames = c.frames[1:]
	return f, true, nil
}

// Read returns the next data frame.
func (c *scriptedConn) Read(control func(wire.Frame)) ([]byte, error) {
	for {
		f, ok, err := c.next()
		switch {
		case err != nil:
			return nil, err
		case ok && f.Kind == wire.KindData:
			return f.Data, nil
		case ok:
			control(f)
			continue
		}
		select {
		case <-c.wake:
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// Write records the frames, or fails or panics as releaseWrites decided.
func (c *scriptedConn) Write(frames []wire.Frame) error {
	c.mu.Lock()
	blocked := c.blocked
	c.mu.Unlock()
	if blocked != nil {
		select {
		case <-blocked:
		case <-c.closed:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	default:
	}
	switch c.writeResult {
	case 2:
		return errors.New("the network is down")
	case 3:
		panic("test panic in Write")
	}
	for _, f := range frames {
		c.record(f)
	}
	return nil
}

func (c *scriptedConn) record(f wire.Frame) {
	if c.closes > 0 {
		c.after++
	}
	if f.Kind == wire.KindClose {
		c.closes++
	}
	var m struct{ ID performatives.MessageID }
	if f.Kind == wire.KindData && json.Unmarshal(f.Data, &m) == nil {
		c.written[m.ID]++
	}
}

// SetLimit does nothing.
func (*scriptedConn) SetLimit(int) {}

// Close ends reading and writing.
func (c *scriptedConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return nil
}

// Peer returns a fixed address.
func (*scriptedConn) Peer() wire.Peer { return wire.Peer{Transport: "tape", Addr: "tape:0"} }

// speakingConn is a scriptedConn with a fixed dialect.
type speakingConn struct{ *scriptedConn }

// Dialect returns the test dialect.
func (speakingConn) Dialect() wire.Dialect { return wiretest.Dialect{} }
