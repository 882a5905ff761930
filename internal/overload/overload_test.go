package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveCommand { // a child of a test
		main()
		os.Exit(0)
	}
	leakcheck.Main(m)
}

// In each place and for each kind, what those that ask have counted is what was offered, and agrees with what the agents have counted.
func TestRows(t *testing.T) {
	turns := calibrate()
	for _, c := range []struct{ where, kind string }{{"local", kindMixed}, {"tcp", kindCPU}, {"node", kindCPU}, {"local", kindMany}} {
		t.Run(c.where+" "+c.kind, func(t *testing.T) {
			t.Parallel()
			rows := 0
			r := run{where: []string{c.where}, kinds: []string{c.kind}, loads: []float64{1, 2}, length: 250 * time.Millisecond, turns: turns, askers: 100}
			r.print = func(w *row) {
				rows++
				t.Logf("%s", w)
				checkRow(t, w)
			}
			ctx, cancel := context.WithTimeout(t.Context(), r.bound())
			defer cancel()
			if err := r.all(ctx); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 1, false: 2}[c.kind == kindMany]; rows != want {
				t.Errorf("%d rows, want %d", rows, want)
			}
		})
	}
}

// checkRow checks the counts of a row.
func checkRow(t *testing.T, w *row) {
	t.Helper()
	offered := func(name string, tally *tally, rate float64) {
		if want := int(math.Ceil(rate * 0.25)); tally.offered != want {
			t.Errorf("%s: %d requests offered, want %d", name, tally.offered, want)
		}
	}
	offered("idle", &w.idle, probeRate)
	offered("hot", &w.hot, probeRate)
	if w.kind != kindMany {
		offered("tasks", &w.tasks, w.capacity*w.load)
	}
	if w.kind == kindMixed {
		offered("quiet", &w.quiet, quietRate*quietAgents)
	}
	var results, begun int // at least, at most
	for _, tally := range w.tallies() {
		if tally.open() < 0 {
			t.Errorf("%d outcomes too many", -tally.open())
		}
		results += tally.n[done]
		begun += tally.offered - tally.n[busy] - tally.n[held]
	}
	if began := int(w.usage.Began); results == 0 || began < results || began > begun {
		t.Errorf("%d handlers began, want %d to %d, and more than none", began, results, begun)
	}
	if w.usage.Peak <= 0 || w.usage.Goroutines <= 0 || w.usage.Handlers <= 0 {
		t.Errorf("the process of the agents was not sampled: %+v", w.usage)
	}
}

// A child ends with its input, so that it does not outlive its parent.
func TestChildEnds(t *testing.T) {
	c, err := startChild(t.Context(), "alone", "1", listenPlace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.read(); err != nil {
		t.Error(err)
	}
	if err := c.in.Close(); err != nil {
		t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A producer that is blocked does not change what is offered: the rest is held.
func TestOfferBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issued, heldBack atomic.Int64
		offer(10*time.Second, 100, func() {
			issued.Add(1)
			time.Sleep(time.Second)
		}, func() { heldBack.Add(1) })
		if issued.Load() != 2*11 || issued.Load()+heldBack.Load() != 1000 {
			t.Errorf("%d issued and %d held, want the 22 of two producers, and 1,000 in all", issued.Load(), heldBack.Load())
		}
	})
}

// Outcomes are counted once, by their error and the time.
func TestTally(t *testing.T) {
	at := time.Now()
	deadline := at.Add(patience)
	var c tally
	for _, e := range []error{
		nil, fmt.Errorf("wrapped: %w", &p.Refusal{Code: p.CodeBusy}), &p.Refusal{Code: p.CodeExpired}, context.DeadlineExceeded, errors.New("else"), errHeld,
	} {
		c.offered += 2
		c.told(at, deadline, at.Add(10*time.Millisecond), e)
	}
	c.told(at, deadline, deadline.Add(time.Second), nil)
	c.close()
	c.told(at, deadline, at, nil)
	if want := [outcomes]int{done: 1, busy: 1, late: 3, other: 1, held: 1}; c.n != want || c.open() != 12-7 {
		t.Errorf("%v, and %d open, want %v and 5", c.n, c.open(), want)
	}
	if c.after.all != 1 || c.took.quantile(.5) != "10.1" || c.refused.quantile(.99) != "10.1" || new(times).quantile(.5) != "-" {
		t.Errorf("%d after the deadline; results took %s, refusals %s", c.after.all, c.took.quantile(.5), c.refused.quantile(.99))
	}
}

// Only what is between the markers is replaced.
func TestReplaceTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "performance.md")
	for _, text := range []string{"a\n" + tableBegin + "\nold\n" + tableEnd + "\nb\n", tableEnd + tableBegin} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := replaceTable(file, "new\n")
		got, _ := os.ReadFile(file)
		if text[0] == 'a' {
			if want := "a\n" + tableBegin + "\nnew\n\n" + tableEnd + "\nb\n"; err != nil || string(got) != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		} else if err == nil || string(got) != text {
			t.Errorf("%v: a document without the markers became %q", err, got)
		}
	}
}
