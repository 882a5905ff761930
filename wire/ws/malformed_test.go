package ws

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

var codecOptions wire.CodecOptions

const smallFrame = 64 << 10

// strict sets short timeouts and a small message limit. The peers that are served need some of
// FrameTime on a busy machine, also for their handshakes.
func strict(o *wire.Options) {
	o.Limits = wire.Limits{Frame: smallFrame, FrameTime: time.Second, OutboxBytes: 64 << 10, Outbox: 256}
}

// Each of these inputs ends its own session with the right close frame, allocates little, and
// does not affect another session.
func TestMalformedInput(t *testing.T) {
	for _, c := range []struct {
		name string
		say  []byte
		code int
		says string
	}{
		{"a byte, then silence", []byte{0x81}, 1008, "longer than 1s"},
		{"half a frame, then silence", frame(0x81, make([]byte, 100))[:20], 1008, "longer than 1s"},
		{"a fragment, then silence", frame(0x01, []byte("x")), 1008, "longer than 1s"},
		{"a fragment and a ping, then silence", append(frame(0x01, []byte("x")), frame(0x89, nil)...), 1008, "longer than 1s"},
		{"4 GiB are announced", announce(0x81, 4<<30), 1009, "longer than 65536 bytes"},
		{"2^63 bytes are announced", announce(0x81, 1<<63), 1009, "longer than 65536 bytes"},
		{"2^63-1 bytes are announced", announce(0x82, 1<<63-1), 1009, "longer than 65536 bytes"},
		{"a byte too many", frame(0x81, make([]byte, smallFrame+1)), 1009, "longer than 65536 bytes"},
		{"fragments with a byte too many", append(frame(0x01, make([]byte, smallFrame)), frame(0x80, []byte("x"))...), 1009, "longer than 65536 bytes"},
		{"2^63 bytes in a second fragment", append(frame(0x01, []byte("x")), announce(0x80, 1<<63-1)...), 1009, "longer than 65536 bytes"},
		{"a bomb", frame(0xc1, compressedZeros(t, 16<<20)), 1009, "longer than 65536 bytes"},
		{"unmasked", []byte{0x81, 1, 'x'}, 1002, "MASK"},
		{"reserved bits", frame(0xb1, []byte("x")), 1002, "RSV"},
		{"an unknown kind", frame(0x83, []byte("x")), 1002, "opcode 3"},
		{"a compressed ping", frame(0xb9, []byte("x")), 1002, "RSV"},
		{"a long ping", frame(0x89, make([]byte, 126)), 1002, "125"},
		{"a fragmented ping", frame(0x09, nil), 1002, "FIN"},
		{"a continuation of nothing", frame(0x80, []byte("x")), 1002, "continuation"},
		{"a message within another", append(frame(0x01, []byte("x")), frame(0x81, []byte("x"))...), 1002, "FIN"},
		{"a close code that must not travel", frame(0x88, []byte{0x03, 0xed}), 1002, "1005"},
		{"no text", frame(0x81, []byte{'"', 0xff, '"'}), 1007, "UTF-8"},
		{"half a character", frame(0x81, []byte("x\xe2\x82")), 1007, "UTF-8"},
		{"corrupt compression", frame(0xc1, []byte{0xff, 0xff, 0xff}), 1007, "corrupt"},
		{"half a compressed message", frame(0xc1, compressedZeros(t, 1000)[:4]), 1007, "corrupt"},
		{"no protocol", frame(0x81, []byte("GET / HTTP/1.1")), 0, ""}, // the dialect refuses the message and the session continues
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, Options{Compression: true}, func(o *wire.Options) {
				if strict(o); !strings.HasPrefix(c.says, "longer than 1s") {
					o.Limits.FrameTime = patience.Time // the rest of an input may be late on a busy machine
				}
			})
			g := dialSession(t, h.URL(), DialOptions{})
			g.request(t, "before", 1)
			before := allocated()
			s := dialUpgraded(t, h)
			s.send(t, c.say)
			g.request(t, "meanwhile", 2)
			if c.code == 0 {
				s.send(t, frame(0x88, nil))
			}
			code, reason := s.receiveClose(t)
			if c.code == 0 {
				c.code = 1000
			}
			if code != c.code || !strings.Contains(reason, c.says) {
				t.Errorf("closed with %d %q; want %d and %q", code, reason, c.code, c.says)
			}
			wantBroken(t, h.AwaitEnd(t, 1)[0], c.says)
			if cost := allocated() - before; cost > 4<<20 {
				t.Errorf("the input allocated %d bytes", cost)
			}
			g.request(t, "after", 3)
		})
	}
}

