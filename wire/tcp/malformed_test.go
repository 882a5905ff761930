package tcp_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// allocated returns the number of bytes that fn makes the process allocate.
func allocated(fn func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	fn()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// heap returns the number of bytes in use.
func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// besides returns a well-behaved peer that must be served during the test.
func besides(t *testing.T, h *host) *client {
	t.Helper()
	g := join(t, h.addr, tcp.DialOptions{}, wiretest.Dialect{})
	g.request(t, 10, "before")
	t.Cleanup(func() {
		if !t.Failed() {
			g.request(t, 10, "after")
		}
	})
	return g
}

// Garbage is refused with an error frame that names the reason.
func TestGarbage(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	besides(t, h)
	for i, b := range [][]byte{
		[]byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"),
		{0x16, 0x03, 0x01, 0x02, 0x00, 0x01}, // a TLS ClientHello
		bytes.Repeat([]byte{0xFF}, 100_000),
		{0},
	} {
		r := rawDial(t, h)
		_, _ = r.Write(b) // may fail when the server has already closed the connection
		r.refused("INVALID_REQUEST", "a frame does not begin with 4D 43")
		wantRefusal(t, h.AwaitEnd(t, i+1)[i], "a frame does not begin with 4D 43")
	}
}

func wantRefusal(t *testing.T, err error, text string) {
	t.Helper()
	var r *performatives.Refusal
	if !errors.As(err, &r) || r.Text != text {
		t.Errorf("the session ended with %v, want %q", err, text)
	}
}

// The time limit of a frame starts with its first byte. A connection between frames has none.
func TestHalfFrameAndSilence(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) { o.Limits.FrameTime = time.Second }) // the peers that are served need some of it on a busy machine
	besides(t, h)
	silent := rawDial(t, h)
	h.Session(t, 1)
	halves := [][]byte{frame7(1, requestFrame("hello"))[:20], {0x4D}, frame16(1, 1, "{}")[:16]}
	peers := make([]raw, len(halves))
	for i, half := range halves {
		peers[i] = rawDial(t, h)
		peers[i].write(half)
	}
	for _, err := range h.AwaitEnd(t, len(halves)) {
		wantRefusal(t, err, "a frame did not arrive in time")
	}
	for i, r := range peers {
		if i < 2 {
			r.refused("INVALID_REQUEST", "a frame did not arrive in time")
		} else if typ, p := r.read16(); typ != 5 || string(p) != "a frame did not arrive in time" {
			t.Errorf("type %d: %s", typ, p)
		}
	}
	silent.write(frame7(1, requestFrame("I am here"))) // after a silence longer than a frame's time limit
	if typ, p := silent.read7(); typ != 1 || !strings.Contains(string(p), "I am here") {
		t.Errorf("type %d: %s", typ, p)
	}
}

// A peer that sends single bytes within the time limit is served. The limit starts anew with
// each frame.
func TestByteByByte(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	besides(t, h)
	for _, f := range [][]byte{frame7(1, requestFrame("hello")), frame16(1, 1, requestFrame("hello"))} {
		r := rawDial(t, h)
		for range 2 {
			for _, b := range f {
				r.write([]byte{b})
			}
		}
		for range 2 {
			header := 7
			if f[2] == 0x50 {
				header = 16
			}
			if _, p := r.frame(header); !strings.Contains(string(p), "hello") {
				t.Errorf("the answer is %s", p)
			}
		}
	}
}

// A header with a length over the limit is refused before memory is allocated. A length
// within the limit allocates nothing before the payload arrives.
func TestHeadersAllocateNothing(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	besides(t, h)
	n := allocated(func() {
		for range 20 {
			r := rawDial(t, h)
			r.write([]byte{0x4D, 0x43, 1, 0xFF, 0xFF, 0xFF, 0xFF})
			r.refused("INVALID_REQUEST", "the frame is longer than 16777216 bytes")
			half := rawDial(t, h)
			half.write([]byte{0x4D, 0x43, 1, 0x01, 0, 0, 0}) // 16 MiB, which is within the limit
			_ = half.Close()
		}
	})
	if n > 16<<20 {
		t.Errorf("%d bytes were allocated for headers", n)
	}
	h.AwaitEnd(t, 40)
}

