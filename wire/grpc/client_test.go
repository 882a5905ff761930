package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// call is the stream of a client that knows ribosome.proto and nothing of this package,
// as one in another language would be.
type call = rpc.GenericClientStream[ribosomev1.Frame, ribosomev1.Frame]

func dialPlain(t testing.TB, addr string) *rpc.ClientConn {
	t.Helper()
	cc, err := rpc.NewClient("passthrough:///"+addr, rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

func callPlain(t testing.TB, cc *rpc.ClientConn, token string) *call {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	t.Cleanup(cancel)
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	s, err := cc.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/ribosome.v1.Wire/Connect")
	if err != nil {
		t.Fatal(err)
	}
	return &call{ClientStream: s}
}

// echo answers each message with its own payload.
func echo(s *wire.Session, m *performatives.Message) error {
	answer, err := m.ReplyAs(performatives.Stamp{ID: performatives.NewID(), Time: time.Now()}, performatives.ActInform, m.Payload())
	if err != nil {
		return err
	}
	return s.Send(answer)
}

func request(id string) *ribosomev1.Envelope {
	return &ribosomev1.Envelope{
		Id: id, Performative: ribosomev1.Performative_PERFORMATIVE_REQUEST, Sender: "a", Receiver: "b",
		Timestamp: timestamppb.Now(), Payload: []byte(`{"text":"` + id + `"}`),
	}
}

// A client of generated code authenticates, sends many envelopes in one message, gets
// every answer, and both ends close in order.
func TestClientOfGeneratedCode(t *testing.T) {
	h := serve(t, Options{}, guarded)
	h.Answer = echo
	s := callPlain(t, dialPlain(t, h.addr), "secret")
	const n = 50
	frame := &ribosomev1.Frame{Ping: &ribosomev1.Ping{Data: []byte("there?")}}
	for i := range n {
		frame.Envelopes = append(frame.Envelopes, request(fmt.Sprint(i)))
	}
	if err := s.Send(frame); err != nil {
		t.Fatal(err)
	}
	answers, pongs := 0, 0
	for answers < n || pongs < 1 {
		f, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range f.Envelopes {
			if want := fmt.Sprint(answers); e.InReplyTo != want || string(e.Payload) != `{"text":"`+want+`"}` || e.Receiver != "a" {
				t.Fatalf("answer %d is %v", answers, e)
			}
			answers++
		}
		if f.Pong != nil && string(f.Pong.Data) == "there?" {
			pongs++
		}
	}
	if err := s.Send(&ribosomev1.Frame{Close: &ribosomev1.Close{Reason: "done"}}); err != nil {
		t.Fatal(err)
	}
	closed := false
	for {
		f, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		closed = closed || f.Close != nil
	}
	if err := h.AwaitEnd(t, 1)[0]; err != nil || !closed {
		t.Errorf("the session ended with %v, and said so: %v", err, closed)
	}
}

// A server that stops says so, and what it had to say before arrives.
func TestServerStopsAClientOfGeneratedCode(t *testing.T) {
	h := serve(t, Options{}, nil)
	s := callPlain(t, dialPlain(t, h.addr), "")
	session := h.Session(t, 0)
	const n = 100
	for i := range n {
		send(t, session, wiretest.Message(t, "b", "a", fmt.Sprint(i)))
	}
	stopped := make(chan struct{})
	go func() {
		stop(t, h.server.Stop)
		close(stopped)
	}()
	got, closed := 0, false
	for {
		f, err := s.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("the call ended with %v", err)
			}
			break
		}
		got += len(f.Envelopes)
		if f.Close != nil {
			closed = true
			if err := s.Send(&ribosomev1.Frame{Close: &ribosomev1.Close{}}); err != nil {
				t.Error(err)
			}
		}
	}
	<-stopped
	if got != n || !closed {
		t.Errorf("%d messages, closed: %v", got, closed)
	}
}

// The last words of a client arrive, although it closes at once.
func TestLastWordsArrive(t *testing.T) {
	h := serve(t, Options{}, nil)
	const rounds, n = 10, 20
	c := newCodec(t)
	for i := range rounds {
		conn, err := Dial(t.Context(), "grpc://"+h.addr, DialOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var frames []wire.Frame
		for range n {
			frames = append(frames, wire.Frame{Kind: wire.KindData, Data: encode(t, c, wiretest.Message(t, "a", "b", wiretest.Long(2000)))})
		}
		if err := conn.Write(append(frames, wire.Frame{Kind: wire.KindClose})); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		if _, err := conn.Read(func(wire.Frame) {}); err == nil {
			t.Error("something is read after Close")
		}
		h.Await(t, (i+1)*n)
	}
	for _, err := range h.AwaitEnd(t, rounds) {
		if err != nil {
			t.Errorf("a session ended with %v", err)
		}
	}
}

// What breaks a rule of the session ends the call with an error and a status.
func TestGivingUpHasAStatus(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.Limits.Frame = 1000 })
	s := callPlain(t, dialPlain(t, h.addr), "")
	long := request("1")
	long.Payload = []byte(`{"text":"` + wiretest.Long(2000) + `"}`)
	if err := s.Send(&ribosomev1.Frame{Envelopes: []*ribosomev1.Envelope{long}}); err != nil {
		t.Fatal(err)
	}
	var told *ribosomev1.Error
	for {
		f, err := s.Recv()
		if err == nil {
			if f.Error != nil {
				told = f.Error
			}
			if f.Close != nil {
				_ = s.CloseSend()
			}
			continue
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("the call ended with %v", err)
		}
		break
	}
	if told.GetCode() != string(performatives.CodeParsingError) {
		t.Errorf("told %v", told)
	}
}

