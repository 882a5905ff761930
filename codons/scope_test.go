package codons_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// delegates returns a handler that has others perform the same task, one after the
// other, with the ctx that it was given.
func delegates(to ...p.AgentID) func(context.Context, codons.Task) (p.InformResult, error) {
	return func(ctx context.Context, t codons.Task) (p.InformResult, error) {
		for _, id := range to {
			if _, err := codons.Delegate(ctx, t.Agent, id, t.TaskRequest); err != nil {
				return p.InformResult{}, err
			}
		}
		return result(p.StatusSuccess), nil
	}
}

// requests returns the TASK_REQUESTs that an agent has got.
func (w *world) requests() func(to p.AgentID) []*p.Message {
	var mu sync.Mutex
	got := map[p.AgentID][]*p.Message{}
	w.net.before = func(m *p.Message) {
		mu.Lock()
		defer mu.Unlock()
		if m.Performative() == p.ActTaskRequest {
			got[m.Receiver()] = append(got[m.Receiver()], m)
		}
	}
	return func(to p.AgentID) []*p.Message {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got[to])
	}
}

func TestChildrenHaveWhatTheirParentHas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		got := w.requests()
		w.spawn("Middle", &worker{perform: delegates("Leaf")})
		w.spawn("Leaf", &worker{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		if _, err := codons.Delegate(ctx, w.eddy, "Middle", task(), codons.WithTrace(trace), codons.WithPriority(p.Urgent)); err != nil {
			t.Fatal(err)
		}
		parent, child := got("Middle")[0], got("Leaf")[0]
		if child.Trace() != trace || child.Priority() != p.Urgent || !child.ReplyBy().Equal(parent.ReplyBy()) {
			t.Errorf("trace %q, band %s, until %v", child.Trace(), child.Priority(), child.ReplyBy())
		}
		if id, _ := child.Metadata("parent_conversation_id"); string(id) != fmt.Sprintf("%q", parent.ConversationID()) {
			t.Errorf("parent %s, want %s", id, parent.ConversationID())
		}
	})
}

func TestTransitionsNameTheParent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		parents := map[p.AgentID]p.ConversationID{}
		var mu sync.Mutex
		var root p.ConversationID
		w.Events.Listen(func(ev actors.Event) {
			tr, ok := ev.(codons.Transition)
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if tr.Agent == "Leaf" {
				parents["Leaf"] = tr.Parent
			}
			if tr.Agent == "Middle" && tr.Role == machine.Initiator {
				parents["Middle"] = tr.Parent
			}
			if tr.Agent == "Eddy" {
				root = tr.Conversation
			}
		})
		w.spawn("Middle", &worker{perform: delegates("Leaf")})
		w.spawn("Leaf", &worker{})
		if _, err := codons.Delegate(t.Context(), w.eddy, "Middle", task()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if root == "" || parents["Leaf"] != root || parents["Middle"] != root {
			t.Errorf("parents %v, want %s", parents, root)
		}
	})
}

// TestADeadlineFlowsDown holds also for a child that asks for more time.
func TestADeadlineFlowsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		got := w.requests()
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			return codons.Delegate(patient, task.Agent, "Leaf", task.TaskRequest)
		}})
		w.spawn("Leaf", &worker{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := codons.Delegate(ctx, w.eddy, "Middle", task()); err != nil {
			t.Fatal(err)
		}
		if parent, child := got("Middle")[0], got("Leaf")[0]; !child.ReplyBy().Equal(parent.ReplyBy()) {
			t.Errorf("the child may take until %v, its parent until %v", child.ReplyBy(), parent.ReplyBy())
		}
	})
}

// TestADetachedChildOutlivesTheDeadline is for what must be done after the end.
func TestADetachedChildOutlivesTheDeadline(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		undone := make(chan error, 1)
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			late, cancel := context.WithTimeout(codons.Detach(ctx), time.Minute)
			defer cancel()
			_, err := codons.Delegate(late, task.Agent, "Leaf", task.TaskRequest)
			undone <- err
			return p.InformResult{}, context.Cause(ctx)
		}})
		w.spawn("Leaf", &worker{perform: func(context.Context, codons.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return result(p.StatusSuccess), nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := codons.Delegate(ctx, w.eddy, "Middle", task()); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v, want a timeout, whichever side says so first", err)
		}
		if err := <-undone; err != nil {
			t.Error(err)
		}
		w.settled(0)
	})
}

// TestChildrenEndBeforeTheirParent holds also for those that nobody waits for.
func TestChildrenEndBeforeTheirParent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var returned atomic.Bool
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			_, err := codons.StartDelegation(ctx, task.Agent, "Leaf", task.TaskRequest)
			synctest.Wait()
			return result(p.StatusSuccess), err
		}})
		w.spawn("Leaf", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned.Store(true)
			return p.InformResult{}, context.Cause(ctx)
		}})
		if _, err := codons.Delegate(t.Context(), w.eddy, "Middle", task()); err != nil {
			t.Error(err)
		}
		if !returned.Load() {
			t.Error("the parent had ended before its child")
		}
		w.settled(0)
	})
}

func TestNothingBeginsBelowWhatHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		kept := make(chan context.Context, 1)
		w.spawn("Middle", &worker{perform: func(ctx context.Context, _ codons.Task) (p.InformResult, error) {
			kept <- context.WithoutCancel(ctx)
			return result(p.StatusSuccess), nil
		}})
		w.spawn("Leaf", &worker{})
		if _, err := codons.Delegate(t.Context(), w.eddy, "Middle", task()); err != nil {
			t.Fatal(err)
		}
		if _, err := codons.Delegate(<-kept, w.eddy, "Leaf", task()); !errors.Is(err, codons.ErrEnded) {
			t.Errorf("got %v, want %v", err, codons.ErrEnded)
		}
	})
}

// TestDepthIsBounded has an agent delegate to itself without end.
func TestDepthIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var calls atomic.Int64
		w.spawn("Loop", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			calls.Add(1)
			return codons.Delegate(ctx, task.Agent, "Loop", task.TaskRequest)
		}})
		_, err := codons.Delegate(t.Context(), w.eddy, "Loop", task())
		wantEnd(t, err, "failed", p.CodeBudget)
		if calls.Load() != codons.DefaultDepth+1 {
			t.Errorf("%d levels, want %d", calls.Load(), codons.DefaultDepth+1)
		}
		w.settled(0)

		calls.Store(0)
		_, err = codons.Delegate(t.Context(), w.eddy, "Loop", task(), codons.WithBudget(codons.Budget{codons.Depth: 3}))
		wantEnd(t, err, "failed", p.CodeBudget)
		if calls.Load() != 4 {
			t.Errorf("%d levels, want 4", calls.Load())
		}
	})
}

func TestChildrenAtATimeAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.spawn("Leaf", &worker{perform: patient, max: 2 * codons.MaxChildren})
		w.spawn("Middle", &worker{perform: func(ctx context.Context, task codons.Task) (p.InformResult, error) {
			for i := range codons.MaxChildren {
				if _, err := codons.StartDelegation(ctx, task.Agent, "Leaf", task.TaskRequest); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					synctest.Wait() // so that no mailbox is full
				}
			}
			_, err := codons.StartDelegation(ctx, task.Agent, "Leaf", task.TaskRequest)
			return p.InformResult{}, err
		}})
		_, err := codons.Delegate(t.Context(), w.eddy, "Middle", task())
		wantEnd(t, err, "failed", p.CodeBudget)
		w.settled(0)
	})
}