// wantBroken checks that a session ended with a refusal whose text contains says.
func wantBroken(t *testing.T, err error, says string) {
	t.Helper()
	var r *performatives.Refusal
	if says == "" && err == nil {
		return
	}
	if !errors.As(err, &r) || !strings.Contains(r.Text, says) {
		t.Errorf("the session ended with %v; want %q", err, says)
	}
}

// allocated returns the number of bytes allocated since the start of the process.
func allocated() uint64 {
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A compressed message is a protocol violation when compression was not negotiated.
func TestCompressionWithoutNegotiation(t *testing.T) {
	h := start(t, Options{}, nil)
	s := dialUpgraded(t, h)
	s.send(t, frame(0xc1, compressedZeros(t, 1000)))
	if code, reason := s.receiveClose(t); code != 1002 || !strings.Contains(reason, "RSV1") {
		t.Errorf("closed with %d %q", code, reason)
	}
	wantBroken(t, h.AwaitEnd(t, 1)[0], "RSV1")
}

// Pings and pongs between the fragments of a message are handled and are no part of the
// message. A message after the close frame is discarded.
func TestInterleaved(t *testing.T) {
	h := start(t, Options{}, nil)
	s := dialUpgraded(t, h)
	m := plain(t)
	s.send(t, bytes.Join([][]byte{
		frame(0x01, m[:5]), frame(0x89, []byte("1")), frame(0x00, nil), frame(0x8a, []byte("x")), frame(0x00, m[5:9]),
		frame(0x89, []byte("2")), frame(0x80, m[9:]), frame(0x81, nil),
	}, nil))
	pongs, answers := "", 0
	for range 4 {
		switch first, payload := s.receive(t); first {
		case 0x8a:
			pongs += string(payload)
		case 0x81:
			answers++
		}
	}
	if pongs != "12" || answers != 2 { // one of them for the empty message
		t.Errorf("pongs %q and %d answers", pongs, answers)
	}
	s.send(t, append(frame(0x88, []byte{0x03, 0xe8}), frame(0x81, m)...))
	if code, _ := s.receiveClose(t); code != 1000 {
		t.Errorf("closed with %d", code)
	}
	if err := h.AwaitEnd(t, 1)[0]; err != nil || len(h.Received()) != 1 {
		t.Errorf("the session ended with %v after %d messages", err, len(h.Received()))
	}
}

// Input before the upgrade is bounded in time and in length.
func TestNoUpgrade(t *testing.T) {
	for _, c := range []struct{ name, say, answer string }{
		{"garbage", "\x16\x03\x01\x02\x00\r\n\r\n", "HTTP/1.1 400"},
		{"half a header, then silence", "GET /mcp HTTP/1.1\r\nHost:", ""},
		{"nothing", "", ""},
		{"an endless header", "GET /mcp HTTP/1.1\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431"},
		{"a body that does not come", "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 405"},
		{"a frame too early", handshake + string(frame(0x81, []byte("x"))), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of them wait
			h := start(t, Options{}, strict)
			g := dialSession(t, h.URL(), DialOptions{})
			s := dialRaw(t, h)
			s.send(t, []byte(c.say))
			g.request(t, "meanwhile", 1)
			got, _ := io.ReadAll(s.r) // a reset is acceptable too
			if !strings.HasPrefix(string(got), c.answer) || bytes.Contains(got, []byte(" 101 ")) {
				t.Errorf("the answer is %q", got)
			}
			if n := len(h.Sessions()); n != 1 {
				t.Errorf("there are %d sessions", n)
			}
		})
	}
}

