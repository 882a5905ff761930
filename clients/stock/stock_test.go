// Package stock_test calls a node with the clients of others, which npm and Debian have.
package stock_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/grpc"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// worker has the tools that each client calls. Its task wait lasts until it is withdrawn, and meet
// until there are two of it.
type worker struct {
	met       chan struct{}
	withdrawn chan struct{}
}

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{
		Actions:   []performatives.Action{{Name: "echo"}, {Name: "fail"}, {Name: "wait"}, {Name: "meet"}},
		Resources: []performatives.Resource{{URI: "doc:a", Name: "a"}},
	}
}

func (worker) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if t.TaskType == "nothing" {
		return delegation.Reject(performatives.CodeIncapable, "there is no such task")
	}
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	switch t.TaskType {
	case "fail":
		return performatives.InformResult{}, errors.New("it fails")
	case "wait":
		if err := t.Progress(50, "it waits"); err != nil {
			return performatives.InformResult{}, err
		}
		<-ctx.Done()
		w.withdrawn <- struct{}{}
		return performatives.InformResult{}, context.Cause(ctx)
	case "meet":
		select {
		case w.met <- struct{}{}:
		case <-w.met:
		case <-ctx.Done():
			return performatives.InformResult{}, context.Cause(ctx)
		}
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done", Details: t.Parameters}, nil
}

func (worker) HandleQueryRef(context.Context, query.AskedRef) (any, error) { return "A", nil }

// TestStockClients has each client list the tools of a node, call one, be refused, withdraw a call,
// and make two calls at once.
func TestStockClients(t *testing.T) {
	racetest.Skip(t)
	python := pythonWith(t, "websockets", "aiohttp")
	proto := filepath.Join("..", "..", "wire", "grpc", "ribosomev1", "ribosome.proto")
	for script, program := range map[string]string{"sdk.mjs": "node", "ws.mjs": "node", "grpc.mjs": "node", "gateway.py": python, "bridge.py": python} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			if program == "" {
				t.SkipNow()
			}
			if _, err := os.Stat("node_modules"); program == "node" && err != nil {
				missing(t, "the packages of npm are not installed: run npm ci in clients/stock, as .ci/clients does")
			}
			w := worker{met: make(chan struct{}), withdrawn: make(chan struct{}, 1)}
			url, address := startNode(t, w)
			ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
			defer cancel()
			args := []string{script, url}
			if script == "grpc.mjs" {
				args = []string{script, address, proto}
			}
			if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			select {
			case <-w.withdrawn:
			case <-ctx.Done():
				t.Error("the task was not withdrawn")
			}
		})
	}
}

// startNode starts a node with a worker, and returns the addresses of its listeners for WebSocket
// and gRPC.
func startNode(t *testing.T, w worker) (url, address string) {
	t.Helper()
	node, err := runtime.New(runtime.Options{Name: "Host", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	stopped := func(stop func(context.Context) error) {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
			defer cancel()
			if err := stop(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	stopped(node.Stop)
	if err := node.Spawn(t.Context(), "Worker", func() actors.Agent { return w }); err != nil {
		t.Fatal(err)
	}
	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mcp := gateway.New(gateway.Options{})
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{mcp, bridge.Dialect{}, acl.Dialect{}}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	stopped(server.Stop)
	socket, err := ws.Listen(server, ws.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopped(socket.Stop)
	rpc, err := grpc.Listen(server, grpc.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopped(rpc.Stop)
	return socket.URL(), rpc.Addr().String()
}

// pythonWith returns a Python that has the packages, such as that of Debian; empty for none.
func pythonWith(t *testing.T, packages ...string) string {
	t.Helper()
	script := "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, append([]string{"-c", script}, packages...)...).Run() == nil {
			return python
		}
	}
	if os.Getenv("CI") != "" {
		t.Errorf("no Python has the packages %q: install python3-websockets and python3-aiohttp, as .ci/setup does", packages)
	}
	return ""
}

// missing skips a test for want of a package. In CI it fails.
func missing(t *testing.T, text string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(text)
	}
	t.Skip(text)
}
