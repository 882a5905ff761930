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

// tape is a connection that a test plays: what the peer says, and what becomes of writes.
// It keeps what was written.
type tape struct {
	shut chan struct{}
	said chan struct{} // there is something to read

	mu      sync.Mutex
	frames  []wire.Frame
	err     error         // after frames
	held    chan struct{} // writes wait for it; nil when they do not
	fate    int           // of the writes that were held
	written map[performatives.MessageID]int
	closes  int // CLOSE frames
	after   int // frames that came after one
}

func newTape() *tape {
	return &tape{shut: make(chan struct{}), said: make(chan struct{}, 1), written: make(map[performatives.MessageID]int)}
}

// say is what the peer says next.
func (c *tape) say(kind wire.Kind, text string) {
	c.mu.Lock()
	c.frames = append(c.frames, wire.Frame{Kind: kind, Data: []byte(text)})
	c.mu.Unlock()
	c.signal()
}

// hangUp is that the peer says nothing more.
func (c *tape) hangUp(err error) {
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	c.signal()
}

func (c *tape) signal() {
	select {
	case c.said <- struct{}{}:
	default:
	}
}

// hold has writes wait.
func (c *tape) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(chan struct{})
	}
}

// release has them go on: 2 is that they fail, 3 that they panic.
func (c *tape) release(fate int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fate = fate
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
}

// next returns what the peer says next, if it has said anything.
func (c *tape) next() (wire.Frame, bool, error) {
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
func (c *tape) Read(control func(wire.Frame)) ([]byte, error) {
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
		case <-c.said:
		case <-c.shut:
			return nil, io.EOF
		}
	}
}

// Write keeps the frames, when and if it is let.
func (c *tape) Write(frames []wire.Frame) error {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-c.shut:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.shut:
		return io.ErrClosedPipe
	default:
	}
	switch c.fate {
	case 2:
		return errors.New("the network is down")
	case 3:
		panic("a transport's mistake")
	}
	for _, f := range frames {
		c.keep(f)
	}
	return nil
}

func (c *tape) keep(f wire.Frame) {
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
func (*tape) SetLimit(int) {}

// Close ends reading and writing.
func (c *tape) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.shut:
	default:
		close(c.shut)
	}
	return nil
}

// Peer says that it is a tape.
func (*tape) Peer() wire.Peer { return wire.Peer{Transport: "tape", Addr: "tape:0"} }

// speakingTape is a tape that has one language.
type speakingTape struct{ *tape }

// Dialect returns it.
func (speakingTape) Dialect() wire.Dialect { return wiretest.Dialect{} }
