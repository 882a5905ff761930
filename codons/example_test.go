package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// debugger is an agent that debugs.
type debugger struct{}

func (debugger) Describe() p.Capabilities {
	return p.Capabilities{Topics: []string{"Debugging", "Python"}}
}

func (debugger) ConsiderTask(_ context.Context, t codons.Task) codons.Decision {
	if t.TaskType != "debug_code" {
		return codons.Reject(p.CodeIncapable, "I only debug")
	}
	return codons.Accept()
}

func (debugger) PerformTask(_ context.Context, t codons.Task) (p.InformResult, error) {
	if err := t.Progress(50, "reading the traceback"); err != nil {
		return p.InformResult{}, err
	}
	return p.InformResult{Status: p.StatusSuccess, Summary: "fixed: " + t.Description}, nil
}

// poet is an agent that nobody asks to debug.
type poet struct{}

func (poet) Describe() p.Capabilities { return p.Capabilities{Topics: []string{"Poetry"}} }

func spawn(ctx context.Context, s *actors.System, id p.AgentID, agent actors.Agent) actors.Self {
	self, err := s.Spawn(ctx, actors.Spec{ID: id, New: func() actors.Agent { return agent }})
	if err != nil {
		panic(err)
	}
	return self
}

func ExampleDelegate() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{codons.Delegation{}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Jules", debugger{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	result, err := codons.Delegate(ctx, eliza, "Jules",
		p.TaskRequest{TaskType: "debug_code", Description: "an IndexError"},
		codons.WithProgress(func(u p.StatusUpdate) { fmt.Println(*u.Progress, "%:", u.Description) }))
	fmt.Println(result.Status, result.Summary, err)

	_, err = codons.Delegate(ctx, eliza, "Jules", p.TaskRequest{TaskType: "write_poem"})
	fmt.Println(errors.Is(err, p.CodeIncapable), err)
	// Output:
	// 50 %: reading the traceback
	// success fixed: an IndexError <nil>
	// true task-delegation with Jules: rejected: I only debug (incapable)
}

func ExampleWhisperAll() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{codons.WhisperingWind{}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Jules", debugger{})
	spawn(ctx, system, "Eliza", poet{})
	eddy := spawn(ctx, system, "Eddy", poet{})

	candidates, err := codons.WhisperAll(ctx, eddy, []p.AgentID{"Eliza", "Jules"}, p.QueryCapabilities{
		Type:       p.QuerySpecific,
		Parameters: p.QueryParameters{Capabilities: []string{"debugging", "python"}},
	})
	for _, c := range candidates {
		fmt.Println(c.Agent, c.Match, c.Matched)
	}
	fmt.Println(err)
	// Output:
	// Jules true [Debugging Python]
	// Eliza false []
	// <nil>
}

// hasty is an agent that takes messages as they come, and skips the acceptance.
type hasty struct{ poet }

func (hasty) Receive(c *actors.Context, m *p.Message) {
	_ = c.Reply(m, p.InformResult{Status: p.StatusSuccess, Summary: "done already"})
}

func ExampleNewWatch() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: []actors.Protocol{codons.Delegation{}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Hasty", hasty{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	watch, err := codons.NewWatch(&system.Events, codons.WatchOptions{})
	if err != nil {
		panic(err)
	}
	violations := actors.Subscribe[codons.Violation](&system.Events, 16)
	defer violations.Stop()

	result, err := codons.Delegate(ctx, eliza, "Hasty", p.TaskRequest{TaskType: "write_poem"})
	fmt.Println(result.Summary, err) // the asker's table takes it
	if err := watch.Stop(ctx); err != nil {
		panic(err)
	}
	v := <-violations.C
	fmt.Println(v.Sender, "to", v.Receiver)
	fmt.Println(v)
	fmt.Println(watch.Counts().Messages, "messages,", watch.Counts().Violations, "violation")
	// Output:
	// done already <nil>
	// Hasty to Eliza
	// machine: task-delegation: responder: INFORM_RESULT is not legal here, expected FAILURE, NOT_UNDERSTOOD, TASK_ACCEPT, TASK_REJECT
	// 2 messages, 1 violation
}
