package codons_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/internal/exhaustive"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The tree of a delegation that is passed on to three, each of which passes it on to
// three, and so on: 1 + 3 + 9 + 27 + 81 = 121 conversations.
const (
	treeFan   = 3
	treeDepth = 4
	treeSize  = 121
)

// levels are how many the tree has below a node. Path is where the node is: the path of its parent
// begins it.
type levels struct {
	Left int    `json:"left"`
	Path string `json:"path"`
}

// forest counts what happens in a tree.
type forest struct {
	running  atomic.Int64
	leaves   atomic.Int64
	tooEarly atomic.Int64 // receipts while the handler of that conversation ran

	belowRuns atomic.Int64 // receipts while a handler below that conversation ran

	leaf  func(path string) // called by the handler of a leaf after its ctx has ended; nil for nothing
	begun chan struct{}     // gets a value from each leaf that works; nil for none

	mu      sync.Mutex
	paths   map[p.ConversationID]string
	working map[string]bool // the handlers that run, by their paths
}

func (f *forest) work(id p.ConversationID, path string) (returned func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paths[id] = path
	f.working[path] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.working, path)
	}
}

// watch counts receipts for a conversation in whose tree a handler has not returned. The network
// calls it when a message is sent. It loses none.
func (f *forest) watch(m *p.Message) (lost bool) {
	if m.Performative() != p.ActInform {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path, worked := f.paths[m.ConversationID()]
	for running := range f.working {
		switch {
		case !worked || !strings.HasPrefix(running, path):
		case running == path:
			f.tooEarly.Add(1)
		default:
			f.belowRuns.Add(1)
		}
	}
	return false
}

// node is an agent that passes a task on to three others of its kind until the depth
// is reached; a leaf works until it is stopped.
func (f *forest) node(agents []p.AgentID) *kit.Worker {
	return &kit.Worker{Max: treeSize, Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		grow, err := p.Decode[levels](t.Parameters)
		if err != nil {
			return p.InformResult{}, err
		}
		f.running.Add(1)
		defer f.running.Add(-1)
		defer f.work(t.Message.ConversationID(), grow.Path)()
		if grow.Left > 0 {
			return p.InformResult{}, f.passOn(ctx, t, agents, grow)
		}
		f.leaves.Add(1)
		if f.begun != nil {
			f.begun <- struct{}{}
		}
		<-ctx.Done()
		if f.leaf != nil {
			f.leaf(grow.Path)
		}
		return p.InformResult{}, context.Cause(ctx)
	}}
}

func (f *forest) passOn(ctx context.Context, t delegation.Task, agents []p.AgentID, grow levels) error {
	var children []*delegation.Delegated
	for i := range treeFan {
		below := levels{grow.Left - 1, fmt.Sprint(grow.Path, "/", i)}
		next := p.TaskRequest{TaskType: "grow", Parameters: p.ContentOf(below)}
		d, err := delegation.Start(ctx, t.Agent, agents[(i+below.Left)%len(agents)], next)
		if err != nil {
			return err
		}
		children = append(children, d)
	}
	for _, d := range children {
		if _, err := d.Wait(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// plant begins a tree and returns once all its leaves work.
func (f *forest) plant(t testing.TB, w *kit.World, idle func()) *delegation.Delegated {
	t.Helper()
	f.working, f.paths = map[string]bool{}, map[p.ConversationID]string{}
	agents := []p.AgentID{"A", "B", "C", "D", "E"}
	for _, id := range agents {
		w.Add(id, f.node(agents))
	}
	w.Net.Intercept(f.watch)
	d, err := delegation.Start(t.Context(), w.Eddy, "A", p.TaskRequest{TaskType: "grow", Parameters: p.ContentOf(levels{Left: treeDepth})})
	if err != nil {
		t.Fatal(err)
	}
	idle()
	if f.running.Load() != treeSize || f.leaves.Load() != treeSize-40 {
		t.Fatalf("%d handlers run, %d of them leaves", f.running.Load(), f.leaves.Load())
	}
	return d
}

// grown waits until all handlers have begun: while many wait, more begin with each millisecond.
func grown() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (f *forest) felled(t testing.TB) {
	t.Helper()
	if f.running.Load() != 0 || f.tooEarly.Load() != 0 {
		t.Errorf("%d handlers run after the receipt, %d receipts came before the handler had returned", f.running.Load(), f.tooEarly.Load())
	}
}

// TestCancelTree cancels a tree of 121 conversations: the receipt of the first one
// means that nothing runs any more, in none of them. BenchmarkCancelATree has the
// time that it takes.
func TestCancelTree(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		f := &forest{}
		d := f.plant(t, w, grown)
		start := time.Now()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, 0)
		f.felled(t)
		if n := f.belowRuns.Load(); n > 0 {
			t.Errorf("%d receipts came before a handler below had returned", n)
		}
		w.Settled(0)
	})
}

