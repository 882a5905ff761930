package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// everybody is a broker that knows all agents of a system.
func everybody(s *actors.System) *codons.Broker {
	return &codons.Broker{Agents: func(context.Context) ([]p.AgentID, error) {
		var ids []p.AgentID
		for self := range s.Agents() {
			ids = append(ids, self.ID())
		}
		return ids, nil
	}}
}

func ExampleAskThrough() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Jules", debugger{})
	eliza := spawn(ctx, system, "Eliza", poet{})
	spawn(ctx, system, "Broker", everybody(system))

	replies, err := codons.AskThrough(ctx, eliza, "Broker", codons.Proxy{
		Capabilities: []string{"debugging"},
		Task:         p.TaskRequest{TaskType: "debug_code", Description: "an IndexError"},
	})
	for _, r := range replies {
		result, err := r.Result()
		fmt.Println(r.Agent, result.Summary, err)
	}
	fmt.Println(err)

	_, err = codons.AskThrough(ctx, eliza, "Broker", codons.Proxy{
		Capabilities: []string{"welding"},
		Task:         p.TaskRequest{TaskType: "weld"},
	})
	fmt.Println(errors.Is(err, p.CodeNoMatch), err)
	// Output:
	// Jules fixed: an IndexError <nil>
	// <nil>
	// true brokering with Broker: failed: no agent was found for this (no_match)
}
