package codons_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/internal/kit"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// delegates returns a handler that has others perform the same task, one after the
// other, with the ctx that it was given.
func delegates(to ...p.AgentID) func(context.Context, delegation.Task) (p.InformResult, error) {
	return func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
		for _, id := range to {
			if _, err := delegation.Delegate(ctx, t.Agent, id, t.TaskRequest); err != nil {
				return p.InformResult{}, err
			}
		}
		return kit.Result(p.StatusSuccess), nil
	}
}

// requests returns the TASK_REQUESTs that an agent has got.
func requests(w *kit.World) func(to p.AgentID) []*p.Message {
	var mu sync.Mutex
	got := map[p.AgentID][]*p.Message{}
	w.Net.Intercept(func(m *p.Message) bool {
		mu.Lock()
		defer mu.Unlock()
		if m.Performative() == p.ActTaskRequest {
			got[m.Receiver()] = append(got[m.Receiver()], m)
		}
		return false
	})
	return func(to p.AgentID) []*p.Message {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got[to])
	}
}

func TestChildInherits(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		got := requests(w)
		w.Add("Middle", &kit.Worker{Perform: delegates("Leaf")})
		w.Add("Leaf", &kit.Worker{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		if _, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task(), codons.WithTrace(trace), codons.WithPriority(p.Urgent)); err != nil {
			t.Fatal(err)
		}
		parent, child := got("Middle")[0], got("Leaf")[0]
		if child.Trace() != trace || child.Priority() != p.Urgent || !child.ReplyBy().Equal(parent.ReplyBy().Add(-time.Second)) {
			t.Errorf("trace %q, band %s, until %v", child.Trace(), child.Priority(), child.ReplyBy())
		}
		if id, _ := child.Metadata("parent_conversation_id"); string(id) != fmt.Sprintf("%q", parent.ConversationID()) {
			t.Errorf("parent %s, want %s", id, parent.ConversationID())
		}
	})
}

// The children of a conversation are those under way, each once, whatever sides of them the system
// has.
func TestChildren(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var top, middle p.ConversationID
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, t delegation.Task) (p.InformResult, error) {
			top = t.Message.ConversationID()
			return delegates("Leaf")(ctx, t)
		}})
		w.Add("Leaf", &kit.Worker{Perform: func(_ context.Context, task delegation.Task) (p.InformResult, error) {
			middle = task.Message.ConversationID()
			if got := codons.Children(w.System, top); !slices.Equal(got, []p.ConversationID{middle}) || len(codons.Children(w.System, middle)) > 0 {
				t.Errorf("the children are %v, want %s", got, middle)
			}
			return kit.Result(p.StatusSuccess), nil
		}})
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := codons.Children(w.System, top); len(got) > 0 {
			t.Errorf("the children are %v after the end", got)
		}
	})
}

// A peer may write anything as the parent of a conversation: what is no id is none.
func TestParentOf(t *testing.T) {
	longest := strings.Repeat("a", p.MaxIDLength)
	for raw, want := range map[string]p.ConversationID{
		`"top"`: "top", `"t\u006fp"`: "top", `7`: "", `{"id":"top"}`: "", `""`: "",
		`"` + longest + `"`: p.ConversationID(longest), `"` + strings.Repeat(`\u0061`, p.MaxIDLength) + `"`: p.ConversationID(longest),
		`"` + longest + `a"`: "", `"` + strings.Repeat("a", 1<<20) + `"`: "", `"` + strings.Repeat("é", p.MaxIDLength) + `"`: "",
	} {
		m, err := p.New(p.Envelope{
			ID: "1", Performative: p.ActInform, Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0), Metadata: p.Members{"parent_conversation_id": json.RawMessage(raw)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := codons.ParentOf(m); got != want {
			t.Errorf("%.60s: the parent is %.60q, want %.60q", raw, got, want)
		}
	}
}

func TestTransitionsNameTheParent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		parents := map[p.AgentID]p.ConversationID{}
		var root p.ConversationID
		steps := kit.Recording(&w.Events, lifecycle.KindTransition)
		w.Add("Middle", &kit.Worker{Perform: delegates("Leaf")})
		w.Add("Leaf", &kit.Worker{})
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, tr := range kit.Published[lifecycle.Transition](t, steps) {
			if tr.Agent == "Leaf" {
				parents["Leaf"] = tr.Parent
			}
			if tr.Agent == "Middle" && tr.Role == machine.Initiator {
				parents["Middle"] = tr.Parent
			}
			if tr.Agent == "Eddy" {
				root = tr.Conversation
			}
		}
		if root == "" || parents["Leaf"] != root || parents["Middle"] != root {
			t.Errorf("parents %v, want %s", parents, root)
		}
	})
}