// TestCancelTrees cancels trees of 121 conversations in real time. In every second tree, leaves
// ignore that they were stopped. Such a tree ends as still running. A receipt is never sent while a
// handler of its conversation or below it runs. The time until the end is logged, and is for no
// test to judge.
func TestCancelTrees(t *testing.T) {
	trees := 4
	switch {
	case exhaustive.Enabled():
		trees = 200
	case racetest.Enabled:
		trees = 2
	}
	var worst time.Duration
	receipts := 0
	for i := range trees {
		took, end := cancelTree(t, i%2*(1+i%7))
		worst = max(worst, took)
		if errors.Is(end, p.CodeCanceled) {
			receipts++
		}
	}
	t.Logf("the worst of %d trees took %v, %d ended with a receipt", trees, worst, receipts)
}

// cancelTree cancels a tree in which that many leaves ignore it, and returns how long that took and
// the end.
func cancelTree(t *testing.T, stuck int) (took time.Duration, end error) {
	t.Helper()
	w := kit.NewWorld(t, codons.Times{Grace: 100 * time.Millisecond}, actors.Options{})
	defer w.End()
	const leaves = treeSize - 40
	f := &forest{begun: make(chan struct{}, leaves)}
	release, returned := make(chan struct{}), sync.WaitGroup{}
	returned.Add(stuck)
	ignoring := atomic.Int64{}
	f.leaf = func(string) {
		if ignoring.Add(1) <= int64(stuck) {
			defer returned.Done()
			<-release
		}
	}
	d := f.plant(t, w, func() {
		for range leaves {
			<-f.begun
		}
	})
	start := time.Now()
	d.Cancel()
	_, end = d.Wait()
	took = time.Since(start)
	if !errors.Is(end, p.CodeStillRunning) && (stuck > 0 || !errors.Is(end, p.CodeCanceled)) {
		t.Errorf("with %d leaves that ignore it, the tree ended %v", stuck, end)
	}
	if n := f.running.Load(); n > 0 && errors.Is(end, p.CodeCanceled) {
		t.Errorf("%d handlers run after the receipt", n)
	}
	close(release)
	returned.Wait()
	if n := f.tooEarly.Load() + f.belowRuns.Load(); n > 0 {
		t.Errorf("%d receipts came before a handler had returned", n)
	}
	return took, end
}

// TestTreeDeadline checks that a tree ends without CANCEL by the deadlines of its conversations,
// and that no receipt comes while a handler below still returns.
func TestTreeDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		f := &forest{leaf: func(string) { time.Sleep(100 * time.Millisecond) }}
		d := f.plant(t, w, grown)
		if _, err := d.Wait(); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v, want a timeout, whichever side says so first", err)
		}
		time.Sleep(time.Second)
		f.felled(t)
		if n := f.belowRuns.Load(); n > 0 {
			t.Errorf("%d receipts came before a handler below had returned", n)
		}
		w.Settled(0)
	})
}

// TestStuckLeafIsReported checks that the caller of CANCEL learns of one leaf that does not return,
// and that it is counted.
func TestStuckLeafIsReported(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		abandoned := kit.Recording(&w.Events, events.KindJobAbandoned)
		block := make(chan struct{})
		w.Add("Stuck", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			<-block
			return kit.Result(p.StatusSuccess), nil
		}})
		w.Add("Middle", &kit.Worker{Perform: delegates("Stuck")})
		d, err := delegation.Start(t.Context(), w.Eddy, "Middle", kit.Task())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Cancel()
		_, err = d.Wait()
		kit.WantEnd(t, err, "failed", p.CodeStillRunning)
		synctest.Wait()
		if len(abandoned.C) == 0 {
			t.Error("the handler that did not return was not counted")
		}
		close(block)
		w.Settled(0)
	})
}

// BenchmarkCancelATree takes the time from CANCEL to the receipt of a tree of 121
// conversations, when nothing of it runs any more.
func BenchmarkCancelATree(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := kit.NewWorld(b, codons.Times{}, actors.Options{})
		f := &forest{}
		d := f.plant(b, w, func() {
			for f.leaves.Load() < treeSize-40 {
				goruntime.Gosched()
			}
		})
		b.StartTimer()
		d.Cancel()
		_, err := d.Wait()
		b.StopTimer()
		kit.WantEnd(b, err, "cancelled", p.CodeCanceled)
		f.felled(b)
		w.End()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ms/tree")
}
