package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// speakers has a program of each dialect.
var speakers = map[string]foreign{
	"acl-agent": aclSpeaker{}, "bridge-agent": bridgeSpeaker{}, "gateway-agent": gatewaySpeaker{}, "rag-agent": ragSpeaker{}, "rossnet-agent": rossnetSpeaker{},
}

// routing is a node, its agent and a program of each dialect that ask one another.
type routing struct {
	*hub
	over    transport
	addr    string
	workers []string // the programs and the agent
	each    int      // tasks of each asker
	window  int      // tasks of an asker that are under way at a time
	equal   bool     // all askers use the same ids

	stuck     context.Context
	delivered atomic.Int64 // requests that have reached their worker, and results that have reached their asker
}

func newRouting(t *testing.T, over transport) *routing {
	t.Helper()
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub"}), noPeerOptions, func(o *wire.Options) { o.Dialects = allDialects(t) })
	addr := serve(t, over, h.server)
	return &routing{hub: h, over: over, addr: addr}
}

// askedOne checks what an agent is asked: of each asker, its tasks come in the order in which they
// were sent, and each once.
type askedOne struct {
	r    *routing
	t    *testing.T
	name string
	last map[string]float64 // by asker
}

// take checks one task. The askers go round the workers, so the numbers of an asker have gaps of a
// known size.
func (w *askedOne) take(from string, n float64) {
	w.r.delivered.Add(1)
	from = strings.ToLower(from)
	before, known := w.last[from]
	if step := n - before; known && step != float64(len(w.r.workers)) || !known && n >= float64(len(w.r.workers)) {
		w.t.Errorf("%s gets the task %v of %s after %v", w.name, n, from, before)
	}
	w.last[from] = n
}

// asker sends numbered tasks to the workers in turn, and checks the results: each once, and of one
// worker in the order of its tasks.
type asker struct {
	r    *routing
	t    *testing.T
	name string
	room chan struct{} // of the window
	done chan struct{} // closed with the last result

	mu   sync.Mutex
	open [][]float64 // by worker, the tasks without a result, the oldest first
	left int
}

func (r *routing) newAsker(t *testing.T, name string) *asker {
	return &asker{
		r: r, t: t, name: name, room: make(chan struct{}, r.window), done: make(chan struct{}), open: make([][]float64, len(r.workers)), left: r.each,
	}
}

// run sends the tasks by send, which gets the number of a task and the name of its worker.
func (a *asker) run(send func(n float64, to string)) {
	for i := range a.r.each {
		select {
		case a.room <- struct{}{}:
		case <-a.r.stuck.Done():
			return
		}
		to := i % len(a.r.workers)
		a.mu.Lock()
		a.open[to] = append(a.open[to], float64(i))
		a.mu.Unlock()
		send(float64(i), a.r.workers[to])
	}
}

func (a *asker) id(n float64) string {
	if a.r.equal {
		return fmt.Sprintf("call%v:", n)
	}
	return fmt.Sprintf("call%v:%s", n, a.name)
}

