package grpc

import (
	"fmt"
	"net"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// BenchmarkEcho sends requests with 1 KiB of payload, a window of them at a time, to a
// server that sends each back. bare is gRPC with generated code and no session: one
// message, one envelope.
func BenchmarkEcho(b *testing.B) {
	for _, window := range []int{1, 64} {
		b.Run(fmt.Sprintf("window=%d/bare", window), func(b *testing.B) { benchBare(b, window) })
		b.Run(fmt.Sprintf("window=%d/session", window), func(b *testing.B) { benchSession(b, window) })
	}
}

const kibibyte = 1 << 10

func benchSession(b *testing.B, window int) {
	server, err := wire.NewServer(wire.Options{Handler: &echoes{}, Anonymous: true})
	if err != nil {
		b.Fatal(err)
	}
	addr := listen(b, server, Options{}).Addr().String()
	b.Cleanup(func() { stop(b, server.Stop) })
	conn, err := Dial(b.Context(), "grpc://"+addr, DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	answers := &echoes{got: make(chan struct{}, window)}
	s, err := wire.Connect(conn, wire.Options{Handler: answers})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stop(b, s.Stop) })
	m := wiretest.Ask(b, "a", "b", wiretest.Long(kibibyte))
	b.SetBytes(kibibyte)
	b.ReportAllocs()
	sent := 0
	for ; sent < window; sent++ {
		send(b, s, m)
	}
	for b.Loop() {
		<-answers.got
		sent++
		send(b, s, m)
	}
	for range window {
		<-answers.got
	}
}

// echoes sends requests back, or counts the answers.
type echoes struct {
	wiretest.Recorder
	got chan struct{}
}

func (e *echoes) Receive(s *wire.Session, m *performatives.Message) error {
	if e.got != nil {
		e.got <- struct{}{}
		return nil
	}
	answer, err := m.ReplyAs(performatives.Stamp{ID: m.ID(), Time: m.Timestamp()}, performatives.ActInform, m.Payload())
	if err != nil {
		return err
	}
	return s.Send(answer)
}

func (e *echoes) Opened(*wire.Session)        {}
func (e *echoes) Closed(*wire.Session, error) {}

func benchBare(b *testing.B, window int) {
	s := rpc.NewServer()
	s.RegisterService(&rpc.ServiceDesc{ServiceName: serviceName, Streams: []rpc.StreamDesc{{
		StreamName: methodName, ServerStreams: true, ClientStreams: true,
		Handler: func(_ any, stream rpc.ServerStream) error {
			for {
				var f ribosomev1.Frame
				if err := stream.RecvMsg(&f); err != nil {
					return nil //nolint:nilerr // the client has gone
				}
				if err := stream.SendMsg(&f); err != nil {
					return err
				}
			}
		},
	}}}, nil)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = s.Serve(socket)
		close(done)
	}()
	b.Cleanup(func() {
		s.Stop()
		<-done
	})
	c := callPlain(b, dialPlain(b, socket.Addr().String()), "")
	e := request("1")
	e.Payload = wiretest.Raw(wiretest.Long(kibibyte))
	frame := &ribosomev1.Frame{Envelopes: []*ribosomev1.Envelope{e}}
	room, received := make(chan struct{}, window), make(chan error, 1)
	go func() {
		for {
			if _, err := c.Recv(); err != nil {
				received <- err
				return
			}
			<-room
		}
	}()
	b.SetBytes(kibibyte)
	b.ReportAllocs()
	for b.Loop() {
		room <- struct{}{}
		if err := c.Send(frame); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.CloseSend()
	if err := <-received; err == nil {
		b.Error("the stream goes on")
	}
}

// BenchmarkCodec writes and reads a message with 1 KiB of payload; generated is generated
// code, which makes no message of it.
func BenchmarkCodec(b *testing.B) {
	c := newCodec(b)
	m := wiretest.Of(b, performatives.Envelope{
		Sender: "Eddy", Receiver: "Jules", Performative: performatives.ActRequest, Timestamp: time.Now(),
		Language: performatives.LanguageJSON, Ontology: "ex:tasks", Payload: wiretest.Raw(wiretest.Long(kibibyte)),
	})
	frame := encode(b, c, m)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			var err error
			if dst, err = c.Encode(dst[:0], m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Decode(frame, func(in wire.Inbound) {
				if in.Message == nil {
					b.Fatal(in.Err)
				}
			})
		}
	})
	b.Run("decode/generated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var f ribosomev1.Frame
			if err := proto.Unmarshal(frame, &f); err != nil {
				b.Fatal(err)
			}
		}
	})
}
