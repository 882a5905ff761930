package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

var aTask = performatives.TaskRequest{TaskType: "debug_code", Description: "x"}

// A running delegation may finish, and requests queued after it are refused.
func TestStopFinishesWork(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	working, finish := make(chan struct{}), make(chan struct{})
	err := n.Spawn(patience.Context(t), "w", func() actors.Agent {
		return worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
			close(working)
			<-finish
			return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, nil
		}}
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := delegation.Start(patience.Context(t), n, "w", aTask)
	if err != nil {
		t.Fatal(err)
	}
	<-working
	stopped := make(chan error)
	go func() { stopped <- n.Stop(patience.Context(t)) }()
	for i := 0; ; i++ { // until the node accepts no new work
		if err := n.Spawn(patience.Context(t), performatives.AgentID(fmt.Sprint("late", i)), func() actors.Agent { return silent{} }); errors.Is(err, actors.ErrStopped) {
			break
		}
	}
	if _, err := delegation.Start(patience.Context(t), n, "w", aTask); !errors.Is(err, actors.ErrStopped) {
		t.Errorf("a delegation began: %v", err)
	}
	m := message(t, "x", "w", performatives.ActTaskRequest, func(e *performatives.Envelope) { e.Payload = aTask })
	if err := n.Send(m); err != nil {
		t.Error(err)
	}
	refused := await(t, r, 1, func(e events.MessageRefused) bool { return e.Message == m })
	if refused[0].Refusal.Code != performatives.CodeStopped {
		t.Errorf("got %v", refused[0].Refusal)
	}
	close(finish)
	if result, err := d.Wait(); err != nil || result.Summary != "done" {
		t.Errorf("got %v, %v", result, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// The error of Stop contains the number of handlers that ignore their context. A further
// Stop waits for them.
func TestStopHandlerIgnoresContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		finish := make(chan struct{})
		ctx := context.Background()
		err = n.Spawn(ctx, "w", func() actors.Agent {
			return worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
				<-finish
				return performatives.InformResult{}, nil
			}}
		})
		if err != nil {
			t.Fatal(err)
		}
		d, err := delegation.Start(ctx, n, "w", aTask)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		short, cancel := context.WithTimeout(ctx, 4*time.Second)
		defer cancel()
		if err := n.Stop(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 handlers") {
			t.Errorf("got %v", err)
		}
		if _, err := d.Wait(); err == nil {
			t.Error("the delegation succeeded")
		}
		close(finish)
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
}

// Agents whose hooks do not return are counted too. With an ended ctx, Stop does not
// wait.
func TestStopHookHangs(t *testing.T) {
	n := newNode(t, runtime.Options{})
	release := blocked(t, n, "a", 10)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Stop(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "agents") {
		t.Errorf("got %v", err)
	}
	release()
	if err := n.Stop(patience.Context(t)); err != nil {
		t.Error(err)
	}
	if err := n.Stop(ended); err != nil { // nothing is running
		t.Error(err)
	}
	if err := n.Send(message(t, "x", "a", performatives.ActRequest)); code(err) != performatives.CodeStopped {
		t.Errorf("Send: %v", err)
	}
}

// Concurrent Spawn, StopAgent, Ask and Stop all return.
func TestStopRaces(t *testing.T) {
	for range 50 {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := patience.Context(t)
		var all sync.WaitGroup
		for i := range 4 {
			id := performatives.AgentID(fmt.Sprint("a", i))
			all.Go(func() {
				for {
					err := n.Spawn(ctx, id, always(scripted{receive: echo}))
					if errors.Is(err, actors.ErrStopped) {
						return
					}
					if err != nil {
						t.Errorf("Spawn: %v", err)
						return
					}
					_, _ = n.Self().Ask(ctx, message(t, n.Self().ID(), id, performatives.ActRequest))
					if i%2 == 0 {
						if err := n.StopAgent(ctx, id); err != nil {
							t.Errorf("StopAgent: %v", err)
						}
						continue
					}
					return
				}
			})
		}
		for range 2 {
			all.Go(func() {
				if err := n.Stop(ctx); err != nil {
					t.Errorf("Stop: %v", err)
				}
			})
		}
		all.Wait()
		if c := n.Counts(); c.Agents != 0 || c.Open != 0 || c.Working != 0 {
			t.Errorf("left: %+v", c)
		}
	}
}

// 200 nodes start and stop and leave no goroutine, which TestMain checks.
func TestStartStopStress(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				n, err := runtime.New(runtime.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := n.Spawn(patience.Context(t), "a", always(scripted{})); err != nil {
					t.Error(err)
				}
				if err := n.Send(message(t, "x", "a", performatives.ActInform)); err != nil {
					t.Error(err)
				}
				if err := n.Stop(patience.Context(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// A simulation runs the actors. Its owner runs it during Stop too.
func TestStopWithSim(t *testing.T) {
	sim := actors.NewSim(actors.SimOptions{Seed: 1})
	n, err := runtime.New(runtime.Options{Dispatcher: sim})
	if err == nil {
		err = n.Spawn(t.Context(), "plain", func() actors.Agent { return silent{} })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Send(message(t, "x", "plain", performatives.ActRequest)); err != nil {
		t.Fatal(err)
	}
	sim.Run()
	if c := n.Counts(); c.Refused != 1 {
		t.Errorf("got %+v", c)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(patience.Context(t)) }()
	for {
		sim.Run()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// A broadcast request in the mailbox of an agent that stops is refused to its sender.
func TestStopRefusesBroadcast(t *testing.T) {
	n := newNode(t, runtime.Options{})
	release := blocked(t, n, "a", 10)
	r := listen(t, n)
	request := message(t, n.Self().ID(), "", performatives.ActRequest)
	if err := n.Send(request); err != nil {
		t.Fatal(err)
	}
	agent, _ := n.System().Lookup("a")
	n.System().Engine().Root.Stop(agent.PID())
	release()
	refused := await(t, r, 1, func(e events.MessageRefused) bool { return e.Message == request })
	if refused[0].Refusal.Code != performatives.CodeStopped {
		t.Errorf("got %v", refused[0].Refusal)
	}
	answers := await(t, r, 1, func(e events.MessageSent) bool { return e.Message.Answers(request) })
	if from := answers[0].Message.Sender(); from != n.Self().ID() {
		t.Errorf("the answer is from %s, want the node", from)
	}
}

// An Ask without a deadline does not prevent the node from stopping.
func TestStopEndsAsks(t *testing.T) {
	n := newNode(t, runtime.Options{})
	if err := n.Spawn(patience.Context(t), "silent", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	r := listen(t, n)
	asked := make(chan error)
	go func() {
		_, err := n.Self().Ask(context.Background(), message(t, n.Self().ID(), "silent", performatives.ActRequest))
		asked <- err
	}()
	await(t, r, 1, func(e events.MessageReceived) bool { return e.Agent == "silent" })
	if err := n.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-asked; !errors.Is(err, actors.ErrStopped) {
		t.Errorf("Ask: %v", err)
	}
}
