package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/codons/codontest"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// TestTable explores all that can happen in a purchase.
func TestTable(t *testing.T) {
	racetest.Skip(t)
	codontest.Explore(t, Purchase)
}

// TestPurchases runs purchases over a bad network, with jobs that end by chance.
func TestPurchases(t *testing.T) {
	codontest.Conform(t, Purchase, codontest.Content(machine.CommandStart, Goods{Item: "bike"}))
}

// TestOutput runs the program in virtual time, in which the quote lapses at once.
func TestOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stdout")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = stdout }()
	synctest.Test(t, func(*testing.T) { main() })
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := "bike kept\nshoes refunded\nhouse lapsed\npiano withdrawn\n"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
