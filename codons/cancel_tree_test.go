package codons_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// The tree of a delegation that is passed on to three, each of which passes it on to
// three, and so on: 1 + 3 + 9 + 27 + 81 = 121 conversations.
const (
	treeFan   = 3
	treeDepth = 4
	treeSize  = 121
)

// levels are how many the tree has below a node.
type levels struct {
	Left int `json:"left"`
}

// forest counts what happens in a tree.
type forest struct {
	running  atomic.Int64
	leaves   atomic.Int64
	tooEarly atomic.Int64 // receipts while a handler of that conversation or below it ran

	mu      sync.Mutex
	working map[p.ConversationID]bool
}

func (f *forest) work(id p.ConversationID, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working[id] = on
}

// watch counts receipts for a conversation whose handler has not returned. The network
// calls it when a message is sent.
func (f *forest) watch(m *p.Message) {
	if m.Performative() != p.ActInform {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.working[m.ConversationID()] {
		f.tooEarly.Add(1)
	}
}

// node is an agent that passes a task on to three others of its kind until the depth
// is reached; a leaf works until it is stopped.
func (f *forest) node(agents []p.AgentID) *kit.Worker {
	return &kit.Worker{Max: treeSize, Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		f.running.Add(1)
		f.work(t.Message.ConversationID(), true)
		defer f.running.Add(-1)
		defer f.work(t.Message.ConversationID(), false)
		grow, err := p.Decode[levels](t.Parameters)
		if err != nil {
			return p.InformResult{}, err
		}
		if grow.Left == 0 {
			f.leaves.Add(1)
			<-ctx.Done()
			return p.InformResult{}, context.Cause(ctx)
		}
		return p.InformResult{}, f.passOn(ctx, t, agents, grow.Left-1)
	}}
}

func (f *forest) passOn(ctx context.Context, t delegation.Task, agents []p.AgentID, left int) error {
	var children []*delegation.Delegated
	for i := range treeFan {
		next := p.TaskRequest{TaskType: "grow", Parameters: p.ContentOf(levels{left})}
		d, err := delegation.Start(ctx, t.Agent, agents[(i+left)%len(agents)], next)
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
	f.working = map[p.ConversationID]bool{}
	agents := []p.AgentID{"A", "B", "C", "D", "E"}
	for _, id := range agents {
		w.Add(id, f.node(agents))
	}
	w.Net.Before = f.watch
	d, err := delegation.Start(t.Context(), w.Eddy, "A", p.TaskRequest{TaskType: "grow", Parameters: p.ContentOf(levels{treeDepth})})
	if err != nil {
		t.Fatal(err)
	}
	idle()
	if f.running.Load() != treeSize || f.leaves.Load() != treeSize-40 {
		t.Fatalf("%d handlers run, %d of them leaves", f.running.Load(), f.leaves.Load())
	}
	return d
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
		d := f.plant(t, w, synctest.Wait)
		start := time.Now()
		d.Cancel()
		_, err := d.Wait()
		kit.WantEnd(t, err, "cancelled", p.CodeCanceled)
		kit.WantElapsed(t, start, 0)
		f.felled(t)
		w.Settled(0)
	})
}

// TestTreeDeadline checks that a tree ends without CANCEL: all its conversations have the same deadline.
func TestTreeDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		f := &forest{}
		d := f.plant(t, w, synctest.Wait)
		if _, err := d.Wait(); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v, want a timeout, whichever side says so first", err)
		}
		synctest.Wait()
		f.felled(t)
		w.Settled(0)
	})
}

// TestStuckLeafIsReported checks that the caller of CANCEL learns of one leaf that does not return, and that it is counted.
func TestStuckLeafIsReported(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		abandoned := kit.Recording(&w.Events, actors.KindJobAbandoned)
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
