package grpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// listenNodes takes streams of nodes until the test ends.
func listenNodes(t testing.TB, o Options) *Listener {
	t.Helper()
	if o.Socket == nil {
		o.Addr = "127.0.0.1:0"
	}
	l, err := ListenNodes(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// echoFrames sends frames back until the stream ends.
func echoFrames(s *LinkStream) {
	for {
		frame, err := s.Recv()
		if err != nil || s.Send(frame) != nil {
			return
		}
	}
}

func dialLink(t testing.TB, l *Listener, node string, config *tls.Config) (*LinkStream, error) {
	t.Helper()
	s, err := DialLink(t.Context(), l.Addr().String(), node, config, patience.Time)
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

// checkEcho checks that a frame comes back.
func checkEcho(t testing.TB, s *LinkStream, frame []byte) {
	t.Helper()
	if err := s.Send(frame); err != nil {
		t.Fatal(err)
	}
	got, err := s.Recv()
	if err != nil || string(got) != string(frame) {
		t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(frame))
	}
}

// Streams of nodes work beside sessions, and alone.
func TestLinkStream(t *testing.T) {
	server, err := wire.NewServer(wire.Options{Handler: &echoes{}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	beside := listen(t, server, Options{Links: echoFrames})
	t.Cleanup(func() { stop(t, server.Stop) })
	for name, l := range map[string]*Listener{"beside": beside, "alone": listenNodes(t, Options{Links: echoFrames})} {
		t.Run(name, func(t *testing.T) {
			s, err := dialLink(t, l, "b", nil)
			if err != nil {
				t.Fatal(err)
			}
			checkEcho(t, s, []byte{0xa, 0})
			checkEcho(t, s, make([]byte, MaxLinkFrame-1))
			if s.Addr() != l.Addr().String() || s.CheckName("any") != nil {
				t.Errorf("addr %s, name %v", s.Addr(), s.CheckName("any"))
			}
			if err := s.Send(make([]byte, MaxLinkFrame+1)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Recv(); err == nil {
				t.Error("a frame that is too long is taken")
			}
			s.Close()
			s.Close()
			if err := s.Send([]byte{0xa, 0}); err == nil {
				t.Error("a frame is sent after Close")
			}
		})
	}
	if conn, err := Dial(t.Context(), "grpc://"+beside.Addr().String(), DialOptions{}); err != nil {
		t.Errorf("no session: %v", err)
	} else {
		_ = conn.Close()
	}
}

// A received frame is as it was sent, in one piece or in many, after longer and after shorter ones.
func TestLinkStreamFrames(t *testing.T) {
	l := listenNodes(t, Options{Links: echoFrames})
	s, err := dialLink(t, l, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{1, 20 << 10, 100, 300 << 10, 40 << 10, 2 << 20, 200 << 10, 1, 40 << 10, maxJoined, maxJoined + 1, 3} {
		checkEcho(t, s, bytes.Repeat([]byte{byte('a' + i)}, size))
	}
	if err := s.Send([]byte("in "), nil, bytes.Repeat([]byte{'x'}, 1<<20), []byte(" parts")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Recv(); err != nil || !bytes.HasPrefix(got, []byte("in xx")) || !bytes.HasSuffix(got, []byte("xx parts")) || len(got) != 9+1<<20 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// Without Links, there is no such service.
func TestNoLinks(t *testing.T) {
	server, err := wire.NewServer(wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, server, Options{})
	t.Cleanup(func() { stop(t, server.Stop) })
	if _, err := dialLink(t, l, "b", nil); err == nil || !strings.Contains(err.Error(), "Unimplemented") {
		t.Errorf("got %v", err)
	}
}

// The handler's stream ends when either end closes it.
func TestLinkStreamEnds(t *testing.T) {
	for _, end := range []string{"caller", "handler", "listener"} {
		t.Run(end, func(t *testing.T) {
			streams, done := make(chan *LinkStream, 1), make(chan error, 1)
			l := listenNodes(t, Options{Links: func(s *LinkStream) {
				streams <- s
				_, err := s.Recv()
				done <- err
			}})
			s, err := dialLink(t, l, "b", nil)
			if err != nil {
				t.Fatal(err)
			}
			far := <-streams
			switch end {
			case "caller":
				s.Close()
			case "handler":
				far.Close()
			case "listener":
				if err := l.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if err := <-done; err == nil {
				t.Error("Recv of the handler has no error")
			}
			if _, err := s.Recv(); err == nil {
				t.Error("Recv of the caller has no error")
			}
			if end == "listener" {
				if _, err := dialLink(t, l, "b", nil); err == nil {
					t.Error("a stopped listener takes a stream")
				}
			}
		})
	}
}

// node returns the configuration of the node of that name, for both directions.
func (a *authority) node(t testing.TB, names ...string) *tls.Config {
	t.Helper()
	key := newKey(t)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "a"}, NotAfter: time.Now().Add(time.Hour), DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: a.pool, ClientCAs: a.pool,
		ClientAuth: tls.VerifyClientCertIfGiven,
	}
}

// Both ends check the name in the certificate of the other one.
func TestLinkStreamNames(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	names := make(chan [2]error, 1)
	l := listenNodes(t, Options{TLS: ca.node(t, "b", "b2"), Links: func(s *LinkStream) {
		names <- [2]error{s.CheckName("a"), s.CheckName("a2")}
	}})
	for name, c := range map[string]struct {
		config *tls.Config
		node   string // that is dialled
		dials  bool
		names  [2]bool // a and a2 are accepted
	}{
		"the right ones":      {ca.node(t, "a"), "b", true, [2]bool{true, false}},
		"two names":           {ca.node(t, "a", "a2"), "b2", true, [2]bool{true, true}},
		"the common name":     {ca.node(t, "c"), "b", true, [2]bool{false, false}},
		"no certificate":      {&tls.Config{RootCAs: ca.pool}, "b", true, [2]bool{false, false}},
		"another node":        {ca.node(t, "a"), "c", false, [2]bool{}},
		"another authority":   {other.node(t, "a"), "b", false, [2]bool{}},
		"without encryption":  {nil, "b", false, [2]bool{}},
		"of another's client": {&tls.Config{RootCAs: ca.pool, Certificates: other.node(t, "a").Certificates}, "b", false, [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := DialLink(t.Context(), l.Addr().String(), c.node, c.config, patience.Time)
			if (err == nil) != c.dials {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				return
			}
			defer s.Close()
			got := <-names
			for i, want := range c.names {
				if (got[i] == nil) != want {
					t.Errorf("name %d: %v", i, got[i])
				}
			}
		})
	}
}

// A write that takes too long ends the stream.
func TestLinkStreamSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tape := &tape{stop: make(chan struct{})}
		s := newLinkStream(tape, "", time.Second, func() { close(tape.stop) })
		if err := s.Send([]byte{0xa, 0}); !errors.Is(err, wire.ErrSlow) {
			t.Errorf("got %v", err)
		}
		s.Close()
	})
}

// narrow is a stream of a network that carries 1 MiB in 4 s. Like gRPC's, it takes a frame when the
// one before has been written.
type narrow struct {
	stream
	backlog int
	closed  chan struct{}
}

func (n *narrow) SendMsg(m any) error {
	select {
	case <-time.After(4 * time.Second * time.Duration(n.backlog) >> 20):
	case <-n.closed:
		return io.EOF
	}
	n.backlog = 0
	for _, part := range m.(*loan).parts {
		n.backlog += len(part)
	}
	return nil
}

// A long frame has the time that a slow network needs for it, and no frame has more.
func TestLinkStreamLongFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &narrow{closed: make(chan struct{})}
		s := newLinkStream(n, "", 5*time.Second, func() { close(n.closed) })
		for _, size := range []int{1, MaxLinkFrame, 1, 1 << 20, 1 << 20, 1} {
			if err := s.Send(make([]byte, size/2), make([]byte, size-size/2)); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
		}
		n.backlog = 3 << 20 // it has become slower
		if err := s.Send(nil); !errors.Is(err, wire.ErrSlow) {
			t.Errorf("got %v", err)
		}
	})
}

// Every failure closes the socket that was passed in.
func TestListenNodesFails(t *testing.T) {
	for name, o := range map[string]Options{
		"no links":             {},
		"no certificate":       {Links: echoFrames, TLS: &tls.Config{}},
		"a negative number":    {Links: echoFrames, MaxStreams: -1},
		"too large a number":   {Links: echoFrames, MaxStreams: 1 << 40},
		"no address, no links": {Addr: ""},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if o.Socket, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			if _, err := ListenNodes(o, nil); err == nil {
				t.Error("no error")
			}
			if err := o.Socket.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the socket was open: %v", err)
			}
		})
	}
	if _, err := ListenNodes(Options{Links: echoFrames}, nil); err == nil {
		t.Error("an address is missing, and there is no error")
	}
	l := listenNodes(t, Options{Links: echoFrames})
	if _, err := ListenNodes(Options{Addr: l.Addr().String(), Links: echoFrames}, nil); err == nil {
		t.Error("the address is in use, and there is no error")
	}
}