// An endless sequence of fragments is bounded by its total length and by time.
func TestEndlessFragments(t *testing.T) {
	for name, c := range map[string]struct {
		fragment []byte
		code     int
	}{
		"long":              {frame(0x00, make([]byte, 1000)), 1009},
		"empty":             {bytes.Repeat(frame(0x00, nil), 100), 1008},
		"empty, with pings": {append(bytes.Repeat(frame(0x00, nil), 100), frame(0x89, nil)...), 1008},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, Options{}, strict)
			g := dialSession(t, h.URL(), DialOptions{})
			s := dialUpgraded(t, h)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, err := s.Write(frame(0x01, []byte("x")))
				for err == nil {
					_, err = s.Write(c.fragment)
				}
			}()
			all := make(chan []byte)
			go func() { // at once: a peer that lets pongs pile up for FrameTime is disconnected without a close frame
				b, _ := io.ReadAll(s.r)
				all <- b
			}()
			g.request(t, "meanwhile", 1)
			s.r = bufio.NewReader(bytes.NewReader(<-all))
			first, payload := s.receive(t)
			for first != 0x88 {
				first, payload = s.receive(t)
			}
			if code := int(payload[0])<<8 | int(payload[1]); code != c.code {
				t.Errorf("closed with %d, want %d", code, c.code)
			}
			if h.AwaitEnd(t, 1)[0] == nil {
				t.Error("the session ended in order")
			}
			<-done
		})
	}
}

// A flood of frames slows down only the peer that sends it.
func TestFloods(t *testing.T) {
	for name, one := range map[string][]byte{
		"nonsense": frame(0x81, []byte("x")),
		"pings":    frame(0x89, []byte("are you there?")),
		"pongs":    frame(0x8a, nil),
	} {
		for _, reads := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", and reads", false: ", and does not read"}[reads], func(t *testing.T) {
				h := start(t, Options{}, strict)
				h.Answer = func(s *wire.Session, m *message) error { return s.Send(reply(t, m)) }
				g := dialSession(t, h.URL(), DialOptions{})
				s := dialUpgraded(t, h)
				done := make(chan struct{})
				if reads {
					go func() { _, _ = io.Copy(io.Discard, s.r) }()
				}
				go func() {
					defer close(done)
					_, _ = s.Write(bytes.Repeat(one, wiretest.Many(100_000)))
					_, _ = s.Write(frame(0x88, nil))
				}()
				for i := range 10 {
					g.request(t, "meanwhile", i+1)
				}
				_ = h.AwaitEnd(t, 1) // in order, or with an error when the peer does not read
				<-done
			})
		}
	}
}

// The session of a peer that does not read ends when a write exceeds its deadline.
func TestPeerThatNeverReads(t *testing.T) {
	h := start(t, Options{}, strict)
	g := dialSession(t, h.URL(), DialOptions{})
	s := dialUpgraded(t, h)
	s.send(t, frame(0x81, plain(t)))
	g.request(t, "hello", 1)
	session := h.Session(t, 0)
	if h.Session(t, 1).Peer().Addr == s.LocalAddr().String() {
		session = h.Session(t, 1)
	}
	for session.Send(wiretest.Message(t, "b", "a", wiretest.Long(32<<10))) == nil {
	}
	if err := h.AwaitEnd(t, 1)[0]; !errors.Is(err, wire.ErrSlow) {
		t.Errorf("the session ended with %v", err)
	}
	g.request(t, "still there?", 2)
}