// Streams of one HTTP/2 connection know nothing of each other: one that is not read, and
// another that breaks a rule, cost the third nothing.
func TestStreamsAreIndependent(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) {
		o.Limits.Frame, o.Limits.Outbox, o.Limits.CloseTime = 100_000, 64, 10*time.Millisecond
	})
	h.Answer = echo
	cc := dialPlain(t, h.addr)
	idle := callPlain(t, cc, "")
	first := h.Session(t, 0)
	for {
		if err := first.Send(wiretest.Message(t, "b", "a", wiretest.Long(60_000))); err != nil {
			break // its outbox is full: it does not read
		}
	}
	bad := callPlain(t, cc, "")
	if err := bad.Send(&ribosomev1.Frame{Envelopes: []*ribosomev1.Envelope{{Payload: make([]byte, 200_000)}}}); err != nil {
		t.Fatal(err)
	}
	h.AwaitEnd(t, 1)
	good := callPlain(t, cc, "")
	for i := range 100 {
		id := fmt.Sprint(i)
		if err := good.Send(&ribosomev1.Frame{Envelopes: []*ribosomev1.Envelope{request(id)}}); err != nil {
			t.Fatal(err)
		}
		f, err := good.Recv()
		if err != nil || f.Envelopes[0].InReplyTo != id {
			t.Fatalf("got %v, %v", f, err)
		}
	}
	if n := len(h.Ends()); n != 1 {
		t.Errorf("%d sessions have ended", n)
	}
	_ = idle.CloseSend()
}

// Whoever does not read is given up after a time, and gets no more memory than flow
// control allows.
func TestPeerThatNeverReads(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.Limits.FrameTime = 50 * time.Millisecond })
	callPlain(t, dialPlain(t, h.addr), "")
	session := h.Session(t, 0)
	for range 200 {
		_ = session.Send(wiretest.Message(t, "b", "a", wiretest.Long(10_000))) // it may have ended by now
	}
	if err := h.AwaitEnd(t, 1)[0]; !errors.Is(err, wire.ErrSlow) {
		t.Errorf("the session ended with %v", err)
	}
	if back := len(h.Undeliverable()); back == 0 {
		t.Error("everything was delivered")
	}
}

// An agent on a gRPC server of one's own, beside other services.
func TestRegister(t *testing.T) {
	var r wiretest.Recorder
	r.Answer = echo
	server, err := wire.NewServer(wire.Options{Handler: &r, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	own := rpc.NewServer()
	Register(own, server)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- own.Serve(socket) }()
	g := mustConnect(t, "grpc://"+socket.Addr().String(), DialOptions{})
	const n = 100
	for i := range n {
		send(t, g.Session, wiretest.Ask(t, "a", "b", fmt.Sprint(i)))
	}
	for i, m := range g.Await(t, n) {
		if wiretest.Text(m) != fmt.Sprint(i) {
			t.Errorf("answer %d is %q", i, wiretest.Text(m))
		}
	}
	stop(t, server.Stop)
	own.GracefulStop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := g.AwaitEnd(t, 1)[0]; err != nil {
		t.Errorf("the client's session ended with %v", err)
	}
}

// Stopping the listener waits for the sessions until its context ends, and then cuts them
// off. Stopping again is harmless.
func TestListenerStops(t *testing.T) {
	var r wiretest.Recorder
	server, err := wire.NewServer(wire.Options{Handler: &r, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(server, Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	g := mustConnect(t, "grpc://"+l.Addr().String(), DialOptions{})
	r.Session(t, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := l.Stop(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if len(r.AwaitEnd(t, 1)) != 1 || g.AwaitEnd(t, 1)[0] == nil {
		t.Error("a session that was cut off ended in order")
	}
	if err := l.Stop(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := connect(t, "grpc://"+l.Addr().String(), DialOptions{}); err == nil {
		t.Error("connected after the end")
	}
}

// Who connects and says nothing does not keep a listener from stopping, in order or at
// once, although it would have much time yet.
func TestListenerStopsDuringAHandshake(t *testing.T) {
	for name, inOrder := range map[string]bool{"in order": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			server, err := wire.NewServer(wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true, AuthTime: time.Hour, MaxConnections: 1})
			if err != nil {
				t.Fatal(err)
			}
			l, err := Listen(server, Options{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			silent, next := knock(t, l), knock(t, l)
			if _, err := io.ReadAll(next); err != nil { // there is no room for it: the first has been accepted
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			if !inOrder {
				cancel()
			}
			stopped := make(chan error, 1)
			go func() { stopped <- l.Stop(ctx) }()
			select {
			case err := <-stopped:
				if inOrder && err != nil {
					t.Errorf("stopped with %v", err)
				}
			case <-time.After(patience.Time):
				t.Error("the listener waits for the handshake")
				_ = silent.Close()
				t.Logf("stopped with %v", <-stopped)
			}
		})
	}
}

// knock connects, and says nothing.
func knock(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Listeners and clients come and go at once.
func TestStartAndStop(t *testing.T) {
	for range 10 {
		var r wiretest.Recorder
		r.Answer = echo
		server, err := wire.NewServer(wire.Options{Handler: &r, Anonymous: true})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Listen(server, Options{Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		for range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				g, err := connect(t, "grpc://"+l.Addr().String(), DialOptions{})
				if err != nil {
					return // it stops already
				}
				_ = g.Send(wiretest.Ask(t, "a", "b", "hello"))
				ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
				defer cancel()
				_ = g.Stop(ctx)
			}()
		}
		go func() {
			defer func() { done <- struct{}{} }()
			stop(t, l.Stop)
		}()
		stop(t, server.Stop)
		for range 5 {
			<-done
		}
	}
}
