// Package agent_test is the first program of docs/tutorial.md.
package agent_test

// readme:start
import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Counter is an agent that counts the words of texts, up to a number of words in all.
type Counter struct{ left int }

// Describe returns the capabilities that discovery shows to other agents.
func (*Counter) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"counting"}}
}

// ConsiderTask accepts or rejects a task. It runs on the agent's own actor: it may use the fields,
// and must not block.
func (c *Counter) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	if c.left <= 0 {
		return delegation.Reject(performatives.CodeBusy, "no more words today")
	}
	return delegation.Accept()
}

// PerformTask performs an accepted task. It runs on a goroutine of its own, beside other tasks, and
// may take long: it uses the fields only in the function that it gives to Do, which runs on the
// actor.
func (*Counter) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	n := len(strings.Fields(t.Description))
	err := t.Agent.Do(ctx, func(self actors.Agent) { self.(*Counter).left -= n })
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprint(n, " words")}, err
}

func Example() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Counter", func() actors.Agent { return &Counter{left: 6} }); err != nil {
		panic(err)
	}

	task := performatives.TaskRequest{TaskType: "count_words", Description: "an agent is a Go type"}
	result, err := node.Delegate(ctx, "Counter", task)
	fmt.Println(result.Summary, err)

	_, err = node.Delegate(ctx, "Counter", task)
	fmt.Println(errors.Is(err, performatives.CodeBusy), err)
	// Output:
	// 6 words <nil>
	// true task-delegation with Counter: rejected: no more words today (busy)
}

// readme:end
