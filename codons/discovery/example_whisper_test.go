package discovery_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// expert is an agent that describes itself and does nothing else.
type expert struct{ topics []string }

func (e expert) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: e.topics}
}

func ExampleWhisperAll() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Jules", func() actors.Agent { return expert{topics: []string{"Debugging", "Python"}} }); err != nil {
		panic(err)
	}
	if err := node.Spawn(ctx, "Eliza", func() actors.Agent { return expert{topics: []string{"Poetry"}} }); err != nil {
		panic(err)
	}

	candidates, err := discovery.WhisperAll(ctx, node, []performatives.AgentID{"Eliza", "Jules"}, performatives.QueryCapabilities{
		Type:       performatives.QuerySpecific,
		Parameters: performatives.QueryParameters{Capabilities: []string{"debugging", "python"}},
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
