package grpc

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	rpc "google.golang.org/grpc"

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

// benchMessages are messages as agents exchange them, and their names.
func benchMessages(b *testing.B) (names []string, messages []*performatives.Message) {
	b.Helper()
	base := performatives.Envelope{
		ID: "019ac0de-7b1e-7d2a-9f41-6f1d2c3b4a59", Sender: "Eddy", Receiver: "Jules", Performative: performatives.ActRequest, Timestamp: noon,
		Language: performatives.LanguageJSON, Ontology: "ex:tasks",
	}
	long, short, full := base, base, base
	long.Payload = wiretest.Raw(wiretest.Long(kibibyte))
	short.Payload = performatives.Raw(`{"text":"a short question of an agent, which another one answers"}`)
	full.ConversationID, full.Protocol, full.ReplyWith = "019ac0de-7b1e-7d2a-9f41-000000000001", "task", "w-1"
	full.ReplyBy, full.Priority, full.Trace = noon.Add(time.Minute), performatives.High, traceparent
	full.Budget = performatives.ContentOf(map[string]int{"tokens": 9000})
	full.Metadata = performatives.Members{"tenant": json.RawMessage(`"acme"`), "shard": json.RawMessage(`7`)}
	full.Performative, full.Payload = performatives.ActTaskRequest, performatives.TaskRequest{
		TaskType: "debug_code", Description: "The test of the parser fails since Tuesday.",
		Parameters: performatives.ContentOf(map[string]string{"file": "parser.py", "branch": "main"}),
	}
	return []string{"request_1KiB", "request_64B", "task_request"}, []*performatives.Message{wiretest.Of(b, long), wiretest.Of(b, short), wiretest.Of(b, full)}
}

// BenchmarkCodec writes and reads messages, by the codec of this package and by generated
// code with the same isolation. The codec is written by hand as long as it needs less than
// 1/1.3 of the time.
func BenchmarkCodec(b *testing.B) {
	names, messages := benchMessages(b)
	for i, m := range messages {
		c := newCodec(b)
		frame := encode(b, c, m)
		b.Run("encode/"+names[i]+"/hand", func(b *testing.B) {
			benchEncode(b, m, func(dst []byte, m *performatives.Message, _ string) ([]byte, error) { return new(codec).Encode(dst, m) })
		})
		b.Run("encode/"+names[i]+"/generated", func(b *testing.B) { benchEncode(b, m, generatedEncode) })
		b.Run("decode/"+names[i]+"/hand", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Decode(frame, func(in wire.Inbound) {
					if in.Message == nil {
						b.Fatal(in.Err)
					}
				})
			}
		})
		b.Run("decode/"+names[i]+"/generated", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				generatedDecode(&c.opts, frame, func(m *performatives.Message, _ string, err error) {
					if m == nil {
						b.Fatal(err)
					}
				})
			}
		})
	}
}

func benchEncode(b *testing.B, m *performatives.Message, encode func([]byte, *performatives.Message, string) ([]byte, error)) {
	b.Helper()
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var err error
		if dst, err = encode(dst[:0], m, ""); err != nil {
			b.Fatal(err)
		}
	}
}