// TestChildDeadline checks the deadline of children, also of one whose caller sets a later one.
func TestChildDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		got := requests(w)
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			patient, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
			defer cancel()
			return delegation.Delegate(patient, task.Agent, "Leaf", task.TaskRequest)
		}})
		w.Add("Leaf", &kit.Worker{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task()); err != nil {
			t.Fatal(err)
		}
		if parent, child := got("Middle")[0], got("Leaf")[0]; !child.ReplyBy().Equal(parent.ReplyBy().Add(-time.Second)) {
			t.Errorf("the child may take until %v, its parent until %v", child.ReplyBy(), parent.ReplyBy())
		}
	})
}

// TestDetachedChildOutlivesDeadline checks that a detached child may go on after the deadline of
// its parent.
func TestDetachedChildOutlivesDeadline(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		undone := make(chan error, 1)
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			late, cancel := context.WithTimeout(codons.Detach(ctx), time.Minute)
			defer cancel()
			_, err := delegation.Delegate(late, task.Agent, "Leaf", task.TaskRequest)
			undone <- err
			return p.InformResult{}, context.Cause(ctx)
		}})
		w.Add("Leaf", &kit.Worker{Perform: func(context.Context, delegation.Task) (p.InformResult, error) {
			time.Sleep(time.Second)
			return kit.Result(p.StatusSuccess), nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := delegation.Delegate(ctx, w.Eddy, "Middle", kit.Task()); !errors.Is(err, p.CodeTimeout) {
			t.Errorf("got %v, want a timeout, whichever side says so first", err)
		}
		if err := <-undone; err != nil {
			t.Error(err)
		}
		w.Settled(0)
	})
}

// TestChildrenEndBeforeTheirParent checks that a conversation ends after its children, also after
// those without a waiting caller.
func TestChildrenEndBeforeTheirParent(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		var returned atomic.Bool
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			_, err := delegation.Start(ctx, task.Agent, "Leaf", task.TaskRequest)
			synctest.Wait()
			return kit.Result(p.StatusSuccess), err
		}})
		w.Add("Leaf", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			returned.Store(true)
			return p.InformResult{}, context.Cause(ctx)
		}})
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task()); err != nil {
			t.Error(err)
		}
		if !returned.Load() {
			t.Error("the parent had ended before its child")
		}
		w.Settled(0)
	})
}

func TestNoChildAfterTheEnd(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		kept := make(chan context.Context, 1)
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
			kept <- context.WithoutCancel(ctx)
			return kit.Result(p.StatusSuccess), nil
		}})
		w.Add("Leaf", &kit.Worker{})
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task()); err != nil {
			t.Fatal(err)
		}
		if _, err := delegation.Delegate(<-kept, w.Eddy, "Leaf", kit.Task()); !errors.Is(err, codons.ErrEnded) {
			t.Errorf("got %v, want %v", err, codons.ErrEnded)
		}
	})
}

// TestDepthIsBounded has an agent delegate to itself without end.
func TestDepthIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		times  codons.Times
		budget codons.Budget
		want   int64 // levels below the first task
	}{
		"by default":                      {want: codons.DefaultDepth},
		"by the budget":                   {budget: codons.Budget{codons.Depth: 3}, want: 3},
		"by default below a budget":       {budget: codons.Budget{codons.Depth: 1000}, want: codons.DefaultDepth},
		"by the responder":                {times: codons.Times{Depth: 40}, want: 40},
		"by the responder below a budget": {times: codons.Times{Depth: 2}, budget: codons.Budget{codons.Depth: 3}, want: 2},
	} {
		t.Run(name, func(t *testing.T) { testDepth(t, c.times, c.budget, c.want) })
	}
}

