package grpc

import (
	"context"
	"sync"
	"sync/atomic"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/ribosome-agents/ribosome/wire"
)

// watchMethod is the call that [health.bound] bounds in number.
const watchMethod = grpc_health_v1.Health_Watch_FullMethodName

// health is the service grpc.health.v1.Health of a [Listener]. The names "" and serviceName
// are SERVING until the listener or the [wire.Server] stops, then NOT_SERVING.
//
// It replaces the health server of gRPC, whose Watch has no end: Stop would wait for it.
type health struct {
	grpc_health_v1.UnimplementedHealthServer

	server   <-chan struct{} // closed when the wire.Server stops
	listener chan struct{}   // closed when the listener stops
	drained  chan struct{}   // closed when the listener has no session any more
	stopOnce sync.Once
	doneOnce sync.Once

	watches atomic.Int64 // open calls of Watch
	most    int64        // largest value of watches
}

// newHealth returns the health of a listener for the server. Watches take at most a quarter
// of its connections.
func newHealth(server *wire.Server) *health {
	return &health{
		server: server.Stopping(), listener: make(chan struct{}), drained: make(chan struct{}),
		most: max(1, int64(server.Options().MaxConnections/4)),
	}
}

// stop changes the status to NOT_SERVING for good.
func (h *health) stop() { h.stopOnce.Do(func() { close(h.listener) }) }

// finish ends the calls of Watch. It comes after stop.
func (h *health) finish() { h.doneOnce.Do(func() { close(h.drained) }) }

func (h *health) status() *grpc_health_v1.HealthCheckResponse {
	select {
	case <-h.server:
	case <-h.listener:
	default:
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}
}

// Check returns the status of a name. The error of an unknown name is NOT_FOUND.
func (h *health) Check(_ context.Context, in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if !hasHealth(in.GetService()) {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return h.status(), nil
}

// List returns the status of all names.
func (h *health) List(context.Context, *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	now := h.status()
	return &grpc_health_v1.HealthListResponse{Statuses: map[string]*grpc_health_v1.HealthCheckResponse{"": now, serviceName: now}}, nil
}

func hasHealth(name string) bool { return name == "" || name == serviceName }

// Watch sends the status of a name, and sends it again when it changes. It ends with
// UNAVAILABLE when the listener has stopped.
func (h *health) Watch(in *grpc_health_v1.HealthCheckRequest, stream rpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	now := h.status()
	if !hasHealth(in.GetService()) {
		now.Status = grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN
	}
	if err := stream.Send(now); err != nil {
		return err
	}
	ctx := stream.Context()
	if now.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
		select {
		case <-h.server:
		case <-h.listener:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		if err := stream.Send(h.status()); err != nil {
			return err
		}
	}
	select {
	case <-h.drained:
		return statusOf(wire.ErrClosed)
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// bound is an interceptor that bounds the calls of Watch. They need no credentials and have
// no end, so that without a bound they could hold all connections of the listener.
func (h *health) bound(srv any, stream rpc.ServerStream, info *rpc.StreamServerInfo, handler rpc.StreamHandler) error {
	if info.FullMethod != watchMethod {
		return handler(srv, stream)
	}
	open := h.watches.Add(1)
	defer h.watches.Add(-1)
	if open > h.most {
		return status.Errorf(codes.ResourceExhausted, "there are %d calls of Watch already", h.most)
	}
	return handler(srv, stream)
}

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
