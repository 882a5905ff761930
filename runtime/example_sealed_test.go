package runtime_test

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire/sealed"
)

// archivist says whether a message came sealed.
type archivist struct{ librarian }

func (archivist) Receive(c *actors.Context, m *performatives.Message) {
	_ = c.Reply(m, performatives.InformResult{Status: performatives.StatusSuccess, Summary: fmt.Sprintf("sealed: %t", m.Authentic())})
}

// Two agents pin each other's keys. What they say to each other is sealed, and a request in the
// clear is refused.
func ExampleSealed() {
	ctx := context.Background()
	keys := make(map[performatives.AgentID]sealed.Keys)
	trust := sealed.Trust{Pins: make(map[performatives.AgentID][]string)}
	for _, id := range []performatives.AgentID{"Reader", "Archivist"} {
		k, err := sealed.GenerateKeys() // of a program that starts again: ParseKeys of what Keys.Secret has written
		if err != nil {
			fmt.Println(err)
			return
		}
		keys[id], trust.Pins[id] = k, []string{k.ID()}
	}
	sealer := func(id performatives.AgentID) *sealed.Sealer {
		s, err := sealed.New(sealed.Options{Agent: id, Keys: keys[id], Trust: trust})
		if err != nil {
			panic(err)
		}
		return s
	}

	node, err := runtime.New(runtime.Options{Name: "n1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Stop(ctx) }()
	if err := node.Spawn(ctx, "Archivist", func() actors.Agent { return archivist{} }, runtime.Sealed(sealer("Archivist"))); err != nil {
		fmt.Println(err)
		return
	}
	reader, err := node.Client(ctx, "Reader", runtime.Sealed(sealer("Reader")))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := delegation.Delegate(ctx, reader, "Archivist", performatives.TaskRequest{TaskType: "find", Description: "the secret shelf"})
	fmt.Println(result.Summary, err)

	_, err = node.Ask(ctx, "Archivist", performatives.TaskRequest{TaskType: "find", Description: "the secret shelf"})
	fmt.Println(performatives.RefusalOf(err).Code)
	// Output:
	// sealed: true <nil>
	// seal_required
}
