package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/notify"
	"github.com/ribosome-agents/ribosome/internal/enginedispatcher"
	"github.com/ribosome-agents/ribosome/internal/patience"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// decider is a worker whose decision is a function, and which handles notices.
type decider struct {
	worker
	consider func(context.Context, delegation.Task) delegation.Decision
	notice   func(context.Context, notify.Notice)
}

func (d decider) ConsiderTask(ctx context.Context, t delegation.Task) delegation.Decision {
	if d.consider == nil {
		return delegation.Accept()
	}
	return d.consider(ctx, t)
}

func (d decider) HandleNotice(ctx context.Context, n notify.Notice) { d.notice(ctx, n) }

func done(context.Context, delegation.Task) (p.InformResult, error) {
	return p.InformResult{Status: p.StatusSuccess}, nil
}

// wantSelfWait checks an error that has to name what the call would wait for.
func wantSelfWait(t *testing.T, call string, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, actors.ErrSelfWait) {
		t.Errorf("%s: got %v, want ErrSelfWait", call, err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error %q does not name %s", call, err, name)
		}
	}
}

func settle(t *testing.T, n *runtime.Node, id p.AgentID, a actors.Agent) {
	t.Helper()
	if err := n.Spawn(t.Context(), id, func() actors.Agent { return a }); err != nil {
		t.Fatal(err)
	}
}

// Stop and Drain with the ctx of code for which they would wait fail at once, by name, and change
// nothing.
func TestStopByHandler(t *testing.T) {
	n, other := newNode(t, runtime.Options{Name: "n"}), newNode(t, runtime.Options{Name: "other"})
	check := func(where string, ctx context.Context, names ...string) {
		child, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		for kind, ctx := range map[string]context.Context{"ctx": ctx, "derived": child, "detached": codons.Detach(ctx), "without cancel": context.WithoutCancel(ctx)} {
			wantSelfWait(t, where+", Stop with "+kind, n.Stop(ctx), names...)
			wantSelfWait(t, where+", Drain with "+kind, n.Drain(ctx), names...)
		}
	}
	noticed := make(chan struct{})
	settle(t, n, "a", decider{
		consider: func(ctx context.Context, _ delegation.Task) delegation.Decision {
			check("decision", ctx, `"a"`, "task-delegation", "a decision")
			return delegation.Accept()
		},
		worker: worker{func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			check("handler", ctx, `"a"`, "perform", string(task.Message.ConversationID()))
			if task.TaskType == "first" {
				if _, err := task.NeedInput(ctx, "more?"); err != nil {
					t.Error(err)
				}
			}
			return done(ctx, task)
		}},
		notice: func(ctx context.Context, _ notify.Notice) {
			check("notice", ctx, `"a"`, "notify")
			close(noticed)
		},
	})
	_, err := n.Delegate(patience.Context(t), "a", p.TaskRequest{TaskType: "first"}, delegation.WithInput(func(ctx context.Context, _ p.InformResult) (p.TaskRequest, bool) {
		check("input", ctx, `"n"`, "input")
		return p.TaskRequest{TaskType: "second"}, true
	}))
	if err != nil {
		t.Error(err)
	}
	if err := notify.Notify(n, "a", p.ContentOf(map[string]string{"text": "x"})); err != nil {
		t.Error(err)
	}
	<-noticed
	if _, err := n.Delegate(patience.Context(t), "a", aTask); err != nil { // the node has not begun to stop
		t.Error(err)
	}
	settle(t, n, "b", worker{func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
		if err := other.Stop(ctx); err != nil {
			t.Errorf("another node: %v", err)
		}
		return done(ctx, task)
	}})
	if _, err := n.Delegate(patience.Context(t), "b", aTask); err != nil {
		t.Error(err)
	}
}

// A handler that stops its node with a ctx of which the node knows nothing gets an error after
// MaxStopTime, and the log names the handler.
func TestStopByUnknownHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		n, err := runtime.New(runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		var id p.ConversationID
		settle(t, n, "a", worker{func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			id = task.Message.ConversationID()
			result <- n.Stop(context.Background())
			return done(ctx, task)
		}})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := n.Delegate(ctx, "a", aTask); err == nil {
			t.Error("the delegation has succeeded")
		}
		if err := <-result; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "handlers") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 5*time.Second+actors.MaxStopTime {
			t.Errorf("Stop took %v", took)
		}
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		names := " agent=a protocol=task-delegation job=perform conversation=" + string(id) + " peer=node"
		for _, want := range []string{
			`level=WARN msg="a stop waits for an open conversation" node=node` + names,
			`level=WARN msg="a stop waits for a handler that ignores the end of its context" node=node` + names,
			`level=ERROR msg="a stop has not ended: it waits for a handler that ignores the end of its context" node=node` + names,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no line %q:\n%s", want, log.String())
			}
		}
	})
}

