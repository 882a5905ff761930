package query_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// librarian is an agent that knows the authors of books.
type librarian struct{ authors map[string]string }

func (librarian) Describe() performatives.Capabilities { return performatives.Capabilities{} }

func (l librarian) HandleQueryIf(_ context.Context, q query.AskedIf) (bool, error) {
	condition, err := performatives.Decode[string](q.Condition)
	return l.authors[strings.TrimPrefix(condition, "have ")] != "", err
}

func (l librarian) HandleQueryRef(_ context.Context, q query.AskedRef) (any, error) {
	author, ok := l.authors[strings.TrimPrefix(q.Reference, "author of ")]
	if !ok {
		return nil, &performatives.Refusal{Code: performatives.CodeUnknownReference, Text: "no such book"}
	}
	return author, nil
}

func ExampleIf() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	authors := map[string]string{"Emma": "Jane Austen", "Ulysses": "James Joyce"}
	if err := node.Spawn(ctx, "Librarian", func() actors.Agent { return librarian{authors} }); err != nil {
		panic(err)
	}

	for _, title := range []string{"Emma", "Dracula"} {
		fmt.Println(query.If(ctx, node, "Librarian", "have "+title))
	}
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleRef() {
	ctx := context.Background()
	node, err := runtime.New(runtime.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = node.Stop(ctx) }()
	authors := map[string]string{"Emma": "Jane Austen", "Ulysses": "James Joyce"}
	if err := node.Spawn(ctx, "Librarian", func() actors.Agent { return librarian{authors} }); err != nil {
		panic(err)
	}

	author, err := query.Ref[string](ctx, node, "Librarian", "author of Ulysses")
	fmt.Println(author, err)

	_, err = query.Ref[string](ctx, node, "Librarian", "author of Dracula")
	fmt.Println(err)
	// Output:
	// James Joyce <nil>
	// query-ref with Librarian: refused: no such book (unknown_reference)
}
