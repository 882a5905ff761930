package link

import (
	"crypto/tls"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

const kibibyte = 1 << 10

// long returns a message with a payload of 1 KiB.
func long(b *testing.B) *performatives.Message {
	b.Helper()
	payload := append(append([]byte(`{"x":"`), make([]byte, kibibyte-8)...), `"}`...)
	for i, c := range payload {
		if c == 0 {
			payload[i] = 'x'
		}
	}
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.NewID(), Performative: performatives.ActInform, Sender: "x", Receiver: "y", ConversationID: "1",
		Timestamp: time.Now(), Payload: performatives.Raw(payload),
	})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// benchNodes returns two nodes that have met. What arrives is not recorded, but passed to the
// functions.
func benchNodes(b *testing.B, atA, atB func(*performatives.Message)) (near, far *Links) {
	b.Helper()
	met := make(chan struct{}, 2)
	x := newNode(b, nodeA, nil, 0, func(o *LinksOptions) { o.Handler = passing{atA, met} })
	y := newNode(b, nodeB, nil, 0, func(o *LinksOptions) { o.Handler = passing{atB, met} })
	x.links.Add(y.member(nodeB))
	y.links.Add(x.member(nodeA))
	await(b, "a hello", met)
	await(b, "a hello", met)
	return x.links, y.links
}

// passing is an owner that passes messages on.
type passing struct {
	received func(*performatives.Message)
	met      chan<- struct{}
}

func (p passing) Connected(cluster.Incarnation, []string) { p.met <- struct{}{} }
func (p passing) Received(_ cluster.Incarnation, m *performatives.Message) time.Duration {
	if p.received != nil {
		p.received(m)
	}
	return 0
}
func (passing) Control(cluster.Incarnation, []byte) {}
func (passing) Lost(cluster.Incarnation)            {}
func (passing) Undelivered(cluster.Incarnation, *performatives.Message, *performatives.Refusal) {
}

// BenchmarkOneWay sends messages of 1 KiB over the loopback, at most a window of them at a time.
// bare is the gRPC stream alone, with an encoded message in each frame.
func BenchmarkOneWay(b *testing.B) {
	const window = 1024
	b.Run("bare", func(b *testing.B) {
		got := make(chan struct{}, window)
		s, data := bareStream(b, func(s *grpc.LinkStream) error {
			_, err := s.Recv()
			if err == nil {
				got <- struct{}{}
			}
			return err
		})
		pump(b, window, got, func() error { return s.Send(data) })
	})
	b.Run("link", func(b *testing.B) {
		got := make(chan struct{}, window)
		a, _ := benchNodes(b, nil, func(*performatives.Message) { got <- struct{}{} })
		m := long(b)
		pump(b, window, got, func() error { return a.Send(nodeB, m) })
	})
}

// BenchmarkAsk sends a message of 1 KiB, and waits for one that is sent back.
func BenchmarkAsk(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		s, data := bareStream(b, func(s *grpc.LinkStream) error {
			data, err := s.Recv()
			if err != nil {
				return err
			}
			return s.Send(data)
		})
		got := make(chan struct{}, 1)
		pump(b, 1, got, func() error {
			if err := s.Send(data); err != nil {
				return err
			}
			_, err := s.Recv()
			got <- struct{}{}
			return err
		})
	})
	b.Run("link", func(b *testing.B) {
		got := make(chan struct{}, 1)
		var far *Links
		ready := make(chan struct{})
		a, z := benchNodes(b, func(*performatives.Message) { got <- struct{}{} }, func(m *performatives.Message) {
			<-ready
			if err := far.Send(nodeA, m); err != nil {
				b.Error(err)
			}
		})
		far = z
		close(ready)
		m := long(b)
		pump(b, 1, got, func() error { return a.Send(nodeB, m) })
	})
}

// pump sends as long as the benchmark wants. got has a value for each message that has arrived.
func pump(b *testing.B, window int, got <-chan struct{}, send func() error) {
	b.Helper()
	b.SetBytes(kibibyte)
	b.ReportAllocs()
	waiting := 0
	for b.Loop() {
		if waiting == window {
			<-got
			waiting--
		}
		if err := send(); err != nil {
			b.Fatal(err)
		}
		waiting++
	}
	for range waiting {
		<-got
	}
}

// bareStream returns a stream to an end that calls serve until its error, and an encoded message.
func bareStream(b *testing.B, serve func(*grpc.LinkStream) error) (*grpc.LinkStream, []byte) {
	b.Helper()
	l, err := grpc.ListenNodes(grpc.Options{Addr: "127.0.0.1:0", Links: func(s *grpc.LinkStream) {
		for serve(s) == nil {
		}
	}}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		b.Fatal(err)
	}
	s, err := grpc.DialLink(b.Context(), l.Addr().String(), "b", (*tls.Config)(nil), patience.Time)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		s.Close()
		_ = l.Stop(b.Context()) // it has no error
	})
	ls, err := NewLinks(LinksOptions{Self: nodeA, Dialect: grpc.Dialect{}, Stamper: stamper{}})
	if err != nil {
		b.Fatal(err)
	}
	stop(b, ls)
	return s, mustEncode(b, ls, long(b))
}
