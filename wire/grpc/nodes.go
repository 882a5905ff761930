package grpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ribosome-agents/ribosome/wire"
)

// The names in ribosome.proto.
const (
	nodesService = "ribosome.v1.Nodes"
	linkName     = "Link"
	linkMethod   = "/" + nodesService + "/" + linkName
)

// MaxLinkFrame is the length of the longest LinkFrame, in bytes.
const MaxLinkFrame = 17 << 20

// LinkStream is a stream of frames between two nodes, the LinkFrames of ribosome.proto. It ends
// with its gRPC call.
type LinkStream struct {
	patient
	addr      string
	encrypted bool // the other end has dialled by TLS
	certs     []*x509.Certificate
	patience  time.Duration // for one write, and for each MiB of the frame before
	behind    int           // bytes of the last frame, of which gRPC may have written nothing yet
	in, out   loan
}

func newLinkStream(s stream, addr string, patience time.Duration, hangUp func()) *LinkStream {
	return &LinkStream{patient: patient{stream: s, to: "the node at " + addr, abort: sync.OnceFunc(hangUp)}, addr: addr, patience: patience}
}

// Addr returns the address of the other end.
func (s *LinkStream) Addr() string { return s.addr }

// CheckName returns an error unless the other end is the node of that name: one of the DNS names of
// its certificate is the name. For the end that has dialled, TLS has checked it. Without TLS there
// is nothing to check.
func (s *LinkStream) CheckName(node string) error {
	switch {
	case !s.encrypted:
		return nil
	case len(s.certs) == 0:
		return fmt.Errorf("grpc: the node %s at %s has no client certificate", node, s.addr)
	case !slices.Contains(s.certs[0].DNSNames, node):
		return fmt.Errorf("grpc: the certificate of %s is for %q, not for the node %s", s.addr, s.certs[0].DNSNames, node)
	}
	return nil
}

// Send writes a frame, of parts that follow one another. It blocks while the other end does not
// read, for a bounded time, which is longer after a long frame: a network needs to carry 1 MiB in
// that time. They must not be changed afterwards. Only one goroutine may call it.
func (s *LinkStream) Send(parts ...[]byte) error {
	// gRPC blocks until it has written the frame before.
	defer s.within(s.patience * time.Duration(1+s.behind>>20)).Stop()
	s.out.parts = parts
	err := s.send(&s.out)
	s.out.parts, s.behind = nil, 0
	for _, p := range parts {
		s.behind += len(p)
	}
	return err
}

// Memory returns a slice of no length, and of that capacity or more, for a part of the next frame.
// The stream uses the slice again once the frame is written. Only the goroutine that calls Send may
// call it, and it uses no such slice after Send.
func (s *LinkStream) Memory(capacity int) []byte {
	if m := s.out.memory; m == nil || cap(*m) < capacity {
		s.out.memory = frames.Get(capacity)
	}
	return (*s.out.memory)[:0]
}

// Recv waits for the next frame, which is valid until Recv is called again. It must not be changed.
func (s *LinkStream) Recv() ([]byte, error) {
	if err := s.stream.RecvMsg(&s.in); err != nil {
		return nil, fmt.Errorf("grpc: read from the node at %s: %w", s.addr, err)
	}
	return s.in.frame, nil
}

// Close ends the stream.
func (s *LinkStream) Close() { s.abort() }

// nodes serves the streams of other nodes.
type nodes struct {
	handle   func(*LinkStream)
	patience time.Duration

	mu      sync.Mutex
	open    map[*LinkStream]struct{}
	stopped bool
	running sync.WaitGroup
}

func registerNodes(r rpc.ServiceRegistrar, handle func(*LinkStream), patience time.Duration) *nodes {
	n := &nodes{handle: handle, patience: patience, open: make(map[*LinkStream]struct{})}
	registerStream(r, nodesService, linkName, n.serve)
	return n
}

// serve serves one stream. As the call ends when serve returns, the handler has a goroutine of its
// own, and Close lets serve return.
func (n *nodes) serve(stream rpc.ServerStream) error {
	over := make(chan struct{})
	p := peerOf(stream.Context())
	s := newLinkStream(stream, p.Addr, n.patience, func() { close(over) })
	s.encrypted, s.certs = p.TLS, certificatesOf(stream.Context())
	if !n.begin(s) {
		return status.Error(codes.Unavailable, "the node stops")
	}
	if err := stream.SendHeader(nil); err != nil { // the other node waits for it
		n.end(s)
		return err
	}
	go func() {
		defer n.end(s)
		n.handle(s)
	}()
	<-over
	return status.Error(codes.Aborted, "the link has ended")
}

func (n *nodes) begin(s *LinkStream) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return false
	}
	n.open[s] = struct{}{}
	n.running.Add(1)
	return true
}

func (n *nodes) end(s *LinkStream) {
	s.Close()
	n.mu.Lock()
	delete(n.open, s)
	n.mu.Unlock()
	n.running.Done()
}

// stop closes all streams and waits for their handlers.
func (n *nodes) stop() {
	n.mu.Lock()
	n.stopped = true
	for s := range n.open {
		s.Close()
	}
	n.mu.Unlock()
	n.running.Wait()
}

// DialLink opens a stream to the node of that name at host:port. With config it is encrypted, and
// the certificate of the node must have its name as a DNS name. Nil means no encryption. ctx bounds
// the dialling only. patience bounds the time of dialling and of each write: see [LinkStream.Send].
func DialLink(ctx context.Context, host, node string, config *tls.Config, patience time.Duration) (*LinkStream, error) {
	if _, _, err := net.SplitHostPort(host); err != nil {
		return nil, fmt.Errorf("grpc: link to %q: %w", host, err)
	}
	if config != nil {
		config = config.Clone()
		config.ServerName = node
	}
	stream, hangUp, err := dial(ctx, host, linkMethod, "", config, wire.Limits{Frame: MaxLinkFrame, FrameTime: patience})
	if err != nil {
		return nil, fmt.Errorf("grpc: link to %s: %w", host, err)
	}
	return newLinkStream(stream, host, patience, hangUp), nil
}