// A peer that continues to write after a violation can still read the error frame.
func TestRefusalCanBeRead(t *testing.T) {
	pki := newPKI(t)
	for _, o := range []tcp.Options{{}, {TLS: pki.server()}} {
		h := serve(t, o, func(o *wire.Options) { o.Limits.Frame = 1000 })
		r := rawDial(t, h)
		network := r.Conn.(*net.TCPConn)
		if o.TLS != nil {
			config := pki.client()
			config.ServerName = "127.0.0.1"
			r.Conn = tls.Client(r.Conn, config)
			r.in = bufio.NewReader(r.Conn)
		}
		r.write(frame7(1, wiretest.Long(512<<10)))
		_, said := r.read7()
		if typ, _ := r.read7(); typ != 5 || !strings.Contains(string(said), "longer than 1000 bytes") {
			t.Errorf("the error is %s, followed by type %d", said, typ)
		}
		_ = network.CloseWrite()
		if rest, err := io.ReadAll(r.in); err != nil || len(rest) > 0 {
			t.Errorf("after CLOSE: %q, %v", rest, err)
		}
	}
}

// A gzip bomb is decompressed only up to the limit.
func TestGzipBomb(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) {
		o.Dialects = []wire.Dialect{zipDialect{on: true}}
		o.Limits.Frame = 256 << 10
	})
	bomb := zipped(t, strings.Repeat("\x00", 8<<20))
	r := rawDial(t, h)
	r.write(frame7(1, requestFrame("gzip?")))
	r.read7()
	var said []byte
	n := allocated(func() {
		r.write(frame8(1, 1, bomb))
		_, said = r.read8()
		_ = r.Close()
		h.AwaitEnd(t, 1)
	})
	if n > 4<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
	if !strings.Contains(string(said), "longer than 262144 bytes after decompression") {
		t.Errorf("the error is %s", said)
	}
	other := join(t, h.addr, tcp.DialOptions{}, zipDialect{on: true})
	other.request(t, 1, "me?")
	other.request(t, 10, "after")
}

// A peer that sends 100,000 tiny frames before it reads the answers is read more slowly.
// Other peers are not affected, and each frame is answered in the end.
func TestManyTinyFrames(t *testing.T) {
	n := wiretest.Many(100_000)
	h := serve(t, tcp.Options{}, nil)
	other := besides(t, h)
	before := heap()
	r := rawDial(t, h)
	var written atomic.Int64
	done := make(chan error, 1)
	go func() {
		chunk := bytes.Repeat(append(frame7(2, ""), frame7(1, "{}")...), 100)
		for range n / 200 {
			k, err := r.Write(chunk)
			written.Add(int64(k))
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for range 20 {
		other.request(t, 20, "meanwhile")
		if now := heap(); now > before+32<<20 {
			t.Fatalf("%d bytes more in use after %d bytes came", now-before, written.Load())
		}
	}
	answers := 0
	for answers < n/2 { // pongs are dropped while the outbox is full
		if typ, _ := r.read7(); typ == 1 {
			answers++
		}
	}
	if err := <-done; err != nil {
		t.Errorf("the peer could not write: %v", err)
	}
}

// The session of a peer that sends and never reads ends with ErrSlow.
func TestPeerThatNeverReads(t *testing.T) {
	h := serve(t, tcp.Options{}, func(o *wire.Options) {
		o.Limits.FrameTime = time.Second // the other peer needs some of it on a busy machine
		o.Limits.Outbox = 64
	})
	h.Answer = func(s *wire.Session, m *performatives.Message) error {
		if wiretest.Text(m) != "greedy" {
			return echo(s, m)
		}
		return s.Send(wiretest.Message(t, "b", "a", wiretest.Long(256<<10)))
	}
	other := besides(t, h)
	before := heap()
	r := rawDial(t, h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ask := frame7(1, requestFrame("greedy"))
		for {
			if _, err := r.Write(ask); err != nil {
				return
			}
		}
	}()
	for ended := false; !ended; {
		other.request(t, 5, "meanwhile")
		ended = len(h.Ends()) > 0
		if now := heap(); now > before+128<<20 { // the outbox holds 16 MiB, and the recorder keeps all messages
			t.Fatalf("%d bytes more in use", now-before)
		}
	}
	if err := h.Ends()[0]; !errors.Is(err, wire.ErrSlow) {
		t.Errorf("the session ended with %v, want %v", err, wire.ErrSlow)
	}
	<-done
}

// A connection that ends within a frame or without CLOSE ends its session with an error.
func TestEndWithoutClose(t *testing.T) {
	h := serve(t, tcp.Options{}, nil)
	besides(t, h)
	r := rawDial(t, h)
	r.write(frame7(1, requestFrame("hello"))[:30])
	_ = r.Close()
	if err := h.AwaitEnd(t, 1)[0]; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("within a frame: %v", err)
	}
	r = rawDial(t, h)
	r.write(frame7(2, ""))
	r.read7()
	if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if err := h.AwaitEnd(t, 2)[1]; !errors.Is(err, wire.ErrHungUp) {
		t.Errorf("between two: %v", err)
	}
}
