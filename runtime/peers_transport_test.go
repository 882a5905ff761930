package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/grpc"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// listener is the interface that all transports' listeners have.
type listener interface {
	Stop(ctx context.Context) error
}

// transport is a way to connect two processes.
type transport struct {
	listen func(s *wire.Server) (l listener, addr string, err error)
	dial   func(ctx context.Context, addr string) (wire.Conn, error)
}

// serve accepts connections until the end of the test, and returns the address.
func serve(t testing.TB, over transport, s *wire.Server) (addr string) {
	t.Helper()
	l, addr, err := over.listen(s)
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	return addr
}

// stopListener stops a listener at the end of the test.
func stopListener(t testing.TB, l listener) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("Listener.Stop: %v", err)
		}
	})
}

var overTCP = transport{
	func(s *wire.Server) (listener, string, error) {
		l, err := tcp.Listen(s, tcp.Options{Addr: "127.0.0.1:0"})
		if err != nil {
			return nil, "", err
		}
		return l, "tcp://" + l.Addr().String(), nil
	},
	func(ctx context.Context, addr string) (wire.Conn, error) {
		return tcp.Dial(ctx, addr, tcp.DialOptions{})
	},
}

var overWS = transport{
	func(s *wire.Server) (listener, string, error) {
		l, err := ws.Listen(s, ws.Options{Addr: "127.0.0.1:0"})
		if err != nil {
			return nil, "", err
		}
		return l, l.URL(), nil
	},
	func(ctx context.Context, addr string) (wire.Conn, error) { return ws.Dial(ctx, addr, ws.DialOptions{}) },
}

var overGRPC = transport{
	func(s *wire.Server) (listener, string, error) {
		l, err := grpc.Listen(s, grpc.Options{Addr: "127.0.0.1:0"})
		if err != nil {
			return nil, "", err
		}
		return l, "grpc://" + l.Addr().String(), nil
	},
	func(ctx context.Context, addr string) (wire.Conn, error) {
		return grpc.Dial(ctx, addr, grpc.DialOptions{})
	},
}

// everywhere runs a test for each combination of transport and dialect, with a connected
// hub and outpost. session is set to the current session.
func everywhere(t *testing.T, atHub, atOutpost crew, test func(t *testing.T, h *hub, o *outpost, session **wire.Session)) {
	everywhereOf(t, runtime.Options{}, atHub, atOutpost, test)
}

// everywhereOf is everywhere with the options of both nodes, but for their names.
func everywhereOf(t *testing.T, of runtime.Options, atHub, atOutpost crew, test func(t *testing.T, h *hub, o *outpost, session **wire.Session)) {
	named := func(name string) runtime.Options {
		of.Name = name
		return of
	}
	rpc := gateway.New(gateway.Options{})
	for name, way := range map[string]struct {
		transport
		dialect wire.Dialect
	}{
		"tcp, acl": {overTCP, acl.Dialect{}}, "tcp, gateway": {overTCP, rpc}, "tcp, bridge": {overTCP, bridge.Dialect{Node: "out"}},
		"ws, acl": {overWS, acl.Dialect{}}, "ws, gateway": {overWS, rpc}, "ws, bridge": {overWS, bridge.Dialect{Node: "out"}},
		"grpc": {overGRPC, acl.Dialect{}}, // has its own dialect
	} {
		t.Run(name, func(t *testing.T) {
			h := newHubOf(t, newNode(t, named("hub")), noPeerOptions, func(o *wire.Options) { o.Dialects = []wire.Dialect{rpc, bridge.Dialect{Node: "hub"}, acl.Dialect{}} })
			for id, create := range atHub {
				h.spawn(id, create)
			}
			var session *wire.Session
			o := newOutpostOf(t, newNode(t, named("out")), h, way.to(t, h, way.dialect, &session))
			for id, create := range atOutpost {
				if err := o.Spawn(patience.Context(t), id, create); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.up.Connect(patience.Context(t)); err != nil {
				t.Fatal(err)
			}
			for id := range atOutpost {
				h.awaitVisible(id)
			}
			test(t, h, o, &session)
		})
	}
}

// to returns the option that connects an uplink to a hub by the transport. The latest
// session is stored in session.
func (way transport) to(t *testing.T, h *hub, d wire.Dialect, session **wire.Session) func(*runtime.UplinkOptions) {
	t.Helper()
	l, addr, err := way.listen(h.server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
		defer cancel()
		h.stopServer()
		if err := l.Stop(ctx); err != nil {
			t.Errorf("the listener's Stop: %v", err)
		}
	})
	return func(o *runtime.UplinkOptions) {
		o.Dial = func(ctx context.Context, handler wire.Handler) (*wire.Session, error) {
			conn, err := way.dial(ctx, addr)
			if err != nil {
				return nil, err
			}
			*session, err = wire.Connect(conn, wire.Options{Handler: handler, Dialects: []wire.Dialect{d}})
			return *session, err
		}
	}
}

