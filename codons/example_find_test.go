package codons_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// tired is a debugger that has enough to do.
type tired struct{ debugger }

func (tired) ConsiderTask(context.Context, codons.Task) codons.Decision {
	return codons.Reject(p.CodeBusy, "after lunch")
}

func ExampleFindAndDelegate() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Tim", tired{})
	spawn(ctx, system, "Jules", debugger{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	found, err := codons.FindAndDelegate(ctx, eliza,
		codons.Search{Among: codons.Agents{"Eliza", "Tim", "Jules"}, Need: []string{"debugging"}},
		p.TaskRequest{TaskType: "debug_code", Description: "an IndexError"})
	fmt.Println(found.Agent, found.Result.Summary, err)
	for _, a := range found.Earlier {
		fmt.Println(a.Agent, errors.Is(a.Err, p.CodeBusy))
	}
	// Output:
	// Jules fixed: an IndexError <nil>
	// Tim true
}
