package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// quickRestarts allows many restarts with short delays.
func quickRestarts() actors.Supervision {
	return actors.Supervision{MaxRestarts: actors.Unlimited, Backoff: actors.Backoff{Min: time.Millisecond, Max: time.Millisecond}}
}

// newPanickingAgent returns a constructor of agents that panic at CONFIRM, and reply with
// the number of their value.
func newPanickingAgent(born *atomic.Int64) func() actors.Agent {
	return func() actors.Agent {
		number := born.Add(1)
		return &scripted{receive: func(c *actors.Context, m *performatives.Message) {
			if m.Performative() == performatives.ActConfirm {
				panic("as told")
			}
			_ = c.ReplyAs(m, performatives.ActInform, performatives.Raw(fmt.Sprint(`{"value":`, number, `}`)))
		}}
	}
}

func ask(t *testing.T, n *runtime.Node, to performatives.AgentID) string {
	t.Helper()
	answer, err := n.Self().Ask(patience.Context(t), message(t, n.Self().ID(), to, performatives.ActRequest))
	if err != nil {
		t.Fatal(err)
	}
	raw, ok := answer.Payload().(performatives.Raw)
	if !ok {
		t.Fatalf("got %v", answer.AsRefusal())
	}
	return string(raw)
}

// A failed agent restarts with a new value, and queued messages are served.
func TestRestart(t *testing.T) {
	n := newNode(t, runtime.Options{Supervision: quickRestarts()})
	r := listen(t, n)
	var born, starts, stops atomic.Int64
	make1 := newPanickingAgent(&born)
	err := n.Spawn(patience.Context(t), "A", func() actors.Agent {
		a := make1().(*scripted)
		a.start = func(*actors.Context) error { starts.Add(1); return nil }
		a.stop = func(*actors.Context) { stops.Add(1); panic("stop hooks may") }
		return a
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Send(message(t, "x", "A", performatives.ActConfirm)); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, n, "a"); got != `{"value":3}` { // queued after both failures
		t.Errorf("got %s", got)
	}
	if starts.Load() != 3 || stops.Load() != 2 {
		t.Errorf("%d starts, %d stops", starts.Load(), stops.Load())
	}
	for _, e := range await[events.Supervised](t, r, 2, nil) {
		if e.Agent != "A" || e.Directive != actor.RestartDirective || !strings.Contains(string(e.Stack), "supervision_test.go") {
			t.Errorf("got %+v, stack %s", e.Decision, e.Stack)
		}
	}
	started := await[events.AgentStarted](t, r, 3, func(e events.AgentStarted) bool { return e.Agent == "A" })
	if len(started) != 3 || started[0].Again || !started[1].Again {
		t.Errorf("got %+v", started)
	}
}

// reborn answers a task with the number of its value, and fails at any other message.
type reborn int64

func (reborn) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (reborn) Receive(*actors.Context, *performatives.Message) { panic("as told") }

func (reborn) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (r reborn) PerformTask(context.Context, delegation.Task) (performatives.InformResult, error) {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: strconv.Itoa(int(r))}, nil
}