func testDepth(t *testing.T, times codons.Times, b codons.Budget, want int64) {
	kit.InWorldWith(t, times, actors.Options{}, func(t *testing.T, w *kit.World) {
		var calls, decided atomic.Int64
		w.Add("Loop", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			calls.Add(1)
			return delegation.Delegate(ctx, task.Agent, "Loop", task.TaskRequest)
		}, Consider: func(ctx context.Context, _ delegation.Task) delegation.Decision {
			decided.CompareAndSwap(0, codons.BudgetLeft(ctx)[codons.Depth])
			return delegation.Accept()
		}})
		_, err := delegation.Delegate(t.Context(), w.Eddy, "Loop", kit.Task(), codons.WithBudget(b))
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		if calls.Load() != want+1 || decided.Load() != want {
			t.Errorf("%d levels, and %d below the decision, want %d below the first", calls.Load(), decided.Load(), want)
		}
	})
}

func TestChildrenAreBounded(t *testing.T) {
	racetest.Skip(t) // a thousand, one after the other
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		w.Add("Leaf", &kit.Worker{Perform: kit.UntilDone[p.InformResult, delegation.Task], Max: 2 * codons.MaxChildren})
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			for i := range codons.MaxChildren {
				if _, err := delegation.Start(ctx, task.Agent, "Leaf", task.TaskRequest); err != nil {
					t.Error(err)
				}
				if i%100 == 0 {
					synctest.Wait() // so that no mailbox is full
				}
			}
			_, err := delegation.Start(ctx, task.Agent, "Leaf", task.TaskRequest)
			return p.InformResult{}, err
		}})
		_, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task())
		kit.WantEnd(t, err, "failed", p.CodeBudget)
		w.Settled(0)
	})
}

// TestChildOptionsWin checks that a child has the trace and the priority of its own caller, where
// that sets them.
func TestChildOptionsWin(t *testing.T) {
	kit.InWorld(t, func(t *testing.T, w *kit.World) {
		got := requests(w)
		const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
		w.Add("Middle", &kit.Worker{Perform: func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			return delegation.Delegate(ctx, task.Agent, "Leaf", task.TaskRequest, codons.WithTrace(own), codons.WithPriority(p.Low))
		}})
		w.Add("Leaf", &kit.Worker{})
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		if _, err := delegation.Delegate(t.Context(), w.Eddy, "Middle", kit.Task(), codons.WithTrace(trace), codons.WithPriority(p.Urgent)); err != nil {
			t.Fatal(err)
		}
		if child := got("Leaf")[0]; child.Trace() != own || child.Priority() != p.Low {
			t.Errorf("trace %q, band %s", child.Trace(), child.Priority())
		}
	})
}

// The key of a step is the same whenever the same request runs, and another for any other request.
func TestIdempotencyKey(t *testing.T) {
	seen := map[string][]string{} // by the run
	for _, run := range []string{"one", "again"} {
		kit.InWorld(t, func(t *testing.T, w *kit.World) {
			keys := make(chan string, 9)
			w.Add("A", &kit.Worker{Perform: func(ctx context.Context, _ delegation.Task) (p.InformResult, error) {
				keys <- codons.IdempotencyKey(ctx)
				return p.InformResult{Status: p.StatusSuccess}, nil
			}})
			for _, id := range []p.MessageID{"m1", "m2"} {
				m, err := p.New(p.Envelope{ID: id, ConversationID: "c1", Sender: "Eddy", Receiver: "A", Timestamp: w.Eddy.Stamp().Time, Payload: p.TaskRequest{TaskType: "once"}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Eddy.Self().Ask(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				seen[run] = append(seen[run], <-keys)
				synctest.Wait() // the next request is of the same conversation, which has to end before
			}
		})
	}
	if one, again := seen["one"], seen["again"]; !slices.Equal(one, again) || one[0] == one[1] || len(one[0]) != 32 {
		t.Errorf("keys %q, and again %q", one, again)
	}
	if key := codons.IdempotencyKey(t.Context()); key != "" {
		t.Errorf("without a scope the key is %q", key)
	}
}
