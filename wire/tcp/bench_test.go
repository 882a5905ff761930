package tcp_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// BenchmarkEcho sends 1 KiB back and forth over loopback with a window of messages in flight:
// as plain frames, flushed when idle or one by one, and as messages between two sessions.
func BenchmarkEcho(b *testing.B) {
	for _, window := range []int{64, 1} {
		b.Run(fmt.Sprintf("window=%d/raw, flushed when idle", window), func(b *testing.B) { benchRaw(b, window, true) })
		b.Run(fmt.Sprintf("window=%d/raw, a write per frame", window), func(b *testing.B) { benchRaw(b, window, false) })
		b.Run(fmt.Sprintf("window=%d/session", window), func(b *testing.B) { benchSession(b, window, tcp.DialOptions{}) })
		b.Run(fmt.Sprintf("window=%d/session, 16 bytes", window), func(b *testing.B) { benchSession(b, window, tcp.DialOptions{Versioned: true}) })
	}
}

const benchSize = 1 << 10

// benchRaw echoes frames.
func benchRaw(b *testing.B, window int, idle bool) {
	client, server := loopback(b)
	go echoFrames(server, idle)
	slots := make(chan struct{}, window)
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReaderSize(client, 64<<10)
		for readFrame(r) != nil {
			<-slots
		}
	}()
	w := bufio.NewWriterSize(client, 64<<10)
	frame := frame7(1, wiretest.Long(benchSize))
	b.SetBytes(benchSize)
	b.ReportAllocs()
	for b.Loop() {
		select {
		case slots <- struct{}{}:
		default:
			_ = w.Flush()
			slots <- struct{}{}
		}
		_, _ = w.Write(frame)
		if !idle {
			_ = w.Flush()
		}
	}
	_ = w.Flush()
	for range window { // until all echoes have arrived
		slots <- struct{}{}
	}
	_ = client.Close()
	<-done
}

// echoFrames sends each frame back until the connection ends.
func echoFrames(c net.Conn, idle bool) {
	r, w := bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	for {
		frame := readFrame(r)
		if frame == nil {
			_ = c.Close()
			return
		}
		_, _ = w.Write(frame)
		if !idle || r.Buffered() == 0 {
			_ = w.Flush()
		}
	}
}

// readFrame reads a frame with a 7-byte header, or returns nil at the end. The frame is valid
// until the next call.
func readFrame(r *bufio.Reader) []byte {
	h, err := r.Peek(7)
	if err != nil {
		return nil
	}
	n := 7 + int(binary.BigEndian.Uint32(h[3:]))
	frame, err := r.Peek(n)
	if err != nil {
		return nil
	}
	_, _ = r.Discard(n)
	return frame
}

// loopback returns the two ends of a connection.
func loopback(b *testing.B) (client, server net.Conn) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	return client, server
}

// bareDialect is a dialect whose frames are the payload of an INFORM.
type bareDialect struct{}

func (bareDialect) Name() string                                      { return "bare" }
func (bareDialect) Recognizes([]byte) bool                            { return true }
func (bareDialect) Open(wire.CodecOptions) (wire.Codec, error)        { return bareDialect{}, nil }
func (bareDialect) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

func (bareDialect) Decode(frame []byte, take func(wire.Inbound)) {
	m, err := performatives.New(performatives.Envelope{
		ID: "1", Sender: "a", Receiver: "b", Performative: performatives.ActInform, Timestamp: time.Unix(1, 0),
		Payload: performatives.Raw(append([]byte(nil), frame...)),
	})
	if err != nil {
		panic(err)
	}
	take(wire.Inbound{Message: m})
}

func (bareDialect) Encode(dst []byte, m *performatives.Message) ([]byte, error) {
	return append(dst, m.Payload().(performatives.Raw)...), nil
}

// onReceive is a handler that calls a function for each message.
type onReceive func(s *wire.Session, m *performatives.Message) error

func (onReceive) Opened(*wire.Session)                                                      {}
func (fn onReceive) Receive(s *wire.Session, m *performatives.Message) error                { return fn(s, m) }
func (onReceive) Undelivered(*wire.Session, *performatives.Message, *performatives.Refusal) {}
func (onReceive) Closed(*wire.Session, error)                                               {}

// benchSession echoes messages.
func benchSession(b *testing.B, window int, d tcp.DialOptions) {
	back := onReceive(func(s *wire.Session, m *performatives.Message) error { return s.Send(m) })
	h := serve(b, tcp.Options{}, func(o *wire.Options) { o.Handler, o.Dialects = back, []wire.Dialect{bareDialect{}} })
	slots := make(chan struct{}, window)
	took := onReceive(func(*wire.Session, *performatives.Message) error { <-slots; return nil })
	s, err := wire.Connect(dial(b, h.addr, d), wire.Options{Handler: took, Dialects: []wire.Dialect{bareDialect{}}})
	if err != nil {
		b.Fatal(err)
	}
	m := wiretest.Of(b, performatives.Envelope{
		Sender: "a", Receiver: "b", Performative: performatives.ActInform, Payload: wiretest.Raw(wiretest.Long(benchSize - len(`{"text":""}`))),
	})
	b.SetBytes(benchSize)
	b.ReportAllocs()
	for b.Loop() {
		slots <- struct{}{}
		if err := s.Send(m); err != nil {
			b.Fatal(err)
		}
	}
	for range window { // until all echoes have arrived
		slots <- struct{}{}
	}
	stop(b, s.Stop)
}

// BenchmarkWrite writes 64 frames of 1 KiB: copied into one buffer as this package does, with
// one vectored write (writev), and one by one.
func BenchmarkWrite(b *testing.B) {
	payload := []byte(wiretest.Long(benchSize))
	frames := make([]wire.Frame, 64)
	for i := range frames {
		frames[i] = wire.Frame{Kind: wire.KindData, Data: payload}
	}
	header := frame7(1, string(payload))[:7]
	b.Run("this package", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		c := dial(b, l.Addr().String(), tcp.DialOptions{})
		server, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		benchWrite(b, server, c.Close, func() error { return c.Write(frames) })
	})
	b.Run("net.Buffers", func(b *testing.B) {
		client, server := loopback(b)
		var all net.Buffers
		benchWrite(b, server, client.Close, func() error {
			bufs := all[:0]
			for range frames {
				bufs = append(bufs, header, payload)
			}
			all = bufs
			_, err := bufs.WriteTo(client)
			return err
		})
	})
	b.Run("a write per frame", func(b *testing.B) {
		client, server := loopback(b)
		frame := append(header[:7:7], payload...)
		benchWrite(b, server, client.Close, func() error {
			for range frames {
				if _, err := client.Write(frame); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func benchWrite(b *testing.B, server net.Conn, end func() error, write func() error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{server}, make([]byte, 256<<10))
		_ = server.Close()
	}()
	b.SetBytes(64 * benchSize)
	b.ReportAllocs()
	for b.Loop() {
		if err := write(); err != nil {
			b.Fatal(err)
		}
	}
	_ = end()
	<-done
}