// After a restart, the roles are those of the new value.
func TestRestartBindsTheRoles(t *testing.T) {
	n := newNode(t, runtime.Options{Supervision: quickRestarts()})
	var born atomic.Int64
	if err := n.Spawn(patience.Context(t), "A", func() actors.Agent { return reborn(born.Add(1)) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2", "3"} {
		got, err := n.Delegate(patience.Context(t), "A", performatives.TaskRequest{TaskType: "count", Description: "values"})
		if err != nil || got.Summary != want {
			t.Errorf("value %q did the task, want %q: %v", got.Summary, want, err)
		}
		if err := n.Send(message(t, "x", "A", performatives.ActConfirm)); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that fails too often stops. Its queued messages are refused and its id is
// free.
func TestRestartLimit(t *testing.T) {
	s := quickRestarts()
	s.MaxRestarts = 2
	n := newNode(t, runtime.Options{Supervision: s})
	r := listen(t, n)
	var born atomic.Int64
	if err := n.Spawn(patience.Context(t), "A", newPanickingAgent(&born)); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	err := n.Self().Watch("a", func(actors.Agent) { close(gone) })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = n.Send(message(t, "x", "A", performatives.ActConfirm))
	}
	m := message(t, n.Self().ID(), "A", performatives.ActRequest)
	if got := refusalOf(patience.Context(t), n, m); got == nil || got.Code != performatives.CodeStopped {
		t.Errorf("got %v", got)
	}
	<-gone
	await(t, r, 1, func(e events.AgentStopped) bool { return e.Agent == "A" })
	if _, found := n.Directory().Lookup("A"); found {
		t.Error("it is still in the directory")
	}
	if err := n.StopAgent(patience.Context(t), "A"); err != nil {
		t.Fatal(err)
	}
	if err := n.Spawn(patience.Context(t), "A", newPanickingAgent(&born)); err != nil {
		t.Error(err)
	}
}

// With AllForOne, all agents of a group restart when one fails, and agents of other
// groups do not.
func TestAllForOne(t *testing.T) {
	team := quickRestarts()
	team.AllForOne = true
	n := newNode(t, runtime.Options{Groups: map[string]actors.Supervision{"team": team}, Supervision: quickRestarts()})
	r := listen(t, n)
	var born [3]atomic.Int64
	for i, id := range []performatives.AgentID{"a", "b", "c"} {
		var opts []runtime.SpawnOption
		if id != "c" {
			opts = append(opts, runtime.InGroup("team"))
		}
		if err := n.Spawn(patience.Context(t), id, newPanickingAgent(&born[i]), opts...); err != nil {
			t.Fatal(err)
		}
	}
	_ = n.Send(message(t, "x", "a", performatives.ActConfirm))
	await(t, r, 2, func(e events.AgentStarted) bool { return e.Again })
	got := []string{ask(t, n, "a"), ask(t, n, "b"), ask(t, n, "c")}
	if want := []string{`{"value":2}`, `{"value":2}`, `{"value":1}`}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// An escalated failure stops the group, and later Spawns in it fail.
func TestEscalation(t *testing.T) {
	n := newNode(t, runtime.Options{Groups: map[string]actors.Supervision{
		"team": {Decider: func(error) actor.Directive { return actor.EscalateDirective }},
	}})
	r := listen(t, n)
	var born atomic.Int64
	for _, id := range []performatives.AgentID{"a", "b"} {
		if err := n.Spawn(patience.Context(t), id, newPanickingAgent(&born), runtime.InGroup("team")); err != nil {
			t.Fatal(err)
		}
	}
	_ = n.Send(message(t, "x", "a", performatives.ActConfirm))
	await[events.AgentStopped](t, r, 2, nil)
	if got := await[events.Supervised](t, r, 2, nil); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
	err := n.Spawn(patience.Context(t), "c", newPanickingAgent(&born), runtime.InGroup("team"))
	if !errors.Is(err, actors.ErrStopped) {
		t.Errorf("got %v", err)
	}
}

// Each failed Start after a restart counts as a failure.
func TestRestartStartFails(t *testing.T) {
	n := newNode(t, runtime.Options{Supervision: quickRestarts()})
	var born atomic.Int64
	var stops atomic.Int64
	err := n.Spawn(patience.Context(t), "a", func() actors.Agent {
		number := born.Add(1)
		if number == 3 {
			return nil
		}
		return &scripted{
			start: func(*actors.Context) error {
				switch number {
				case 2:
					return errUnfit
				case 4:
					panic(errUnfit)
				}
				return nil
			},
			stop: func(*actors.Context) { stops.Add(1) },
			receive: func(c *actors.Context, m *performatives.Message) {
				if number == 1 {
					panic(1)
				}
				_ = c.ReplyAs(m, performatives.ActInform, performatives.Raw(`{"alive":true}`))
			},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = n.Send(message(t, "x", "a", performatives.ActInform))
	if got := ask(t, n, "a"); got != `{"alive":true}` || born.Load() != 5 || stops.Load() != 1 {
		t.Errorf("got %s, %d values, %d stops", got, born.Load(), stops.Load())
	}
}

func TestWatch(t *testing.T) {
	n := newNode(t, runtime.Options{})
	if err := n.Spawn(patience.Context(t), "a", always(scripted{})); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 4)
	watch := func(id performatives.AgentID, what string) {
		if err := n.Self().Watch(id, func(actors.Agent) { seen <- what }); err != nil {
			t.Fatal(err)
		}
	}
	watch("nobody", "unknown")
	if got := <-seen; got != "unknown" {
		t.Errorf("got %s", got)
	}
	watch("a", "first")
	watch("A", "second")
	if err := n.Self().Do(patience.Context(t), func(actors.Agent) {}); err != nil { // both Watch commands have run
		t.Fatal(err)
	}
	if err := n.StopAgent(patience.Context(t), "a"); err != nil {
		t.Fatal(err)
	}
	if a, b := <-seen, <-seen; a != "first" || b != "second" {
		t.Errorf("got %s, %s", a, b)
	}
	watch("a", "stopped")
	if got := <-seen; got != "stopped" {
		t.Errorf("got %s", got)
	}
}

// Callers that wait for an agent get ErrStopped when it stops.
func TestSelfOfStoppedAgent(t *testing.T) {
	n := newNode(t, runtime.Options{})
	self, err := n.Client(patience.Context(t), "client")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(blocked(t, n, "slow", 10))
	asked := make(chan error, 1)
	sent := listen(t, n)
	m := message(t, "client", "slow", performatives.ActRequest)
	go func() { _, err := self.Ask(patience.Context(t), m); asked <- err }()
	await(t, sent, 1, func(e events.MessageSent) bool { return e.Message == m })
	fired := make(chan struct{})
	self.After(time.Hour, func(actors.Agent) { close(fired) })
	if err := n.StopAgent(patience.Context(t), "client"); err != nil {
		t.Fatal(err)
	}
	_, later := self.Ask(patience.Context(t), message(t, "client", "slow", performatives.ActRequest))
	for what, err := range map[string]error{
		"an Ask that waits": <-asked,
		"Ask":               later,
		"Do":                self.Do(patience.Context(t), func(actors.Agent) {}),
		"Later":             self.Later(func(actors.Agent) {}),
		"Watch":             self.Watch("slow", func(actors.Agent) {}),
	} {
		if !errors.Is(err, actors.ErrStopped) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if stop := self.After(0, func(actors.Agent) { close(fired) }); stop == nil {
		t.Error("no stop")
	}
	select {
	case <-fired:
		t.Error("a timer of a stopped agent ran")
	default:
	}
}

func TestDo(t *testing.T) {
	n := newNode(t, runtime.Options{Supervision: quickRestarts()})
	self, err := n.Client(patience.Context(t), "client")
	if err != nil {
		t.Fatal(err)
	}
	err = self.Do(patience.Context(t), func(actors.Agent) { panic(errUnfit) })
	if p, ok := errors.AsType[*actors.PanicError](err); !ok || !errors.Is(err, errUnfit) || len(p.Stack) == 0 {
		t.Errorf("got %v", err)
	}
	fired := make(chan struct{})
	self.After(time.Millisecond, func(actors.Agent) { close(fired) })
	<-fired
	ctx, cancel := context.WithCancel(patience.Context(t))
	free := make(chan struct{})
	err = self.Do(ctx, func(actors.Agent) { cancel(); <-free })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(free)
}

func TestAsk(t *testing.T) {
	n := newNode(t, runtime.Options{})
	for id, receive := range map[performatives.AgentID]func(*actors.Context, *performatives.Message){
		"echo": echo, "deaf": nil,
		"busy": func(c *actors.Context, m *performatives.Message) {
			_ = c.Reply(m, performatives.Refuse{ReasonCode: performatives.CodeBusy, ReasonText: "try later"})
		},
	} {
		if err := n.Spawn(patience.Context(t), id, always(scripted{receive: receive})); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(patience.Context(t), 20*time.Millisecond)
	defer cancel()
	for to, want := range map[performatives.AgentID]error{
		"busy": performatives.CodeBusy, "nobody": performatives.CodeUnknownAgent,
	} {
		_, err := n.Ask(patience.Context(t), to, performatives.TaskRequest{TaskType: "x", Description: "y"})
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", to, err, want)
		}
	}
	if _, err := n.Ask(short, "deaf", performatives.TaskRequest{TaskType: "x", Description: "y"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deaf: got %v", err)
	}
	answer, err := n.Self().Ask(patience.Context(t), message(t, n.Self().ID(), "Echo", performatives.ActRequest))
	if err != nil || answer.Sender() != "echo" {
		t.Errorf("echo: got %v, %v", answer, err)
	}
}
