package agenttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/systemtest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// failures is a test whose failures a test expects.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}

// work is an agent whose tasks are a function.
type work func(context.Context, delegation.Task) (performatives.InformResult, error)

func (work) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (work) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (w work) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	return w(ctx, t)
}

// note is a message that expects no reply.
var (
	note   = performatives.Raw(`{"note":"hello"}`)
	inform = runtime.WithAct(performatives.ActInform)
)

var task = performatives.TaskRequest{TaskType: "work", Description: "do it"}

// problems are what tests do wrong, and what is reported of it.
var problems = map[string]struct {
	test  func(t *testing.T, n *Node)
	kinds []Problem // empty for what no test can allow
	wants string
}{
	"nothing": {func(*testing.T, *Node) {}, nil, ""},
	"a panic": {func(t *testing.T, n *Node) {
		n.Spawn("Jules", work(func(context.Context, delegation.Task) (performatives.InformResult, error) { panic("oh") }))
		_, _ = n.Delegate(t.Context(), "Jules", task) // it fails
	}, []Problem{ErrorLogged}, "handler panicked"},
	"a message that breaks its protocol": {func(t *testing.T, n *Node) {
		jules := n.Peer("Jules")
		d, err := delegation.Start(t.Context(), n, "Jules", task)
		if err != nil {
			t.Fatal(err)
		}
		jules.Reply(jules.Expect(performatives.ActTaskRequest), performatives.StatusUpdate{Description: "not accepted yet"})
		n.Advance(time.Second)
		d.Cancel()
		jules.Reply(jules.Expect(performatives.ActCancel), performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: "stopped"})
		_, _ = d.Wait() // it failed
	}, []Problem{Violation}, "STATUS_UPDATE is not legal here"},
	"a changed payload": {func(t *testing.T, n *Node) {
		parameters := map[string]any{}
		n.Spawn("Jules", work(func(context.Context, delegation.Task) (performatives.InformResult, error) {
			parameters["read"] = true
			return performatives.InformResult{Status: performatives.StatusSuccess}, nil
		}))
		_, err := n.Delegate(t.Context(), "Jules", performatives.TaskRequest{TaskType: "work", Parameters: performatives.ContentOf(parameters)})
		if err != nil {
			t.Fatal(err)
		}
	}, []Problem{PayloadChanged}, string(PayloadChanged) + ": "},
	"a dead letter": {func(_ *testing.T, n *Node) {
		n.System().DeadLetter("Nobody", n.Peer("Jules").Send("Jules", note, inform), performatives.CodeUnknownAgent)
	}, []Problem{DeadLetter}, "for Nobody"},
	"a fault that meets nothing": {func(_ *testing.T, n *Node) {
		n.Fault(Lose("Jules", performatives.ActTaskAccept).Once())
	}, nil, `the fault Lose("Jules", TASK_ACCEPT) met too few messages`},
	"a fault that meets too little": {func(_ *testing.T, n *Node) {
		n.Fault(Lose("Jules", performatives.ActInform).Times(2))
		n.Peer("Jules").Send("Jules", note, inform)
	}, nil, `the fault Lose("Jules", INFORM) met too few messages`},
	"an unexpected message": {func(_ *testing.T, n *Node) {
		eddy := n.Peer("Eddy")
		eddy.Send("Eddy", note, inform)
		eddy.Silent()
	}, nil, "Eddy got INFORM from Eddy"},
}

func TestProblems(t *testing.T) {
	for name, c := range problems {
		t.Run(name, func(t *testing.T) {
			if got := failuresOf(t, c.test); c.wants == "" && got != "" || !strings.Contains(got, c.wants) {
				t.Errorf("reported %q, want %q", got, c.wants)
			}
			if c.kinds == nil {
				return
			}
			allowed := func(t *testing.T, n *Node) {
				n.Allow(c.kinds...)
				c.test(t, n)
			}
			if got := failuresOf(t, allowed); got != "" {
				t.Errorf("reported %q, which is allowed", got)
			}
		})
	}
}

// failuresOf runs a test in a bubble, and returns what fails it.
func failuresOf(t *testing.T, test func(t *testing.T, n *Node)) string {
	t.Helper()
	var f *failures
	systemtest.Bubble(t, func(t *testing.T) {
		f = &failures{TB: t}
		n := start(f, runtime.Options{})
		defer n.end()
		test(t, n)
	})
	return strings.Join(f.texts, "\n")
}
