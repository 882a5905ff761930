package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/grpc/ribosomev1"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

const (
	serving    = grpc_health_v1.HealthCheckResponse_SERVING
	notServing = grpc_health_v1.HealthCheckResponse_NOT_SERVING
)

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	t.Cleanup(cancel)
	return ctx
}

// statuses is the stream of a call of Watch.
type statuses = rpc.ServerStreamingClient[grpc_health_v1.HealthCheckResponse]

// watch begins a call of Watch.
func watch(t testing.TB, cc *rpc.ClientConn, name string) statuses {
	t.Helper()
	w, err := grpc_health_v1.NewHealthClient(cc).Watch(soon(t), &grpc_health_v1.HealthCheckRequest{Service: name})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// awaitStatus checks the next status of a Watch.
func awaitStatus(t testing.TB, w statuses, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
	t.Helper()
	if got, err := w.Recv(); err != nil || got.GetStatus() != want {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

// A load balancer, which has no credentials, probes a listener with and without TLS.
func TestHealth(t *testing.T) {
	a := newAuthority(t)
	encrypted := Options{TLS: &tls.Config{Certificates: []tls.Certificate{a.issue(t, "server")}}}
	for name, c := range map[string]struct {
		options Options
		change  func(*wire.Options)
		creds   credentials.TransportCredentials
	}{
		"anonymous":         {Options{}, nil, insecure.NewCredentials()},
		"guarded":           {Options{}, guarded, insecure.NewCredentials()},
		"guarded, with TLS": {encrypted, guarded, credentials.NewTLS(&tls.Config{RootCAs: a.pool})},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, c.options, c.change)
			cc, err := rpc.NewClient("passthrough:///"+h.addr, rpc.WithTransportCredentials(c.creds))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cc.Close() })
			client := grpc_health_v1.NewHealthClient(cc)
			for _, name := range []string{"", "ribosome.v1.Wire"} {
				got, err := client.Check(soon(t), &grpc_health_v1.HealthCheckRequest{Service: name})
				if err != nil || got.GetStatus() != serving {
					t.Errorf("%q: %v, %v", name, got, err)
				}
			}
			if _, err := client.Check(soon(t), &grpc_health_v1.HealthCheckRequest{Service: "x"}); status.Code(err) != codes.NotFound {
				t.Errorf("another service: %v", err)
			}
			all, err := client.List(soon(t), &grpc_health_v1.HealthListRequest{})
			if err != nil || len(all.GetStatuses()) != 2 || all.Statuses["ribosome.v1.Wire"].GetStatus() != serving || all.Statuses[""].GetStatus() != serving {
				t.Errorf("listed %v, %v", all, err)
			}
			awaitStatus(t, watch(t, cc, ""), serving)
			awaitStatus(t, watch(t, cc, "x"), grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN)
			if n := len(h.server.Sessions()); n != 0 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

// While a session keeps the listener from stopping, a Watch says NOT_SERVING. It ends with
// the listener, which does not wait for it.
func TestWatchThroughStop(t *testing.T) {
	server, err := wire.NewServer(wire.Options{Handler: &wiretest.Recorder{}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(server, Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	cc := dialPlain(t, l.Addr().String())
	w, other := watch(t, cc, serviceName), watch(t, cc, "x")
	awaitStatus(t, w, serving)
	awaitStatus(t, other, grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN)
	session := callPlain(t, cc, "")
	if _, err := session.Header(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- l.Stop(context.WithoutCancel(t.Context())) }()
	awaitStatus(t, w, notServing)
	if len(stopped) != 0 {
		t.Error("the listener has stopped before its session")
	}
	_ = session.CloseSend()
	for _, w := range []statuses{w, other} {
		if got, err := w.Recv(); status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "the server stops" {
			t.Errorf("after the end: %v, %v", got, err)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	stop(t, server.Stop)
}

// A listener is not healthy when its wire.Server stops, or has stopped before it.
func TestHealthOfAStoppedServer(t *testing.T) {
	h := serve(t, Options{}, nil)
	cc := dialPlain(t, h.addr)
	w := watch(t, cc, "")
	awaitStatus(t, w, serving)
	stop(t, h.server.Stop)
	awaitStatus(t, w, notServing)
	late := dialPlain(t, listen(t, h.server, Options{}).Addr().String())
	for _, cc := range []*rpc.ClientConn{cc, late} {
		client := grpc_health_v1.NewHealthClient(cc)
		if got, err := client.Check(soon(t), &grpc_health_v1.HealthCheckRequest{}); err != nil || got.GetStatus() != notServing {
			t.Errorf("Check: %v, %v", got, err)
		}
		if got, err := client.List(soon(t), &grpc_health_v1.HealthListRequest{}); err != nil || got.Statuses[serviceName].GetStatus() != notServing {
			t.Errorf("List: %v, %v", got, err)
		}
		awaitStatus(t, watch(t, cc, serviceName), notServing)
	}
}

// awaitIdleEnd waits until the server has closed a connection that was ready.
func awaitIdleEnd(t testing.TB, cc *rpc.ClientConn) {
	t.Helper()
	ctx := soon(t)
	cc.Connect()
	for ready := false; ; {
		state := cc.GetState()
		ready = ready || state == connectivity.Ready
		if ready && state != connectivity.Ready {
			return
		}
		if !cc.WaitForStateChange(ctx, state) {
			t.Fatalf("the connection is %v", state)
		}
	}
}

// A connection with a Watch only outlives one without a call.
func TestWatchIsNotIdle(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.AuthTime = time.Second })
	w := watch(t, dialPlain(t, h.addr), "")
	awaitStatus(t, w, serving)
	awaitIdleEnd(t, dialPlain(t, h.addr))
	awaitIdleEnd(t, dialPlain(t, h.addr))
	stop(t, h.server.Stop)
	awaitStatus(t, w, notServing)
}

// A call without credentials whose request does not come is ended, and does not keep its
// connection open.
func TestCallsWithoutARequestEnd(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.AuthTime = time.Second })
	calls := make(map[string]rpc.ClientStream)
	for _, method := range []string{
		grpc_health_v1.Health_Check_FullMethodName, grpc_health_v1.Health_List_FullMethodName,
		grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName,
		grpc_reflection_v1alpha.ServerReflection_ServerReflectionInfo_FullMethodName,
	} {
		ctx, cancel := context.WithCancel(t.Context()) // the deadline is the server's
		defer time.AfterFunc(patience.Time, cancel).Stop()
		defer cancel()
		s, err := dialPlain(t, h.addr).NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		calls[method] = s
	}
	for method, s := range calls {
		if err := s.RecvMsg(&emptypb.Empty{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// Watches cannot take the connections that sessions need.
func TestWatchesAreBounded(t *testing.T) {
	h := serve(t, Options{}, func(o *wire.Options) { o.MaxConnections = 8 })
	cc := dialPlain(t, h.addr)
	first, second, third := watch(t, cc, ""), watch(t, cc, ""), watch(t, cc, "")
	var refused int
	var open []statuses
	for _, w := range []statuses{first, second, third} {
		switch _, err := w.Recv(); status.Code(err) {
		case codes.OK:
			open = append(open, w)
		case codes.ResourceExhausted:
			refused++
		default:
			t.Errorf("got %v", err)
		}
	}
	if refused != 1 {
		t.Errorf("%d of 3 are refused", refused)
	}
	if got, err := grpc_health_v1.NewHealthClient(cc).Check(soon(t), &grpc_health_v1.HealthCheckRequest{}); err != nil || got.GetStatus() != serving {
		t.Errorf("Check: %v, %v", got, err)
	}
	_ = mustConnect(t, "grpc://"+h.addr, DialOptions{})
	stop(t, h.server.Stop)
	for _, w := range open {
		awaitStatus(t, w, notServing)
	}
}

// reflect asks a reflection service about a symbol; with an empty symbol, for all services.
func reflect(t *testing.T, cc *rpc.ClientConn, symbol string) *grpc_reflection_v1.ServerReflectionResponse {
	t.Helper()
	s, err := grpc_reflection_v1.NewServerReflectionClient(cc).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	request := &grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}
	if symbol != "" {
		request.MessageRequest = &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}
	}
	if err := s.Send(request); err != nil {
		t.Fatal(err)
	}
	_ = s.CloseSend()
	answer, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	return answer
}

// A client that knows nothing but the address learns the schema, and speaks by it.
func TestReflection(t *testing.T) {
	h := serve(t, Options{}, guarded)
	cc := dialPlain(t, h.addr)
	var names []string
	for _, s := range reflect(t, cc, "").GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	want := []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection", "ribosome.v1.Wire"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	var set descriptorpb.FileDescriptorSet
	for _, text := range reflect(t, cc, "ribosome.v1.Wire").GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(text, file); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	method := methodOf(t, files)
	frame := dynamicpb.NewMessage(method.Input())
	ping := dynamicpb.NewMessage(method.Input().Fields().ByName("ping").Message())
	ping.Set(ping.Descriptor().Fields().ByName("data"), protoreflect.ValueOfBytes([]byte("there?")))
	frame.Set(method.Input().Fields().ByName("ping"), protoreflect.ValueOfMessage(ping))
	s := callPlain(t, cc, "secret")
	if err := s.SendMsg(frame); err != nil {
		t.Fatal(err)
	}
	var answer ribosomev1.Frame
	if err := s.RecvMsg(&answer); err != nil || string(answer.GetPong().GetData()) != "there?" {
		t.Errorf("got %v, %v", &answer, err)
	}
}

// methodOf returns the method of the service in files.
func methodOf(t *testing.T, files *protoregistry.Files) protoreflect.MethodDescriptor {
	t.Helper()
	d, err := files.FindDescriptorByName("ribosome.v1.Wire")
	if err != nil {
		t.Fatal(err)
	}
	m := d.(protoreflect.ServiceDescriptor).Methods().ByName("Connect")
	if m == nil || !m.IsStreamingClient() || !m.IsStreamingServer() {
		t.Fatalf("the method is %v", m)
	}
	return m
}

// Old clients of reflection know v1alpha only.
func TestReflectionV1Alpha(t *testing.T) {
	h := serve(t, Options{}, guarded)
	s, err := grpc_reflection_v1alpha.NewServerReflectionClient(dialPlain(t, h.addr)).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // it is deprecated, and in use
	err = s.Send(&grpc_reflection_v1alpha.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1alpha.ServerReflectionRequest_ListServices{}})
	if err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // as above
	if answer, err := s.Recv(); err != nil || len(answer.GetListServicesResponse().GetService()) != 4 {
		t.Errorf("got %v, %v", answer, err)
	}
}

func TestUnknownMethods(t *testing.T) {
	cc := dialPlain(t, serve(t, Options{}, guarded).addr)
	for _, method := range []string{"/x.Y/Z", "/ribosome.v1.Wire/X", "/grpc.health.v1.Health/X"} {
		if err := cc.Invoke(soon(t), method, &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
}