// result checks one result.
func (a *asker) result(id string, n float64) {
	a.r.delivered.Add(1)
	var asked float64
	if _, err := fmt.Sscanf(id, "call%g:", &asked); err != nil {
		a.t.Errorf("%s gets a result of %q", a.name, id)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := &a.open[int(asked)%len(a.open)]
	if len(*of) == 0 || (*of)[0] != asked || n != 2*asked {
		a.t.Errorf("%s gets the result %v of the task %v; these wait: %v", a.name, n, asked, *of)
		return
	}
	*of = (*of)[1:]
	<-a.room
	if a.left--; a.left == 0 {
		close(a.done)
	}
}

// program connects a program of a dialect that asks and is asked, and that leaves when the test is
// over. It calls answered when it has all its results.
func (r *routing) program(t *testing.T, name string, f foreign, begin <-chan struct{}, answered func()) {
	defer answered()
	conn, err := r.over.dial(r.stuck, r.addr)
	if err != nil {
		t.Error(err)
		return
	}
	ended := make(chan struct{})
	a, w := r.newAsker(t, name), &askedOne{r, t, name, make(map[string]float64)}
	write := func(texts string) {
		var all []wire.Frame
		for text := range strings.SplitSeq(texts, "\n") {
			all = append(all, wire.Frame{Kind: wire.KindData, Data: []byte(text)})
		}
		if err := conn.Write(all); err != nil && r.stuck.Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	go func() {
		defer close(ended)
		for {
			data, err := conn.Read(func(wire.Frame) {})
			if err != nil {
				return
			}
			switch h := f.read(data); h.kind {
			case heardTask:
				w.take(h.from, h.n)
				write(f.result(name, h, 2*h.n))
			case heardResult:
				a.result(h.id, h.n)
			case heardOther, heardWelcome:
			case heardCancel, heardStopped, heardNo:
				t.Errorf("%s gets %s", name, data)
			}
		}
	}()
	write(f.introduce(name))
	<-begin
	a.run(func(n float64, to string) { write(f.ask(name, a.id(n), to, "double", n)) })
	a.wait()
	answered()
	<-r.stuck.Done() // the others may still ask it
	_ = conn.Close()
	<-ended
}

// wait waits for the last result.
func (a *asker) wait() {
	select {
	case <-a.done:
	case <-a.r.stuck.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.left > 0 {
			a.t.Errorf("%s waits for %d of %d results: %v", a.name, a.left, a.r.each, a.open)
		}
	}
}

// TestRouter has a program of each dialect and an agent of the node ask one another, over one
// listener: a million messages in the long form, some ten thousand in the normal one. Nothing is
// lost, doubled or misdelivered, and of each pair all is in order, there and back. Meanwhile, a
// program of each dialect asks agents that do not exist and that have left, and is refused. It
// makes no difference that askers use the same ids.
func TestRouter(t *testing.T) {
	for name, equal := range map[string]bool{"ids of their own": false, "equal ids": true} {
		t.Run(name, func(t *testing.T) { testRouter(t, equal) })
	}
}

func testRouter(t *testing.T, equal bool) {
	r := newRouting(t, overTCP)
	r.each, r.window, r.equal = 1500, 32, equal
	if racetest.Enabled {
		r.each = 90
	}
	limit := 2 * patience.Time
	if exhaustive.Enabled() && !equal {
		r.each, limit = 84_000, 30*patience.Time // of six askers, with as many results
	}
	var cancel context.CancelFunc
	r.stuck, cancel = context.WithTimeout(t.Context(), limit)
	defer cancel()
	for name := range speakers {
		r.workers = append(r.workers, name)
	}
	slices.Sort(r.workers)
	r.workers = append(r.workers, "Jules")
	eddy, jules := r.newAsker(t, "Eddy"), &askedOne{r, t, "Jules", make(map[string]float64)}
	doubles := func(c *actors.Context, m *p.Message) {
		task, err := p.PayloadAs[p.TaskRequest](m)
		in, errDecode := p.Decode[numbered](task.Parameters)
		if err != nil || errDecode != nil {
			t.Errorf("Jules gets %v: %v, %v", m, err, errDecode)
			return
		}
		jules.take(string(m.Sender()), in.N)
		if err := c.ReplyAs(m, p.ActInformResult, p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]float64{"n": 2 * in.N})}); err != nil {
			t.Error(err)
		}
	}
	hears := func(_ *actors.Context, m *p.Message) {
		switch m.Performative() { //nolint:exhaustive // all others are wrong
		case p.ActTaskAccept, p.ActStatusUpdate:
			return
		case p.ActInformResult:
			result, err := p.PayloadAs[p.InformResult](m)
			if out, errDecode := p.Decode[numbered](result.Details); err == nil && errDecode == nil {
				eddy.result(string(m.ConversationID()), out.N)
				return
			}
		}
		t.Errorf("Eddy gets %s of %s: %v", m.Performative(), m.Sender(), m.Payload())
	}
	for id, receive := range map[p.AgentID]func(*actors.Context, *p.Message){"Jules": doubles, "Eddy": hears} {
		if err := r.Spawn(patience.Context(t), id, always(scripted{topics: []string{"x"}, receive: receive})); err != nil {
			t.Fatal(err)
		}
	}
	begin := make(chan struct{})
	var running, unanswered sync.WaitGroup
	for name, f := range speakers {
		unanswered.Add(1)
		running.Go(func() { r.program(t, name, f, begin, sync.OnceFunc(unanswered.Done)) })
	}
	for name := range speakers {
		r.awaitVisible(p.AgentID(name))
	}
	close(begin)
	unanswered.Go(func() {
		eddy.run(func(n float64, to string) {
			id := p.ConversationID(eddy.id(n))
			m := message(t, "Eddy", p.AgentID(to), p.ActTaskRequest, with(p.TaskRequest{TaskType: "double", Parameters: p.ContentOf(map[string]float64{"n": n})}),
				func(e *p.Envelope) { e.ID, e.ConversationID = p.MessageID(id), id })
			if err := r.Send(m); err != nil {
				t.Errorf("Eddy asks %s: %v", to, err)
			}
		})
		eddy.wait()
	})
	r.refuses(t)
	unanswered.Wait()
	if n := r.OpenRecords(); n > 0 && !t.Failed() {
		t.Errorf("%d requests are open, and each has its result", n)
	}
	cancel()
	running.Wait()
	want := 2 * int64(r.each) * int64(len(r.workers))
	if got := r.delivered.Load(); got != want {
		t.Errorf("%d messages were delivered, want %d", got, want)
	}
	t.Logf("%d messages", want)
}

