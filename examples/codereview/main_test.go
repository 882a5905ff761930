package main

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func Example() {
	if err := review(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// Rev asks: where are the tests?
	// approved: looks good
}
