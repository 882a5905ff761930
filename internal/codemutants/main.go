// Command codemutants shows whether the tests notice faults of the code. It applies the mutants of list/*.txt one by one
// in a scratch copy of the module, and runs the tests that each mutant names. A mutant is a fault that a developer could
// make, written by hand: see [mutant] for the form of the lists.
//
// Run it with make mutate-code, from the root of the module.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	goruntime "runtime"
	"sync"
	"time"
)

//go:embed list/*.txt
var lists embed.FS

func main() {
	o := options{lists: lists, ownCache: true}
	flag.StringVar(&o.only, "only", "", "apply the mutants whose names match this regular expression")
	flag.StringVar(&o.root, "root", ".", "the root of the module")
	flag.IntVar(&o.workers, "j", min(2, goruntime.NumCPU()), "the number of mutants under test at a time")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "the time that the tests of one package have")
	flag.Float64Var(&o.goal, "goal", 95, "the smallest share of noticed mutants, in percent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // a program owns its context
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "codemutants:", err)
		os.Exit(1)
	}
}

type options struct {
	lists   fs.FS  // has list/*.txt
	root    string // the root of the module
	only    string // a regular expression for the names of the mutants; empty for all
	workers int
	// ownCache gives each worker a build cache that is emptied after each mutant, because a run of all mutants compiles tens of
	// gigabytes and uses none of it twice.
	ownCache bool
	timeout  time.Duration // for the tests of one package
	goal     float64       // the smallest share of noticed mutants, in percent
}

// run tests the mutants of the lists and writes a line for each. The error says that the goal was missed, or that a mutant
// or the module itself could not be tested.
func run(ctx context.Context, out io.Writer, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	all, err := parseLists(o.lists)
	if err != nil {
		return err
	}
	var mutants []mutant
	for _, m := range all {
		if only.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if len(mutants) == 0 {
		return fmt.Errorf("no mutant has a name that matches %q", o.only)
	}
	results, err := testAll(ctx, out, mutants, o)
	if err != nil {
		return err
	}
	return summarize(out, results, o.goal)
}

// testAll tests the mutants, each worker in a scratch copy of its own.
func testAll(ctx context.Context, out io.Writer, mutants []mutant, o options) ([]result, error) {
	var copies []scratch
	defer func() {
		for _, s := range copies {
			s.remove()
		}
	}()
	for range max(1, min(o.workers, len(mutants))) {
		s, err := newScratch(o.root, o)
		if err != nil {
			return nil, err
		}
		copies = append(copies, s)
	}
	for i := range copies {
		if err := copies[i].build(ctx, packagesOf(mutants)); err != nil {
			return nil, err
		}
	}
	if err := copies[0].checkUnchanged(ctx, packagesOf(mutants)); err != nil {
		return nil, err
	}
	var (
		mu      sync.Mutex // orders the lines, and guards next and results
		next    int
		results []result
		workers sync.WaitGroup
	)
	for _, s := range copies {
		workers.Go(func() {
			for {
				mu.Lock()
				if next == len(mutants) || ctx.Err() != nil {
					mu.Unlock()
					return
				}
				m := mutants[next]
				next++
				mu.Unlock()
				r := s.test(ctx, m)
				mu.Lock()
				if ctx.Err() == nil { // else the tests were interrupted
					fmt.Fprintln(out, r)
					results = append(results, r)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return results, ctx.Err()
}

// summarize writes the mutants that were not noticed, and the share of those that were, as the last line.
func summarize(out io.Writer, results []result, goal float64) error {
	count := map[verdict]int{}
	for _, r := range results {
		count[r.verdict]++
		if r.verdict != noticed {
			fmt.Fprintf(out, "%s: %s: %s\n", r.mutant.name, r.verdict, r.mutant.fault)
		}
	}
	share := 100 * float64(count[noticed]) / float64(len(results))
	fmt.Fprintf(out, "code mutants noticed: %.1f%% (%d of %d)\n", share, count[noticed], len(results))
	switch broken := count[inapplicable] + count[uncompiled]; {
	case broken > 0:
		return fmt.Errorf("%d mutants do not apply or do not compile: correct them in internal/codemutants/list", broken)
	case share < goal:
		return errors.New("too few mutants are noticed: write the tests that notice them")
	}
	return nil
}
