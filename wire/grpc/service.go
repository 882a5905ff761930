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

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// The names in ribosome.proto.
const (
	serviceName = "ribosome.v1.Wire"
	methodName  = "Connect"
	fullMethod  = "/" + serviceName + "/" + methodName
)

// Register adds the service to the caller's gRPC server. The limits of that server apply:
// its MaxRecvMsgSize should be [wire.Limits].Frame of the wire.Server, and at least 1 MiB.
// Stop the wire.Server before the gRPC server. The health and reflection of that server are
// the caller's: the name of the service is ribosome.v1.Wire.
func Register(r rpc.ServiceRegistrar, server *wire.Server) { register(r, server) }

func register(r rpc.ServiceRegistrar, server *wire.Server) *service {
	s := &service{server: server}
	registerStream(r, serviceName, methodName, s.connect)
	return s
}

// registerStream registers a service of ribosome.proto, whose one method has a stream.
func registerStream(r rpc.ServiceRegistrar, service, method string, serve func(rpc.ServerStream) error) {
	r.RegisterService(&rpc.ServiceDesc{
		ServiceName: service,
		Streams: []rpc.StreamDesc{{
			StreamName: method, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, stream rpc.ServerStream) error { return serve(stream) },
		}},
		Metadata: "ribosome/v1/ribosome.proto",
	}, nil)
}

// service serves streams as sessions.
type service struct {
	server *wire.Server

	mu       sync.Mutex
	stopping bool
	running  sync.WaitGroup // streams, and sessions
}

// begin counts a stream. It reports false when the service stops.
func (s *service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.running.Add(1)
	}
	return !s.stopping
}

// wait accepts no further stream, and returns when none is left.
func (s *service) wait() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.running.Wait()
}

// connect serves one stream. The session runs on a goroutine of its own, because a stream
// of a gRPC server ends only when its handler returns.
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
	c.closing = func(bool) {} // the handler waits for done
	c.lost = receiveError(s.server.Limits())
	s.running.Go(func() { _ = s.server.Serve(c, id) }) // Serve has reported the error to the peer and to the log
	<-c.done
	return c.ending()
}

// ending returns the status of a call that this end has closed.
func (c *conn) ending() error {
	if r := c.told.Load(); r != nil {
		return statusOf(r)
	}
	if c.said.Load() {
		return nil
	}
	return status.Error(codes.Aborted, "the session has ended")
}

// receiveError translates an error of a server's RecvMsg. For its own refusals, gRPC has
// ended the stream with a status, which the peer receives.
func receiveError(l wire.Limits) func(error) error {
	return func(err error) error {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		switch status.Code(err) { // all others mean that the stream has ended
		case codes.ResourceExhausted:
			return fmt.Errorf("grpc: the peer's message is longer than %d bytes", maxMessage(l))
		case codes.Internal:
			return errors.New("grpc: the peer's message is no protobuf Frame")
		}
		return fmt.Errorf("grpc: read: %w", err)
	}
}

// authenticate returns the identity of a peer, from the metadata of its call and its
// certificate.
func (s *service) authenticate(ctx context.Context, p wire.Peer) (*wire.Identity, error) {
	token, err := tokenOf(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.server.Options().AuthTime)
	defer cancel()
	id, err := s.server.Authenticate(ctx, wire.Credentials{Token: token, Certificates: certificatesOf(ctx), Peer: p})
	switch {
	case errors.Is(err, wire.ErrNoCredentials) && token == "":
		return nil, nil //nolint:nilnil // its messages have to
	case errors.Is(err, wire.ErrNoCredentials):
		return nil, &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "the token is not accepted"}
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
		token := sockets.Bearer(values[0])
		if token == "" || strings.ContainsAny(token, " \t") {
			return "", &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: "want authorization: Bearer and a token"}
		}
		return token, nil
	}
}

// peerOf describes the caller of a stream.
func peerOf(ctx context.Context) wire.Peer {
	p := wire.Peer{Transport: "grpc", Path: fullMethod}
	if from, ok := peer.FromContext(ctx); ok {
		p.Addr = from.Addr.String()
		_, p.TLS = from.AuthInfo.(credentials.TLSInfo)
	}
	return p
}
