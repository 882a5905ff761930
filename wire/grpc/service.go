package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The names in ribosome.proto.
const (
	serviceName = "ribosome.v1.Wire"
	methodName  = "Connect"
	fullMethod  = "/" + serviceName + "/" + methodName
)

// Register makes a gRPC server of one's own serve agents, too. Its limits are its own:
// MaxRecvMsgSize should be the server's [wire.Limits].Frame, and at least 1 MiB. Stop
// the wire.Server before the gRPC server.
func Register(r rpc.ServiceRegistrar, server *wire.Server) { register(r, server) }

func register(r rpc.ServiceRegistrar, server *wire.Server) *service {
	s := &service{server: server}
	r.RegisterService(&rpc.ServiceDesc{
		ServiceName: serviceName,
		Streams: []rpc.StreamDesc{{
			StreamName: methodName, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream rpc.ServerStream) error { return s.connect(stream) },
		}},
		Metadata: "ribosome/v1/ribosome.proto",
	}, nil)
	return s
}

// service serves streams as sessions.
type service struct {
	server *wire.Server

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup // streams, and sessions
}

// begin counts a stream, unless the service stops.
func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.running.Add(1)
	}
	return !s.stopping
}

// wait takes on no stream more, and returns when none is left.
func (s *service) wait() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.running.Wait()
}

// connect serves one stream. The session runs beside it, because a stream of a gRPC
// server ends only by the return of its handler.
func (s *service) connect(stream rpc.ServerStream) error {
	if !s.begin() {
		return statusOf(wire.ErrClosed)
	}
	defer s.running.Done()
	p := peerOf(stream.Context())
	if err := s.server.Admit(p); err != nil {
		return statusOf(err)
	}
	id, err := s.authenticate(stream.Context(), p)
	if err != nil {
		return statusOf(err)
	}
	if err := stream.SendHeader(nil); err != nil { // the client waits for it
		return err
	}
	c := newConn(stream, p, s.server.Limits())
	c.abort = func() { _ = c.Close() }
	c.closing = func(bool) {} // the handler sees
	c.lost = receiveError(s.server.Limits())
	s.running.Go(func() { _ = s.server.Serve(c, id) }) // the peer has been told, and the log too
	<-c.done
	return c.ending()
}

// ending is how a call ends that this end has closed.
func (c *conn) ending() error {
	if r := c.told.Load(); r != nil {
		return statusOf(r)
	}
	if c.said.Load() {
		return nil
	}
	return status.Error(codes.Aborted, "the session has ended")
}

// receiveError says what an error of a server's RecvMsg means. What gRPC itself refuses,
// it has told the peer by the status with which it has ended the stream.
func receiveError(l wire.Limits) func(error) error {
	return func(err error) error {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		switch status.Code(err) { // the others mean that the stream is gone
		case codes.ResourceExhausted:
			return fmt.Errorf("grpc: the peer's message is longer than %d bytes", maxMessage(l))
		case codes.Internal:
			return errors.New("grpc: the peer's message is no protobuf Frame")
		}
		return fmt.Errorf("grpc: read: %w", err)
	}
}

// authenticate finds out who a peer is by its call's metadata and its certificate.
func (s *service) authenticate(ctx context.Context, p wire.Peer) (*wire.Identity, error) {
	token, err := tokenOf(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.server.Options().AuthTime)
	defer cancel()
	id, err := s.server.Authenticate(ctx, wire.Credentials{Token: token, Certificates: certificatesOf(ctx), Peer: p})
	if errors.Is(err, wire.ErrNoCredentials) {
		return nil, nil //nolint:nilnil // its messages have to
	}
	return id, err
}

// tokenOf returns the bearer token of a call, or nothing when it has none.
func tokenOf(ctx context.Context) (string, error) {
	switch values := metadata.ValueFromIncomingContext(ctx, "authorization"); {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "want one authorization"}
	default:
		token := bare(values[0])
		if token == "" || strings.ContainsAny(token, " \t") {
			return "", &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "want authorization: Bearer and a token"}
		}
		return token, nil
	}
}

// peerOf says who has made a call.
func peerOf(ctx context.Context) wire.Peer {
	p := wire.Peer{Transport: "grpc", Path: fullMethod}
	if from, ok := peer.FromContext(ctx); ok {
		p.Addr = from.Addr.String()
		_, p.TLS = from.AuthInfo.(credentials.TLSInfo)
	}
	return p
}