// Listen and ListenNodes use a socket that was opened before.
func TestSocket(t *testing.T) {
	server, err := wire.NewServer(wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server.Stop) })
	for name, listen := range map[string]func(Options) (*Listener, error){
		"sessions": func(o Options) (*Listener, error) { return Listen(server, o) },
		"nodes":    func(o Options) (*Listener, error) { return ListenNodes(o, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l, err := listen(Options{Socket: socket, Links: echoFrames})
			if err != nil {
				t.Fatal(err)
			}
			if l.Addr().String() != socket.Addr().String() {
				t.Errorf("the address is %v, not %v", l.Addr(), socket.Addr())
			}
			s, err := dialLink(t, l, "b", nil)
			if err != nil {
				t.Fatal(err)
			}
			checkEcho(t, s, []byte{0xa, 0})
			s.Close()
			if name == "nodes" {
				if err := l.Stop(context.Background()); err != nil {
					t.Error(err)
				}
				return
			}
			stop(t, server.Stop)
			stop(t, l.Stop)
		})
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(server, Options{Socket: socket, TLS: &tls.Config{}}); err == nil || !errors.Is(socket.Close(), net.ErrClosed) {
		t.Errorf("got %v, and the socket is open", err)
	}
}

func TestDialLinkFails(t *testing.T) {
	if _, err := DialLink(t.Context(), "nowhere", "b", nil, patience.Time); err == nil {
		t.Error("an address without a port is taken")
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := silent.Accept()
		if err == nil {
			accepted <- c
		}
		close(accepted)
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("no longer wanted")
	done := make(chan error, 1)
	go func() {
		_, err := DialLink(ctx, silent.Addr().String(), "b", nil, patience.Time)
		done <- err
	}()
	c := <-accepted
	cancel(reason)
	if err := <-done; !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
	_ = c.Close()
	_ = silent.Close()
	if _, err := DialLink(t.Context(), silent.Addr().String(), "b", nil, patience.Time); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("nobody listens: %v", err)
	}
}

