package grpc

import (
	"context"
	"sync/atomic"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	rpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/ribosome-agents/ribosome/wire"
)

// watchMethod is the call that [health.bound] bounds in number.
const watchMethod = grpc_health_v1.Health_Watch_FullMethodName

// health is the service grpc.health.v1.Health of a [Listener]. The names "" and serviceName
// are SERVING until the listener or the [wire.Server] stops, then NOT_SERVING.
type health struct {
	*rpchealth.Server

	drained context.Context //nolint:containedctx // ends when the listener has no session any more
	finish  func()          // ends drained, and the calls of Watch
	watches atomic.Int64    // open calls of Watch
	most    int64           // largest value of watches
}

// newHealth returns the health of a listener for the server. Watches take at most a quarter
// of its connections.
func newHealth(server *wire.Server) *health {
	h := &health{Server: rpchealth.NewServer(), most: max(1, int64(server.Options().MaxConnections/4))}
	h.drained, h.finish = context.WithCancel(context.Background()) //nolint:forbidigo // a listener outlives the call that started it
	h.SetServingStatus(serviceName, grpc_health_v1.HealthCheckResponse_SERVING)
	select {
	case <-server.Stopping():
		h.Shutdown()
	default:
	}
	return h
}

// follow changes the status to NOT_SERVING when the server stops. It returns then, or after finish.
func (h *health) follow(server *wire.Server) {
	select {
	case <-server.Stopping():
		h.Shutdown()
	case <-h.drained.Done():
	}
}

// bound is an interceptor that bounds the calls of Watch. They need no credentials and have
// no end, so that without a bound they could hold all connections of the listener, and Stop
// would wait for them.
func (h *health) bound(srv any, stream rpc.ServerStream, info *rpc.StreamServerInfo, handler rpc.StreamHandler) error {
	if info.FullMethod != watchMethod {
		return handler(srv, stream)
	}
	open := h.watches.Add(1)
	defer h.watches.Add(-1)
	if open > h.most {
		return status.Errorf(codes.ResourceExhausted, "there are %d calls of Watch already", h.most)
	}
	ctx, end := context.WithCancel(stream.Context())
	defer end()
	defer context.AfterFunc(h.drained, end)()
	err := handler(srv, watched{stream, ctx})
	if h.drained.Err() != nil {
		return statusOf(wire.ErrClosed)
	}
	return err
}

// watched is the stream of a call of Watch, which ends with ctx.
type watched struct {
	rpc.ServerStream
	ctx context.Context //nolint:containedctx // that of the call
}

// Context returns the context of the call.
func (w watched) Context() context.Context { return w.ctx }

// limitTime gives the calls that need no credentials and have an end as long as a peer has
// to authenticate: a call whose request never comes would otherwise hold its connection.
// Connect and Link have limits of their own; Watch has no end.
func limitTime(s wire.Options) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if info.FullMethodName == fullMethod || info.FullMethodName == watchMethod || info.FullMethodName == linkMethod {
			return ctx, nil
		}
		limited, cancel := context.WithTimeout(ctx, s.AuthTime)
		context.AfterFunc(ctx, cancel) // gRPC ends ctx with the call
		return limited, nil
	}
}