// refuses has a program of each dialect ask an agent that has never been there, and one that has
// left.
func (r *routing) refuses(t *testing.T) {
	dial := func(ctx context.Context) (wire.Conn, error) { return r.over.dial(ctx, r.addr) }
	gone := connectForeign(t, "Gone", aclSpeaker{}, dial)
	r.awaitVisible("Gone")
	_ = gone.conn.Close()
	r.awaitStopped("Gone", 1)
	for name, f := range speakers {
		visitor := connectForeign(t, "visiting-"+name, f, dial)
		for i, to := range []string{"Nobody", "Gone"} {
			id := fmt.Sprintf("call%d", i)
			visitor.write(f.ask(visitor.name, id, to, "double", 1))
			if h := visitor.hear(heardNo); h.id != id {
				t.Errorf("%s asks %s: %s", visitor.name, to, h.text)
			}
		}
	}
}

// TestRouterReconnect has a program of each dialect connect again under the id that it has while it
// works. The asker is told once that the work is lost. The new connection gets what comes after,
// and the end of the old one does not take the agent away.
func TestRouterReconnect(t *testing.T) {
	r := newRouting(t, overTCP)
	dial := func(ctx context.Context) (wire.Conn, error) { return r.over.dial(ctx, r.addr) }
	for name, f := range speakers {
		t.Run(name, func(t *testing.T) {
			first := connectForeign(t, name, f, dial)
			r.awaitVisible(p.AgentID(name))
			ask := func(ctx context.Context, task string) error {
				res, err := r.Delegate(ctx, p.AgentID(name), p.TaskRequest{TaskType: task, Parameters: p.ContentOf(numbered{7})})
				if out, errDecode := p.Decode[numbered](res.Details); err == nil && (errDecode != nil || out.N != 14) {
					err = fmt.Errorf("got %v, %w", out.N, errDecode)
				}
				return err
			}
			ended := make(chan error, 1)
			go func() { ended <- ask(patience.Context(t), "wait") }()
			expect(t, name+" begins", first.began, 7)
			second := connectForeign(t, name, f, dial)
			if err := <-ended; !errors.Is(err, p.CodeDisconnected) {
				t.Errorf("the work is lost: %v", err)
			}
			<-first.done // the node has closed the first connection
			r.awaitVisibleAgain(p.AgentID(name), 1)
			if err := ask(patience.Context(t), "double"); err != nil {
				t.Error(err)
			}
			if len(first.began)+len(second.began) > 0 {
				t.Error("the lost work has begun again")
			}
		})
	}
}