// A stop that waits for a conversation with a silent peer says so within two seconds, and a stop
// that does not wait says nothing.
func TestStopNamesSilentPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		n, err := runtime.New(runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
		if err != nil {
			t.Fatal(err)
		}
		settle(t, n, "mute", &scripted{receive: func(*actors.Context, *p.Message) {}})
		d, err := delegation.Start(t.Context(), n, "mute", aTask)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		stopped := make(chan error)
		go func() { stopped <- n.Stop(ctx) }()
		time.Sleep(2 * time.Second)
		want := "agent=node protocol=task-delegation job=\"\" conversation=" + string(d.Conversation()) + " peer=mute"
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no line with %q:\n%s", want, log.String())
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if log.String() == "" {
			t.Error("an empty log")
		}
	})
	var log lockedBuffer
	n := newNode(t, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err := n.Stop(patience.Context(t)); err != nil || log.String() != "" {
		t.Errorf("%v:\n%s", err, log.String())
	}
}

// A handler may stop its own agent. A decision may not, since the actor would wait for itself.
func TestStopOwnAgent(t *testing.T) {
	n := newNode(t, runtime.Options{})
	stopped := make(chan error, 1)
	settle(t, n, "b", worker{done})
	settle(t, n, "a", decider{
		consider: func(ctx context.Context, task delegation.Task) delegation.Decision {
			wantSelfWait(t, "StopAgent", n.StopAgent(ctx, "A"), `"a"`)
			_, _, err := n.System().Retire(ctx, "a")
			wantSelfWait(t, "Retire", err, `"a"`)
			wantSelfWait(t, "Do", task.Agent.Do(ctx, func(actors.Agent) {}), `"a"`)
			_, err = task.Agent.Ask(ctx, message(t, "a", "b", p.ActRequest))
			wantSelfWait(t, "Ask", err, `"a"`)
			b, _ := n.System().Lookup("b")
			if err := b.Do(ctx, func(actors.Agent) {}); err != nil {
				t.Errorf("Do on another actor: %v", err)
			}
			if err := n.StopAgent(ctx, "b"); err != nil {
				t.Errorf("the stop of another agent: %v", err)
			}
			return delegation.Accept()
		},
		worker: worker{func(ctx context.Context, task delegation.Task) (p.InformResult, error) {
			if err := task.Agent.Do(ctx, func(actors.Agent) {}); err != nil {
				t.Errorf("Do in a handler: %v", err)
			}
			_, _, err := n.System().Retire(ctx, "a")
			wantSelfWait(t, "Retire in a handler", err, "perform")
			stopped <- n.StopAgent(ctx, "a")
			return done(ctx, task)
		}},
	})
	if _, err := n.Delegate(patience.Context(t), "a", aTask); !errors.Is(err, p.CodeStopped) {
		t.Errorf("the asker got %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, there := n.System().Lookup("a"); there {
		t.Error("the agent has not stopped")
	}
}

// The ctx of a decision ends at the deadline, when the agent or the node stops, and when the
// decision has returned, also if nothing has waited for its end before.
func TestDecisionContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		deciding, kept := make(chan context.Context), make(chan error)
		settle(t, n, "a", decider{
			worker: worker{done},
			consider: func(ctx context.Context, task delegation.Task) delegation.Decision {
				if at, ok := ctx.Deadline(); !ok || !at.Equal(task.Message.ReplyBy()) || ctx.Err() != nil {
					t.Errorf("deadline %v, %t, error %v", at, ok, ctx.Err())
				}
				deciding <- ctx
				if task.TaskType == "wait" {
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					<-child.Done()
					kept <- context.Cause(child)
				}
				return delegation.Accept()
			},
		})
		start := func(kind string) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			t.Cleanup(cancel)
			if _, err := delegation.Start(ctx, n, "a", p.TaskRequest{TaskType: kind}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		start("wait")
		ctx := <-deciding
		if err := <-kept; !errors.Is(err, codons.ErrDeadline) || time.Since(began) != time.Minute {
			t.Errorf("after %v the cause is %v", time.Since(began), err)
		}
		if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
		start("quick")
		ctx = <-deciding
		synctest.Wait()
		if err := ctx.Err(); !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), codons.ErrEnded) {
			t.Errorf("after the decision: %v, %v", err, context.Cause(ctx))
		}
		start("wait")
		<-deciding
		go func() {
			if err := n.StopAgent(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}()
		if err := <-kept; !errors.Is(err, actors.ErrStopped) {
			t.Errorf("the cause of the agent's stop is %v", err)
		}
		noticed := make(chan context.Context, 1)
		settle(t, n, "b", decider{notice: func(ctx context.Context, _ notify.Notice) { noticed <- ctx }})
		if err := notify.Notify(n, "b", p.ContentOf(map[string]string{"text": "x"})); err != nil {
			t.Error(err)
		}
		ctx = <-noticed
		synctest.Wait()
		if ctx.Err() != nil { // a conversation that it has begun goes on
			t.Errorf("after the handler of a notice: %v", ctx.Err())
		}
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), actors.ErrStopped) {
			t.Errorf("the cause of the node's stop is %v", context.Cause(ctx))
		}
	})
}

