package grpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Options configures a [Listener]. Addr is required. The limits and the logger are those of
// the [wire.Server].
type Options struct {
	// Addr is host:port. Port 0 means any that is free.
	Addr string
	// TLS encrypts the connections. It needs a certificate. Versions below TLS 1.2, and
	// ciphers of TLS 1.2 without forward secrecy or authenticated encryption, are left
	// out. With ClientAuth and ClientCAs, a certificate identifies a peer. Nil means no
	// encryption.
	TLS *tls.Config
	// MaxStreams bounds the open streams of one HTTP/2 connection; each stream counts for
	// [wire.Options].MaxConnections. Zero means [DefaultMaxStreams].
	MaxStreams int
	// Socket is the listening socket, for a program that has to know the address before it has the
	// [wire.Server]. Listen and ListenNodes close it when they fail. Nil means that one is opened
	// at Addr.
	Socket net.Listener
	// Links serves the streams of other nodes of the cluster, beside the sessions: see package
	// cluster/link. It returns when the stream has ended. With TLS, other nodes need client
	// certificates. Nil means that there are none.
	Links func(*LinkStream)
}

// DefaultMaxStreams is the least value that HTTP/2 recommends (RFC 9113 §6.5.2), rounded.
const DefaultMaxStreams = 128

const (
	maxHeader = 16 << 10         // bytes of a call's metadata, which has the token
	pingTime  = 30 * time.Second // of silence before a ping of HTTP/2
	minPing   = 10 * time.Second // a client that pings more often is disconnected
	greetTime = 10 * time.Second // for the handshake of a connection that is only for other nodes
	flushTime = time.Second      // to write the last frames when all streams have ended
)

// Listener accepts streams for a [wire.Server]. Its methods may be called from any goroutine.
type Listener struct {
	network *bounded
	server  *rpc.Server
	service *service
	nodes   *nodes // nil without Options.Links
	health  *health
	serving sync.WaitGroup
}

func (o Options) validate(nodesOnly bool) error {
	switch {
	case o.Addr == "" && o.Socket == nil:
		return errors.New("grpc: Options.Addr is empty: want host:port")
	case o.MaxStreams < 0 || int64(o.MaxStreams) > math.MaxUint32:
		return fmt.Errorf("grpc: Options.MaxStreams is %d", o.MaxStreams)
	case o.TLS != nil && !sockets.HasCertificate(o.TLS):
		return errors.New("grpc: Options.TLS has no certificate")
	case nodesOnly && o.Links == nil:
		return errors.New("grpc: Options.Links is nil")
	}
	return nil
}

// open checks the options and returns the listening socket.
func (o Options) open(log *slog.Logger, nodesOnly bool) (net.Listener, error) {
	if err := o.validate(nodesOnly); err != nil {
		if o.Socket != nil {
			_ = o.Socket.Close() // err is the reason
		}
		return nil, err
	}
	if o.Socket != nil {
		return o.Socket, nil
	}
	socket, err := sockets.Listen(o.Addr, log)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	return socket, nil
}

// Listen starts to accept streams. The caller must stop the Listener. The error names a
// wrong option, or the reason why the address cannot be used.
//
// The Listener also has the services grpc.health.v1.Health, and reflection as
// grpc.reflection.v1 and v1alpha. Neither needs credentials, as neither reveals more than
// whether the listener serves, and the published ribosome.proto. A client certificate that
// TLS requires is required of them, too.
func Listen(server *wire.Server, o Options) (*Listener, error) {
	if server == nil {
		return nil, errors.New("grpc: the server is nil")
	}
	socket, err := o.open(server.Options().Logger, false)
	if err != nil {
		return nil, err
	}
	l := &Listener{network: newBounded(socket, server.Options().MaxConnections), health: newHealth(server)}
	l.server = rpc.NewServer(append(serverOptions(server.Options(), o), rpc.StreamInterceptor(l.health.bound))...)
	l.service = register(l.server, server)
	if o.Links != nil {
		l.nodes = registerNodes(l.server, o.Links, server.Limits().FrameTime)
	}
	grpc_health_v1.RegisterHealthServer(l.server, l.health)
	reflection.Register(l.server)
	l.serving.Go(func() { l.health.follow(server) })
	l.serving.Go(func() { _ = l.server.Serve(l.network) }) // Stop ends it
	return l, nil
}

// ListenNodes starts to accept the streams of other nodes alone, for [Options].Links, on at most as
// many connections at once as MaxStreams says. The caller must stop the Listener. The error is like
// that of Listen.
func ListenNodes(o Options, log *slog.Logger) (*Listener, error) {
	o.MaxStreams = cmp.Or(o.MaxStreams, DefaultMaxStreams)
	socket, err := o.open(log, true)
	if err != nil {
		return nil, err
	}
	limits := wire.Limits{}.WithDefaults()
	l := &Listener{network: newBounded(socket, o.MaxStreams)}
	l.server = rpc.NewServer(serverOptions(wire.Options{Limits: limits, AuthTime: greetTime}, o)...)
	l.nodes = registerNodes(l.server, o.Links, limits.FrameTime)
	l.serving.Go(func() { _ = l.server.Serve(l.network) }) // Stop ends it
	return l, nil
}

func serverOptions(s wire.Options, o Options) []rpc.ServerOption {
	streams, longest := cmp.Or(o.MaxStreams, DefaultMaxStreams), maxMessage(s.Limits)
	if o.Links != nil {
		longest = max(longest, MaxLinkFrame)
	}
	return []rpc.ServerOption{
		rpc.Creds(secure(o.TLS)),
		rpc.ForceServerCodecV2(newPassing()),
		rpc.MaxRecvMsgSize(longest),
		rpc.MaxConcurrentStreams(uint32(streams)),
		rpc.MaxHeaderListSize(maxHeader),
		rpc.InTapHandle(limitTime(s)),
		rpc.ConnectionTimeout(s.AuthTime),
		rpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: s.AuthTime, Time: pingTime, Timeout: pingTime}),
		rpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		rpc.WaitForHandlers(true),
	}
}

// maxMessage returns the longest gRPC message that is received: one long frame, or a batch
// of a peer with another limit.
func maxMessage(l wire.Limits) int { return max(l.Frame, maxBatch) }

// Addr returns the address of the listener.
func (l *Listener) Addr() net.Addr { return l.network.Addr() }

// Stop sets the health to NOT_SERVING, accepts no further stream, and returns when the open ones
// have ended. They end when the [wire.Server] is stopped, and those of the health and of reflection
// with the last of them. It closes those of other nodes: stop the node before. It does not wait for
// handshakes. When ctx ends first, Stop closes the streams and returns the cause of ctx. Stopping
// again has no effect.
func (l *Listener) Stop(ctx context.Context) error {
	if l.nodes != nil {
		l.nodes.stop()
	}
	if l.service == nil {
		l.network.cutOff()
		l.server.Stop()
		l.serving.Wait()
		return nil
	}
	l.health.Shutdown()
	drained := make(chan struct{})
	go func() {
		l.server.GracefulStop()
		close(drained)
	}()
	over := make(chan struct{})
	go func() {
		l.service.wait()
		l.health.finish()
		close(over)
	}()
	var err error
	select {
	case <-over:
		select {
		case <-drained:
		case <-time.After(flushTime):
		}
	case <-drained:
	case <-ctx.Done():
		err = fmt.Errorf("grpc: stop: %w", context.Cause(ctx))
	}
	l.network.cutOff()
	l.server.Stop()
	<-drained
	<-over
	l.serving.Wait()
	return err
}
