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

// Write collects its frames in one network write, or in few when there is much data.
func TestWriteCoalesces(t *testing.T) {
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
			f := &fakeNet{}
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
				t.Errorf("%s: the connection keeps a write buffer", c.name)
			}
		}
	}
}

// A peer that reads slowly does not extend the deadline of a write.
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

// Messages that arrive together are read with few network reads, and an idle connection keeps
// no large buffer.
func TestReadsAhead(t *testing.T) {
	var in []byte
	const n = 400
	for range n {
		in = append(in, frame(0x81, text(1000))...)
	}
	reads := 0
	f := &fakeNet{in: bytes.NewReader(in), wait: func() { reads++ }}
	c := serverOn(t, f, false, wire.DefaultMaxFrame)
	for i := range n {
		if got, err := c.Read(nil); err != nil || len(got) != 1000 {
			t.Fatalf("message %d: %d bytes, %v", i, len(got), err)
		}
	}
	if most := len(in)/readAhead + 3; reads > most {
		t.Errorf("%d reads for %d bytes, want at most %d", reads, len(in), most)
	}
	if _, err := c.Read(nil); err != io.EOF { //nolint:errorlint // required by wire.Conn
		t.Errorf("Read at the end: %v", err)
	}
	if c.data != nil || c.socket.buffer != nil {
		t.Error("the connection keeps its buffers")
	}
}

// A read deadline is set while a message is incomplete, and at no other time.
func TestDeadlines(t *testing.T) {
	ping, one := frame(0x89, []byte("x")), frame(0x81, text(300))
	two := append(frame(0x01, text(50)), frame(0x80, text(50))...)
	in := bytes.Join([][]byte{ping, one, two, ping, one}, nil)
	ends := map[int]bool{0: true, len(ping): true} // offsets between messages: no deadline
	at := len(ping) + len(one)
	ends[at] = true
	at += len(two)
	ends[at] = true
	ends[at+len(ping)] = true
	ends[len(in)] = true

	at = 0
	f := &fakeNet{in: iotest.OneByteReader(bytes.NewReader(in))}
	c := serverOn(t, f, false, wire.DefaultMaxFrame)
	f.wait = func() {
		if f.deadlineSet == ends[at] {
			t.Errorf("at byte %d of %d a deadline is set: %v", at, len(in), f.deadlineSet)
		}
		at++
	}
	for range 3 {
		if _, err := c.Read(func(wire.Frame) {}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Read(nil); err != io.EOF { //nolint:errorlint // required by wire.Conn
		t.Errorf("Read at the end: %v", err)
	}
}

// The end of the network connection within a message is an error.
func TestEndWithinAMessage(t *testing.T) {
	whole := frame(0x01, text(300))
	for n := 1; n <= len(whole); n++ {
		c := serverOn(t, &fakeNet{in: bytes.NewReader(whole[:n])}, false, wire.DefaultMaxFrame)
		if _, err := c.Read(nil); err == io.EOF || err == nil { //nolint:errorlint // required by wire.Conn
			t.Fatalf("after %d bytes Read returns %v", n, err)
		}
	}
}

// The limit may change between messages.
func TestSetLimit(t *testing.T) {
	in := bytes.Join([][]byte{frame(0x81, text(10)), frame(0x81, text(20)), frame(0x81, text(21))}, nil)
	c := serverOn(t, &fakeNet{in: bytes.NewReader(in)}, false, 10)
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
