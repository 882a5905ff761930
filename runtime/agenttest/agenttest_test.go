package agenttest_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/agenttest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// worker is an agent that needs a minute for a task.
type worker struct{}

func (worker) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Work"}}
}

func (worker) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (worker) PerformTask(ctx context.Context, _ delegation.Task) (performatives.InformResult, error) {
	select {
	case <-time.After(time.Minute):
		return performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"}, nil
	case <-ctx.Done():
		return performatives.InformResult{}, context.Cause(ctx)
	}
}

var task = performatives.TaskRequest{TaskType: "work", Description: "do it"}

// TestFaults expects of each fault what a delegation makes of it.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault agenttest.Fault
		took  time.Duration // from one to the next
		code  performatives.Code
	}{
		"Lose a request":      {agenttest.Lose("", performatives.ActTaskRequest).Once(), time.Minute + 7*time.Second, ""},
		"Duplicate a request": {agenttest.Duplicate("", performatives.ActTaskRequest).Once(), time.Minute, ""},
		"Duplicate a result":  {agenttest.Duplicate("Jules", performatives.ActInformResult), time.Minute, ""},
		"Delay a result":      {agenttest.Delay("Jules", performatives.ActInformResult, time.Second), time.Minute + time.Second, ""},
		"Delay to one agent":  {agenttest.Delay("", 0, time.Second).To("Jules").Once(), time.Minute + time.Second, ""},
		"Refuse a request":    {agenttest.Refuse("", performatives.ActTaskRequest, performatives.CodeUnauthorized), 0, performatives.CodeUnauthorized},
		"Lose all results":    {agenttest.Lose("Jules", performatives.ActInformResult), codons.DefaultDeadline, performatives.CodeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
				n.Spawn("Jules", worker{})
				n.Fault(c.fault)
				began := time.Now()
				_, err := n.Delegate(t.Context(), "Jules", task)
				if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) {
					t.Errorf("got %v, want %q", err, c.code)
				}
				if took := time.Since(began); took < c.took || took > c.took+4*time.Second {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// TestStopAndRestart stops a worker at its work, and asks it again when it has restarted.
func TestStopAndRestart(t *testing.T) {
	agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
		n.Spawn("Jules", worker{})
		d, err := delegation.Start(t.Context(), n, "Jules", task)
		if err != nil {
			t.Fatal(err)
		}
		n.Advance(time.Second)
		n.StopAgent("Jules")
		if _, err := d.Wait(); err == nil {
			t.Error("a stopped agent has performed the task")
		}
		n.RestartAgent("Jules")
		if _, err := n.Delegate(t.Context(), "Jules", task); err != nil {
			t.Error(err)
		}
	})
}

// TestNetworkOfTheOptions has a router of the test's own behind the faults.
func TestNetworkOfTheOptions(t *testing.T) {
	var passed atomic.Int64
	o := runtime.Options{Network: func(next actors.Router) actors.Router { return counting{next, &passed} }}
	agenttest.Run(t, o, func(t *testing.T, n *agenttest.Node) {
		eddy, jules := n.Peer("Eddy"), n.Peer("Jules")
		n.Fault(agenttest.Lose("Eddy", performatives.ActTaskRequest).Once())
		eddy.Send("Jules", task)
		eddy.Send("Jules", task)
		jules.Expect(performatives.ActTaskRequest)
		jules.Silent()
		if got := passed.Load(); got != 1 {
			t.Errorf("%d messages passed, want 1: the other was lost before", got)
		}
	})
}

// counting is a router that counts requests.
type counting struct {
	actors.Router
	passed *atomic.Int64
}

func (c counting) Route(m *performatives.Message) error {
	if m.Performative() == performatives.ActTaskRequest {
		c.passed.Add(1)
	}
	return c.Router.Route(m)
}

// TestPeerAsAWorker has a scripted peer do a task.
func TestPeerAsAWorker(t *testing.T) {
	agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
		jules := n.Peer("Jules")
		d, err := delegation.Start(t.Context(), n, "Jules", task)
		if err != nil {
			t.Fatal(err)
		}
		request := jules.Expect(performatives.ActTaskRequest)
		jules.Reply(request, performatives.TaskAccept{})
		jules.Reply(request, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "fine"})
		if result, err := d.Wait(); err != nil || result.Summary != "fine" {
			t.Errorf("got %+v, %v", result, err)
		}
		jules.Silent()
	})
}

// TestPeerCancels withdraws a task in single messages.
func TestPeerCancels(t *testing.T) {
	agenttest.Run(t, runtime.Options{}, func(t *testing.T, n *agenttest.Node) {
		n.Spawn("Jules", worker{})
		eddy := n.Peer("Eddy")
		request := eddy.Send("Jules", task)
		eddy.Expect(performatives.ActTaskAccept)
		eddy.Follow(request, performatives.Cancel{})
		eddy.Expect(performatives.ActInform)
		eddy.Silent()
	})
}
