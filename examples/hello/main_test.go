package main

import (
	"bytes"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestHello(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil || out.String() != "Hello, world!\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}
