package browser

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
	"github.com/ribosome-agents/ribosome/runtime/observe/console"
)

// worker is an agent that works until its test says what it reports or returns.
type worker struct {
	begun  chan struct{}
	report chan string // a text to report
	finish chan struct{}
}

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"work"}}
}

func (worker) MaxTasks() int { return 100 }

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w worker) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	_ = codons.Spend(ctx, codons.Budget{"tokens": 200}) // of tasks without a budget, too: no limit
	w.begun <- struct{}{}
	for {
		select {
		case text := <-w.report:
			if err := t.Progress(50, text); err != nil {
				return performatives.InformResult{}, err
			}
		case <-w.finish:
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, nil
		case <-ctx.Done():
			return performatives.InformResult{}, context.Cause(ctx)
		}
	}
}

// silent is an agent that takes messages and never answers: of a request to it, only the
// initiator's side is under way.
type silent struct{}

func (silent) Describe() performatives.Capabilities            { return performatives.Capabilities{} }
func (silent) Receive(*actors.Context, *performatives.Message) {}

// ungraceful is for requests to silent: the node would wait for a receipt when it stops.
var ungraceful = codons.WithGrace(time.Millisecond)

// observed is a node with its console on a socket.
type observed struct {
	*runtime.Node
	t      *testing.T
	url    string
	worker worker
	queue  *approval.Queue
	gate   *gate
}

// gate is between the browser and the node. While it is closed, no request is answered.
type gate struct {
	next   http.Handler
	mu     sync.Mutex
	open   context.Context //nolint:containedctx // of the requests that are being answered; nil while the gate is closed
	cancel context.CancelFunc
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel()
	}
	if g.open = nil; open {
		g.open, g.cancel = context.WithCancel(context.Background())
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// serve starts the node north with a worker and a boss who approves.
func serve(t *testing.T, change func(*api.Options)) *observed {
	t.Helper()
	return serveAs(t, "north", change)
}

func serveAs(t *testing.T, name string, change func(*api.Options)) *observed {
	t.Helper()
	n, err := runtime.New(runtime.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	r, err := observe.New(n, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	o := &observed{n, t, "", worker{make(chan struct{}, 100), make(chan string), make(chan struct{})}, &approval.Queue{}, &gate{}}
	options := api.Options{Node: n, Recorder: r, Approvals: o.queue, Console: console.New()}
	if change != nil {
		change(&options)
	}
	h, err := api.New(options)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.gate.next = h
	o.gate.set(true)
	server := &http.Server{Handler: o.gate, ReadHeaderTimeout: patience.Time}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(socket) // ends with Close
	}()
	t.Cleanup(func() {
		o.gate.set(false)
		h.Close()
		_ = server.Close()
		<-done
	})
	o.url = "http://" + socket.Addr().String()
	o.spawn("Worker", o.worker)
	o.spawn("Boss", o.queue)
	return o
}

func (o *observed) spawn(id performatives.AgentID, a actors.Agent) {
	o.t.Helper()
	if err := o.Spawn(patience.Context(o.t), id, func() actors.Agent { return a }); err != nil {
		o.t.Fatal(err)
	}
}

// delegate begins a delegation to the worker, and returns when its work has begun.
func (o *observed) delegate(task performatives.TaskRequest, opts ...codons.Option) *delegation.Delegated {
	o.t.Helper()
	d, err := delegation.Start(patience.Context(o.t), o, "Worker", task, opts...)
	if err != nil {
		o.t.Fatal(err)
	}
	select {
	case <-o.worker.begun:
	case <-patience.Context(o.t).Done():
		o.t.Fatal("the work has not begun")
	}
	return d
}

// open waits until so many sides of conversations are under way: delegation.Start returns before
// its conversation has begun.
func (o *observed) open(sides int) {
	o.t.Helper()
	late := patience.Context(o.t).Done()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for int(o.Counts().Open) < sides {
		select {
		case <-tick.C:
		case <-late:
			o.t.Fatalf("%d of %d conversations have begun", o.Counts().Open, sides)
		}
	}
}

// propose asks the boss for an approval, again while the node is overloaded, as it is when many
// tests run at once.
func (o *observed) propose(what string, data map[string]any) <-chan approval.Approval {
	verdict := make(chan approval.Approval, 1)
	go func() {
		ctx := patience.Context(o.t)
		v, err := approval.Approve(ctx, o, "Boss", approval.Step{What: what, Data: performatives.ContentOf(data)}, codons.WithRetry(codons.Retry{First: -1, Busy: true}))
		if err != nil && ctx.Err() == nil {
			o.t.Errorf("the step %q is not proposed: %v", what, err)
		}
		verdict <- v
	}()
	return verdict
}
