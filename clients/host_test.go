package clients_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/clients"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// hostOptions are the options of a host. The zero value accepts anybody, on free ports.
type hostOptions struct {
	tcp, ws string
	tls     *tls.Config
	auth    wire.Authenticator
}

// host is a node with a local agent, Helper, that external agents can join by both transports.
type host struct {
	node   *runtime.Node
	server *wire.Server
	tcp    *tcp.Listener
	ws     *ws.Listener
	joined *events.Subscription // to events.AgentAnnounced
	lost   *events.Subscription // to messages that reached nobody
}

func startHost(o hostOptions) (h *host, err error) {
	h = &host{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.stop())
		}
	}()
	if o.tcp == "" {
		o.tcp = "127.0.0.1:0"
	}
	if o.ws == "" {
		o.ws = "127.0.0.1:0"
	}
	if h.node, err = runtime.New(runtime.Options{Name: "Host"}); err != nil {
		return h, err
	}
	if err := h.node.Spawn(context.Background(), "Helper", func() actors.Agent { return helper{} }); err != nil {
		return h, err
	}
	h.joined = h.node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	h.lost = h.node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindMessageDeadLettered, events.KindMessageRefused}})
	peers, err := runtime.NewPeers(h.node, runtime.PeerOptions{})
	if err != nil {
		return h, err
	}
	if h.server, err = wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}}, Anonymous: o.auth == nil, Auth: o.auth}); err != nil {
		return h, err
	}
	if h.tcp, err = tcp.Listen(h.server, tcp.Options{Addr: o.tcp, TLS: o.tls}); err != nil {
		return h, err
	}
	h.ws, err = ws.Listen(h.server, ws.Options{Addr: o.ws, TLS: o.tls})
	return h, err
}

func (h *host) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Time)
	defer cancel()
	var errs []error
	if h.tcp != nil {
		errs = append(errs, h.tcp.Stop(ctx))
	}
	if h.ws != nil {
		errs = append(errs, h.ws.Stop(ctx))
	}
	if h.server != nil {
		errs = append(errs, h.server.Stop(ctx))
	}
	if h.node != nil {
		for _, s := range []*events.Subscription{h.joined, h.lost} {
			if s != nil {
				s.Close()
			}
		}
		errs = append(errs, h.node.Stop(ctx))
	}
	return errors.Join(errs...)
}

// helper is the local agent. Its task report reports progress and ends, and last lasts until it is
// withdrawn.
type helper struct{}

func (helper) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (helper) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (helper) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	if err := t.Progress(25, "a quarter"); err != nil {
		return performatives.InformResult{}, err
	}
	if t.TaskType == "last" {
		<-ctx.Done()
		return performatives.InformResult{}, context.Cause(ctx)
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "helped", Details: t.Parameters}, nil
}

// language starts agents of one package.
type language struct {
	name    string
	program string
	worker  string // in testdata
	url     func(*host) string
	env     []string
}

var languages = []language{
	{"python", "python3", "worker.py", func(h *host) string { return secureIf(h.tcpSecure(), "tcp") + h.tcp.Addr().String() }, nil},
	{"typescript", "node", "worker.mjs", func(h *host) string { return h.ws.URL() }, nil},
	// Node.js 20 has the WebSocket of browsers behind this flag.
	{"browser", "node", "worker.mjs", func(h *host) string { return h.ws.URL() }, []string{"BROWSER=1", "NODE_OPTIONS=--experimental-websocket"}},
}

func secureIf(secure bool, scheme string) string {
	if secure {
		return scheme + "s://"
	}
	return scheme + "://"
}

func (h *host) tcpSecure() bool { return h.ws.URL()[:3] == "wss" }

// fixture is a host, and the way to start workers of one language at it.
type fixture struct {
	*host
	language
	dir string // where the packages are installed
}

func newFixture(t *testing.T, l language, h *host) *fixture {
	t.Helper()
	f := &fixture{host: h, language: l, dir: t.TempDir()}
	f.install(t)
	t.Cleanup(func() {
		if err := f.host.stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// install writes the packages and the worker to the folder of the fixture.
func (f *fixture) install(t *testing.T) {
	t.Helper()
	if err := clients.Install(f.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(f.dir, "testdata"), os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
}

// forEach runs a test with a host for each language whose interpreter is installed.
func forEach(t *testing.T, o hostOptions, test func(*testing.T, *fixture)) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			needs(t, l.program)
			h, err := startHost(o)
			if err != nil {
				t.Fatal(err)
			}
			test(t, newFixture(t, l, h))
		})
	}
}

// start starts a worker, and returns its process and what it says.
func (f *fixture) start(t *testing.T, id string, url string, env ...string) (*exec.Cmd, *output) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), f.program, filepath.Join(f.dir, "testdata", f.worker), id, url)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+f.dir, "PYTHONDONTWRITEBYTECODE=1"), slices.Concat(f.env, env)...)
	if ca := os.Getenv("CLIENTS_TEST_CA"); ca != "" {
		cmd.Args = append(cmd.Args, ca)
	}
	says := newOutput()
	cmd.Stderr = says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", id, says)
		}
	})
	return cmd, says
}

// join starts a worker, and waits until it has joined.
func (f *fixture) join(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd, _ := f.start(t, "Worker", f.url(f.host), env...)
	f.waitJoined(t)
	return cmd
}

func (f *fixture) waitJoined(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	if who, err := events.Next[events.AgentAnnounced](ctx, f.joined); err != nil || who.Agent != "Worker" {
		t.Fatalf("%s has joined, %v", who.Agent, err)
	}
}

// task returns a task of the worker.
func task(kind string, parameters any) performatives.TaskRequest {
	return performatives.TaskRequest{TaskType: kind, Description: "a task", Parameters: performatives.ContentOf(parameters)}
}

// nodeVariable makes the test binary a node of its own, which can be killed.
const nodeVariable = "CLIENTS_TEST_NODE"

// runNode runs a host that delegates a task to the worker that joins, and says when it has begun.
// It ends when its stdin does.
func runNode() {
	h, err := startHost(hostOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println("tcp", h.tcp.Addr())
	fmt.Println("ws", h.ws.Addr())
	go func() {
		if _, err := events.Next[events.AgentAnnounced](context.Background(), h.joined); err != nil {
			panic(err)
		}
		_, err := h.node.Delegate(context.Background(), "Worker", task("wait", nil), delegation.WithProgress(func(performatives.StatusUpdate) {
			fmt.Println("begun", "")
		}))
		fmt.Println("ended", err)
	}()
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
}

// tokens returns an authenticator for the worker's token.
func tokens(t *testing.T) wire.Authenticator {
	t.Helper()
	known, err := auth.Tokens([]auth.Token{{Name: "Worker", Value: workerToken}, {Name: "Other", Value: otherToken}})
	if err != nil {
		t.Fatal(err)
	}
	return known
}

const (
	workerToken = "0123456789abcdef0123456789abcdef"
	otherToken  = "fedcba9876543210fedcba9876543210"
)