// direction is one direction in which a test delegates.
type direction struct {
	asker codons.Party
	to    []performatives.AgentID
}

func bothWays(h *hub, o *outpost) []direction {
	return []direction{{h, []performatives.AgentID{"Bob"}}, {o, []performatives.AgentID{"team/Ada", "team", "system"}}}
}

func TestDelegateOverTransports(t *testing.T) {
	worker := returning(actionWorker{reporter, []performatives.Action{{Name: "debug_code"}}})
	everywhere(t, crew{"team/Ada": worker}, crew{"Bob": worker}, func(t *testing.T, h *hub, o *outpost, _ **wire.Session) {
		for _, way := range bothWays(h, o) {
			for _, to := range way.to {
				ctx, progress := patience.Context(t), 0.0
				for again := true; again; {
					got, err := delegation.Delegate(ctx, way.asker, to, performatives.TaskRequest{TaskType: "debug_code", Description: "x"},
						delegation.WithProgress(func(u performatives.StatusUpdate) { progress = *u.Progress }))
					// An agent over bridge has agreed on progress when the answer to its handshake
					// has come, which may be after the first request.
					again = err == nil && progress == 0 && strings.Contains(t.Name(), "bridge")
					if !again && (err != nil || got.Summary != "done: x" || progress != 50) {
						t.Errorf("%s: %+v, %v, %v %%", to, got, err, progress)
					}
				}
			}
		}
	})
}

func TestCancelOverTransports(t *testing.T) {
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	worker := returning(actionWorker{newCancellableWorker(started, ended), []performatives.Action{{Name: "debug_code"}}})
	everywhere(t, crew{"team/Ada": worker}, crew{"Bob": worker}, func(t *testing.T, h *hub, o *outpost, _ **wire.Session) {
		for _, way := range bothWays(h, o) {
			for _, to := range way.to {
				d, err := delegation.Start(patience.Context(t), way.asker, to, task("debug_code"), codons.WithGrace(time.Millisecond)) // a gateway sends no receipt
				if err != nil {
					t.Fatal(err)
				}
				<-started
				d.Cancel()
				if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
					t.Errorf("%s: the work ended because of %v", to, why)
				}
				if _, err := d.Wait(); err == nil {
					t.Errorf("%s: it has succeeded", to)
				}
			}
		}
	})
}

func TestDisconnectOverTransports(t *testing.T) {
	started, ended := make(chan struct{}, 3), make(chan error, 3)
	worker := returning(actionWorker{newCancellableWorker(started, ended), []performatives.Action{{Name: "debug_code"}}})
	everywhere(t, crew{"team/Ada": worker}, crew{"Bob": worker}, func(t *testing.T, h *hub, o *outpost, session **wire.Session) {
		for n := range 2 { // reconnects after the first
			var all []*delegation.Delegated
			for _, way := range []direction{{h, []performatives.AgentID{"Bob"}}, {o, []performatives.AgentID{"team/Ada", "team"}}} {
				for _, to := range way.to {
					d, err := delegation.Start(context.Background(), way.asker, to, task("debug_code"))
					if err != nil {
						t.Fatal(err)
					}
					<-started
					all = append(all, d)
				}
			}
			h.lose(patience.Context(t))
			for _, d := range all {
				if _, err := d.Wait(); !errors.Is(err, performatives.CodeDisconnected) {
					t.Errorf("the asker is told %v", err)
				}
				if why := <-ended; !errors.Is(why, codons.ErrPeerLost) {
					t.Errorf("the work ended because of %v", why)
				}
			}
			h.awaitStopped("Bob", n+1)
			<-(*session).Done()
			if err := o.up.Connect(patience.Context(t)); err != nil {
				t.Fatal(err)
			}
			h.awaitVisibleAgain("Bob", n+1)
		}
	})
}

// lose ends the sessions of the hub from its side.
func (h *hub) lose(ctx context.Context) {
	for _, s := range h.server.Sessions() {
		if err := s.Stop(ctx); err != nil {
			h.t.Errorf("Session.Stop: %v", err)
		}
	}
}
