package wire_test

import (
	"context"
	"io"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// constantDialect is a dialect that decodes every frame to the same message, so that a
// benchmark measures the session alone.
type constantDialect struct{ m *performatives.Message }

// Name returns "constant".
func (constantDialect) Name() string { return "constant" }

// Recognizes returns true.
func (constantDialect) Recognizes([]byte) bool { return true }

// Open returns a codec.
func (c constantDialect) Open(wire.CodecOptions) (wire.Codec, error) { return c, nil }

// Decode passes the message to take.
func (c constantDialect) Decode(_ []byte, take func(wire.Inbound)) {
	take(wire.Inbound{Message: c.m, Token: tokenCRM})
}

// Encode appends a byte.
func (constantDialect) Encode(dst []byte, _ *performatives.Message) ([]byte, error) {
	return append(dst, '.'), nil
}

// Refuse returns dst unchanged.
func (constantDialect) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

// benchConn is a connection that yields a number of frames and counts written frames.
type benchConn struct {
	frames atomic.Int64
	taken  atomic.Int64
	begin  chan struct{} // Read blocks until it is closed
}

// Read returns the next frame.
func (s *benchConn) Read(func(wire.Frame)) ([]byte, error) {
	<-s.begin
	if s.frames.Add(-1) < 0 {
		return nil, io.EOF
	}
	return []byte("."), nil
}

// Write counts the frames.
func (s *benchConn) Write(frames []wire.Frame) error {
	s.taken.Add(int64(len(frames)))
	return nil
}

// SetLimit does nothing.
func (*benchConn) SetLimit(int) {}

// Close does nothing.
func (*benchConn) Close() error { return nil }

// Peer returns a name.
func (*benchConn) Peer() wire.Peer { return wire.Peer{Transport: "spring"} }

// nopHandler is a handler that does nothing.
type nopHandler struct{}

// Opened does nothing.
func (nopHandler) Opened(*wire.Session) {}

// Receive does nothing.
func (nopHandler) Receive(*wire.Session, *performatives.Message) error { return nil }

// Undelivered does nothing.
func (nopHandler) Undelivered(*wire.Session, *performatives.Message, *performatives.Refusal) {}

// Closed does nothing.
func (nopHandler) Closed(*wire.Session, error) {}

// BenchmarkReceive measures the cost of a session per received message.
func BenchmarkReceive(b *testing.B) {
	known := authenticator(func(wire.Credentials) (wire.Identity, error) { return wire.Identity{Name: "crm"}, nil })
	rate := wire.Rate{Messages: 1 << 40, Window: time.Second}
	for name, o := range map[string]wire.Options{
		"anonymous":       {Anonymous: true},
		"token":           {Auth: known},
		"token and rates": {Auth: known, ConnectionRate: rate, AgentRate: rate},
		"replay":          {Auth: known, ReplayWindow: 24 * time.Hour},
	} {
		b.Run(name, func(b *testing.B) {
			o.Handler, o.Dialects = nopHandler{}, []wire.Dialect{constantDialect{wiretest.Message(b, "crm", "b", "x")}}
			server, err := wire.NewServer(o)
			if err != nil {
				b.Fatal(err)
			}
			conn := &benchConn{begin: make(chan struct{})}
			conn.frames.Store(int64(b.N))
			ended := make(chan struct{})
			go func() { _ = server.Serve(conn, nil); close(ended) }()
			b.ReportAllocs()
			b.ResetTimer()
			close(conn.begin)
			<-ended
			if got := server.Counts().Received; got != uint64(b.N) {
				b.Fatalf("%d messages of %d", got, b.N)
			}
		})
	}
}

// BenchmarkSend measures the cost of a session per sent message.
func BenchmarkSend(b *testing.B) {
	m := wiretest.Message(b, "a", "b", "x")
	conn := &benchConn{begin: make(chan struct{})}
	s, err := wire.Connect(conn, wire.Options{Handler: nopHandler{}, Dialects: []wire.Dialect{constantDialect{m}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		for s.Send(m) != nil {
			goruntime.Gosched() // the outbox is full
		}
		n++
	}
	for conn.taken.Load() < n {
		goruntime.Gosched()
	}
	close(conn.begin)
	if err := s.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
}
