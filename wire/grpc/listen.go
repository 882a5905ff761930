package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/wire"
)

// Options configures a [Listener]. Addr is required. The limits and the logger are the
// server's.
type Options struct {
	// Addr is host:port. Port 0 means any that is free.
	Addr string
	// TLS encrypts the connections. It needs a certificate. What it allows below TLS 1.2,
	// and ciphers of TLS 1.2 without forward secrecy or authenticated encryption, are
	// left out. With ClientAuth and ClientCAs, a peer is known by its certificate. Nil
	// means no encryption.
	TLS *tls.Config
	// MaxStreams is how many streams one HTTP/2 connection may have at a time; each
	// counts for [wire.Options].MaxConnections. Zero means [DefaultMaxStreams].
	MaxStreams int
}

// DefaultMaxStreams is what HTTP/2 recommends as the least (RFC 9113 §6.5.2), rounded.
const DefaultMaxStreams = 128

const (
	maxHeader = 16 << 10         // bytes of a call's metadata: a token is in it
	pingTime  = 30 * time.Second // of silence before HTTP/2 asks whether the host is there
	minPing   = 10 * time.Second // a client that asks more often is sent away
	flushTime = time.Second      // for what has been written when all streams are over
)

// Listener takes streams for a [wire.Server]. Its methods may be called from any goroutine.
type Listener struct {
	network *bounded
	server  *rpc.Server
	service *service
	serving sync.WaitGroup
}

func (o Options) validate() error {
	switch {
	case o.Addr == "":
		return errors.New("grpc: Options.Addr is empty: want host:port")
	case o.MaxStreams < 0 || int64(o.MaxStreams) > math.MaxUint32:
		return fmt.Errorf("grpc: Options.MaxStreams is %d", o.MaxStreams)
	case o.TLS != nil && !sockets.HasCertificate(o.TLS):
		return errors.New("grpc: Options.TLS has no certificate")
	}
	return nil
}

// Listen begins to take streams. Its owner must stop it. The error says which option is
// wrong or why the address cannot be listened on.
func Listen(server *wire.Server, o Options) (*Listener, error) {
	if server == nil {
		return nil, errors.New("grpc: the server is nil")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	socket, err := sockets.Listen(o.Addr, server.Options().Logger)
	if err != nil {
		return nil, fmt.Errorf("grpc: %w", err)
	}
	l := &Listener{network: newBounded(socket, server.Options().MaxConnections), server: rpc.NewServer(serverOptions(server.Options(), o)...)}
	l.service = register(l.server, server)
	l.serving.Go(func() { _ = l.server.Serve(l.network) }) // it ends by Stop
	return l, nil
}

func serverOptions(s wire.Options, o Options) []rpc.ServerOption {
	streams := o.MaxStreams
	if streams == 0 {
		streams = DefaultMaxStreams
	}
	return []rpc.ServerOption{
		rpc.Creds(secure(o.TLS)),
		rpc.ForceServerCodecV2(passing{}),
		rpc.MaxRecvMsgSize(maxMessage(s.Limits)),
		rpc.MaxConcurrentStreams(uint32(streams)),
		rpc.MaxHeaderListSize(maxHeader),
		rpc.ConnectionTimeout(s.AuthTime),
		rpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: s.AuthTime, Time: pingTime, Timeout: pingTime}),
		rpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		rpc.WaitForHandlers(true),
	}
}

// maxMessage is the longest gRPC message that is received: one long frame, or a batch of
// a peer whose own limit is another.
func maxMessage(l wire.Limits) int { return max(l.Frame, maxBatch) }

// Addr returns the address that it listens on.
func (l *Listener) Addr() net.Addr { return l.network.Addr() }

// Stop takes on no stream more, and returns when those under way are over, which they are
// when the [wire.Server] is stopped. It does not wait for handshakes. When ctx ends first,
// it cuts the streams off and returns the cause. Stopping again is harmless.
func (l *Listener) Stop(ctx context.Context) error {
	drained := make(chan struct{})
	go func() {
		l.server.GracefulStop()
		close(drained)
	}()
	over := make(chan struct{})
	go func() {
		l.service.wait()
		close(over)
	}()
	var err error
	select {
	case <-over:
		wait(drained, flushTime)
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

// wait waits for a channel, but not for longer than d.
func wait(c <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}
