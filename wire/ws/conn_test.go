package ws

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

func messages(n, bytes int) []wire.Frame {
	frames := make([]wire.Frame, n)
	for i := range frames {
		frames[i] = wire.Frame{Kind: wire.KindData, Data: text(bytes)}
	}
	return frames
}

// All that there is to write goes out in one write, in few when it is much.
func TestCoalesces(t *testing.T) {
	for _, c := range []struct {
		name           string
		frames         []wire.Frame
		writes, larger int
	}{
		{"one", messages(1, 100), 1, 0},
		{"some", append(messages(60, 1000), wire.Frame{Kind: wire.KindPing}, wire.Frame{Kind: wire.KindClose}), 1, 0},
		{"many", messages(640, 1000), 11, 0},
		{"long", messages(2, 1<<20), 34, 1 << 20},
		{"none", nil, 0, 0},
	} {
		for _, client := range []bool{false, true} {
			f := &fake{}
			out := output{network: f, client: client, time: 1}
			if err := out.write(c.frames, nil, 0); err != nil {
				t.Fatal(err)
			}
			if f.writes > c.writes || (f.writes == 0) != (c.writes == 0) {
				t.Errorf("%s (client %v): %d writes, want at most %d", c.name, client, f.writes, c.writes)
			}
			if most := maxBuffer + maxHeader; f.largest > max(most, c.larger) {
				t.Errorf("%s (client %v): a write of %d bytes", c.name, client, f.largest)
			}
			if out.buf != nil {
				t.Errorf("%s: a buffer is kept", c.name)
			}
		}
	}
}

// A peer that reads a little now and then does not make a write take longer than its
// time.
func TestSlowReader(t *testing.T) {
	for _, client := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer func() { _ = near.Close() }()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for buf := make([]byte, 64<<10); ; time.Sleep(10 * time.Second) {
					if _, err := far.Read(buf); err != nil {
						return
					}
				}
			}()
			began := time.Now()
			out := output{network: near, client: client, time: 30 * time.Second}
			err := out.write(messages(32, 64<<10), nil, 0)
			if took := time.Since(began); !errors.Is(err, wire.ErrSlow) || took != out.time {
				t.Errorf("client %v: %v after %v", client, err, took)
			}
			_ = near.Close()
			<-done
		})
	}
}

// What has arrived together is read together, however it is cut into messages; and an
// idle connection has given back what that took.
func TestReadsAhead(t *testing.T) {
	var in []byte
	const n = 400
	for range n {
		in = append(in, frame(0x81, text(1000))...)
	}
	reads := 0
	f := &fake{in: bytes.NewReader(in), wait: func() { reads++ }}
	c := serverOn(t, f, false, wire.DefaultMaxFrame)
	for i := range n {
		if got, err := c.Read(nil); err != nil || len(got) != 1000 {
			t.Fatalf("message %d: %d bytes, %v", i, len(got), err)
		}
	}
	if most := len(in)/readAhead + 3; reads > most {
		t.Errorf("%d reads for %d bytes, want at most %d", reads, len(in), most)
	}
	if _, err := c.Read(nil); err != io.EOF { //nolint:errorlint // the contract's own value
		t.Errorf("the end is %v", err)
	}
	if c.data != nil || c.socket.buffer != nil {
		t.Error("the connection keeps its buffers")
	}
}

// A deadline is set while a message is under way, and at no other time.
func TestDeadlines(t *testing.T) {
	ping, one := frame(0x89, []byte("x")), frame(0x81, text(300))
	two := append(frame(0x01, text(50)), frame(0x80, text(50))...)
	in := bytes.Join([][]byte{ping, one, two, ping, one}, nil)
	ends := map[int]bool{0: true, len(ping): true} // between messages: no deadline
	at := len(ping) + len(one)
	ends[at] = true
	at += len(two)
	ends[at] = true
	ends[at+len(ping)] = true
	ends[len(in)] = true

	at = 0
	f := &fake{in: iotest.OneByteReader(bytes.NewReader(in))}
	c := serverOn(t, f, false, wire.DefaultMaxFrame)
	f.wait = func() {
		if f.timed == ends[at] {
			t.Errorf("at byte %d of %d a deadline is set: %v", at, len(in), f.timed)
		}
		at++
	}
	for range 3 {
		if _, err := c.Read(func(wire.Frame) {}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Read(nil); err != io.EOF { //nolint:errorlint // the contract's own value
		t.Errorf("the end is %v", err)
	}
}

// A connection that ends within a message has not ended in order.
func TestEndsWithin(t *testing.T) {
	whole := frame(0x01, text(300))
	for n := 1; n <= len(whole); n++ {
		c := serverOn(t, &fake{in: bytes.NewReader(whole[:n])}, false, wire.DefaultMaxFrame)
		if _, err := c.Read(nil); err == io.EOF || err == nil { //nolint:errorlint // the contract's own value
			t.Fatalf("after %d bytes the end is %v", n, err)
		}
	}
}

// The limit may change between messages.
func TestSetLimit(t *testing.T) {
	in := bytes.Join([][]byte{frame(0x81, text(10)), frame(0x81, text(20)), frame(0x81, text(21))}, nil)
	c := serverOn(t, &fake{in: bytes.NewReader(in)}, false, 10)
	if _, err := c.Read(nil); err != nil {
		t.Fatal(err)
	}
	c.SetLimit(20)
	if _, err := c.Read(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(nil); err == nil {
		t.Error("a message beyond the limit is read")
	}
}