// Stop of a node ends a decision that waits for the end of its ctx, long before its deadline.
func TestStopEndsDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		settle(t, n, "a", decider{worker: worker{done}, consider: func(ctx context.Context, _ delegation.Task) delegation.Decision {
			<-ctx.Done()
			return delegation.Accept()
		}})
		if _, err := delegation.Start(t.Context(), n, "a", aTask); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := n.Stop(ctx); err != nil || time.Since(began) > 4*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An agent whose actor does not come back is logged and counted once, by name, and is shown as
// busy. One that handles many messages in one turn is not.
func TestBusyAgent(t *testing.T) {
	if enginedispatcher.Enabled {
		t.Skip("the engine's dispatcher does not tell which agents are busy")
	}
	synctest.Test(t, func(t *testing.T) {
		var log lockedBuffer
		n, err := runtime.New(runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := n.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		release := make(chan struct{})
		settle(t, n, "stuck", decider{worker: worker{done}, consider: func(context.Context, delegation.Task) delegation.Decision {
			<-release
			return delegation.Accept()
		}})
		settle(t, n, "diligent", &scripted{receive: func(*actors.Context, *p.Message) { time.Sleep(400 * time.Millisecond) }})
		d, err := delegation.Start(t.Context(), n, "stuck", aTask)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if err := n.Send(message(t, "x", "diligent", p.ActInform)); err != nil {
				t.Fatal(err)
			}
		}
		busy := func(id p.AgentID) (time.Time, *p.Message) {
			self, _ := n.System().Lookup(id)
			return self.Busy()
		}
		const line = `msg="the agent's actor has not come back: its code blocks, and its messages wait"`
		began := time.Now()
		time.Sleep(4 * time.Second)
		if since, m := busy("stuck"); since.IsZero() || since.Sub(began) > time.Second || m.ConversationID() != d.Conversation() {
			t.Errorf("busy since %v with %v", since.Sub(began), m)
		}
		if n.Counts().Busy != 0 || strings.Contains(log.String(), line) {
			t.Errorf("too early: %d\n%s", n.Counts().Busy, log.String())
		}
		time.Sleep(5 * time.Second)
		if since, _ := busy("diligent"); !since.IsZero() {
			t.Errorf("an agent that handles its messages is busy since %v", since)
		}
		want := line + " node=node agent=stuck protocol=task-delegation job=\"\" conversation=" + string(d.Conversation()) + " peer=node"
		if n.Counts().Busy != 1 || strings.Count(log.String(), line) != 1 || !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "performative=TASK_REQUEST") {
			t.Errorf("%d busy agents, no line %q:\n%s", n.Counts().Busy, want, log.String())
		}
		close(release)
		if _, err := d.Wait(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if since, _ := busy("stuck"); !since.IsZero() || !strings.Contains(log.String(), "actor has come back") {
			t.Errorf("busy since %v:\n%s", since, log.String())
		}
	})
}