// Memory of frames is used again only when the frame is written, also that of a frame in parts, and
// that of one which has outgrown it.
func TestLinkStreamMemory(t *testing.T) {
	const many, longest = 200, 100 << 10
	frames := make(chan []byte, many)
	l := listenNodes(t, Options{Links: func(s *LinkStream) {
		for range many {
			frame, err := s.Recv()
			if err != nil {
				break
			}
			frames <- bytes.Clone(frame)
		}
		close(frames)
	}})
	s, err := dialLink(t, l, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	content := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 1+i*7919%longest) }
	for i := range many {
		want := content(i)
		b := s.Memory(len(want) / (1 + i%2))
		if len(b) != 0 || cap(b) < len(want)/(1+i%2) {
			t.Fatalf("memory of length %d and capacity %d for %d", len(b), cap(b), len(want))
		}
		b = append(b, want...)
		if i%3 == 0 {
			err = s.Send(b[:len(b)/2], b[len(b)/2:])
		} else {
			err = s.Send(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	for frame := range frames {
		if !bytes.Equal(frame, content(i)) {
			t.Fatalf("frame %d has changed", i)
		}
		i++
	}
	if i != many {
		t.Errorf("%d frames of %d", i, many)
	}
}

// A frame that is not in the memory of the stream stays the caller's.
func TestLinkStreamOwnMemory(t *testing.T) {
	var s LinkStream
	l := &s.out
	lent, own := s.Memory(10), make([]byte, 4096)
	if mem.IsBelowBufferPoolingThreshold(cap(lent)) {
		t.Errorf("gRPC does not give memory of %d bytes back", cap(lent))
	}
	if want := 2 * cap(lent); cap(s.Memory(want)) < want {
		t.Errorf("the memory has less than %d bytes", want)
	}
	l.parts = [][]byte{own}
	l.give().Free()
	if got := *frames.Get(1); cap(got) > 0 && &got[:1][0] == &own[0] {
		t.Error("the frame is used again")
	}
	l.memory = nil
	lent = append(s.Memory(10), lent...)
	l.parts = [][]byte{append(lent, 1)}
	if l.give().Free(); l.memory != nil {
		t.Error("the memory is lent twice")
	}
}
