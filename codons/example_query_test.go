package codons_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// librarian is an agent that knows a few books.
type librarian struct{ poet }

var shelf = map[string]string{"Emma": "Jane Austen", "Ulysses": "James Joyce"}

func (librarian) HandleQueryIf(_ context.Context, q codons.AskedIf) (bool, error) {
	title, err := p.Decode[string](q.Condition)
	return shelf[strings.TrimPrefix(title, "have ")] != "", err
}

func (librarian) HandleQueryRef(_ context.Context, q codons.AskedRef) (any, error) {
	author, ok := shelf[strings.TrimPrefix(q.Reference, "author of ")]
	if !ok {
		return nil, &p.Refusal{Code: p.CodeIncapable, Text: "no such book"}
	}
	return author, nil
}

func ExampleQueryIf() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Librarian", librarian{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	for _, title := range []string{"Emma", "Dracula"} {
		fmt.Println(codons.QueryIf(ctx, eliza, "Librarian", "have "+title))
	}
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleQueryRef() {
	ctx := context.Background()
	system, err := actors.NewSystem(actors.Options{Protocols: codons.Protocols(codons.Times{})})
	if err != nil {
		panic(err)
	}
	defer func() { _ = system.Stop(ctx) }()
	spawn(ctx, system, "Librarian", librarian{})
	eliza := spawn(ctx, system, "Eliza", poet{})

	author, err := codons.QueryRef[string](ctx, eliza, "Librarian", "author of Ulysses")
	fmt.Println(author, err)

	_, err = codons.QueryRef[string](ctx, eliza, "Librarian", "author of Dracula")
	fmt.Println(err)
	// Output:
	// James Joyce <nil>
	// query-ref with Librarian: refused: no such book (incapable)
}
