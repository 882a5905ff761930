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

// constant is a dialect of one message, so that a benchmark measures what a session itself
// costs.
type constant struct{ m *performatives.Message }

// Name returns "constant".
func (constant) Name() string { return "constant" }

// Recognizes returns true.
func (constant) Recognizes([]byte) bool { return true }

// Open returns a codec.
func (c constant) Open(wire.CodecOptions) (wire.Codec, error) { return c, nil }

// Decode gives the message, whatever the frame.
func (c constant) Decode(_ []byte, take func(wire.Inbound)) {
	take(wire.Inbound{Message: c.m, Token: tokenCRM})
}

// Encode appends a byte.
func (constant) Encode(dst []byte, _ *performatives.Message) ([]byte, error) {
	return append(dst, '.'), nil
}

// Refuse says nothing.
func (constant) Refuse(dst []byte, _ wire.Inbound, _ error) []byte { return dst }

// spring is a connection that has a number of frames, and takes any.
type spring struct {
	frames atomic.Int64
	taken  atomic.Int64
	begin  chan struct{} // begins
}

// Read returns the next frame.
func (s *spring) Read(func(wire.Frame)) ([]byte, error) {
	<-s.begin
	if s.frames.Add(-1) < 0 {
		return nil, io.EOF
	}
	return []byte("."), nil
}

// Write counts.
func (s *spring) Write(frames []wire.Frame) error {
	s.taken.Add(int64(len(frames)))
	return nil
}

// SetLimit does nothing.
func (*spring) SetLimit(int) {}

// Close does nothing.
func (*spring) Close() error { return nil }

// Peer says nothing.
func (*spring) Peer() wire.Peer { return wire.Peer{Transport: "spring"} }

// nothing is a handler that does nothing.
type nothing struct{}

// Opened does nothing.
func (nothing) Opened(*wire.Session) {}

// Receive does nothing.
func (nothing) Receive(*wire.Session, *performatives.Message) error { return nil }

// Undelivered does nothing.
func (nothing) Undelivered(*wire.Session, *performatives.Message, *performatives.Refusal) {}

// Closed does nothing.
func (nothing) Closed(*wire.Session, error) {}

// BenchmarkReceive is what a session adds to a message that comes in.
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
			o.Handler, o.Dialects = nothing{}, []wire.Dialect{constant{wiretest.Message(b, "crm", "b", "x")}}
			server, err := wire.NewServer(o)
			if err != nil {
				b.Fatal(err)
			}
			conn := &spring{begin: make(chan struct{})}
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

// BenchmarkSend is what a session adds to a message that goes out.
func BenchmarkSend(b *testing.B) {
	m := wiretest.Message(b, "a", "b", "x")
	conn := &spring{begin: make(chan struct{})}
	s, err := wire.Connect(conn, wire.Options{Handler: nothing{}, Dialects: []wire.Dialect{constant{m}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := int64(0)
	for b.Loop() {
		for s.Send(m) != nil {
			goruntime.Gosched() // it is full
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
