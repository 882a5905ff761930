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
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"
	"sync"
	"time"
)

//go:embed list/*.txt
var lists embed.FS

func main() {
	o := options{lists: lists}
	flag.StringVar(&o.only, "only", "", "apply the mutants whose names match this regular expression")
	flag.StringVar(&o.root, "root", ".", "the root of the module")
	flag.IntVar(&o.workers, "j", min(2, goruntime.NumCPU()), "the number of mutants under test at a time")
	flag.StringVar(&o.cache, "cache", "", "a build cache that remains; without it a temporary one")
	flag.StringVar(&o.resume, "resume", "", "the output of an interrupted run: mutants that it noticed are not tested again")
	flag.DurationVar(&o.limit, "timeout", 30*time.Second, "the time that tests have, in addition to three times what they take without a mutant")
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
	cache   string        // the build cache; empty for one that is removed at the end
	resume  string        // a file with the output of an interrupted run; empty for none
	limit   time.Duration // see judge
	goal    float64       // the smallest share of noticed mutants, in percent
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
	results, mutants, err := resume(o.resume, mutants)
	if err != nil {
		return err
	}
	for _, r := range results {
		fmt.Fprintln(out, r)
	}
	tested, err := testAll(ctx, out, all, mutants, o)
	if err != nil {
		return err
	}
	return summarize(out, append(results, tested...), o.goal)
}

var noticedLine = regexp.MustCompile(`(?m)^` + string(noticed) + ` +([0-9.]+s)  (\S+)  ?(.*)$`)

// resume returns the results of the mutants that an interrupted run noticed, by its output, and the other mutants.
func resume(file string, mutants []mutant) (results []result, others []mutant, err error) {
	if file == "" {
		return nil, mutants, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	lines := map[string][]string{} // by mutant
	for _, line := range noticedLine.FindAllStringSubmatch(string(text), -1) {
		lines[line[2]] = line
	}
	for _, m := range mutants {
		line, ok := lines[m.name]
		if !ok {
			others = append(others, m)
			continue
		}
		took, err := time.ParseDuration(line[1])
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result{mutant: m, verdict: noticed, why: line[3], took: took})
	}
	return results, others, nil
}

// testAll tests mutants, each worker in a scratch copy of its own. The copy that the workers share has all mutants, so that its
// packages are compiled once, whichever mutants are tested.
func testAll(ctx context.Context, out io.Writer, all, mutants []mutant, o options) ([]result, error) {
	if len(mutants) == 0 {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "codemutants-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of temporary files
	cache := o.cache
	if cache == "" {
		cache = filepath.Join(folder, "cache")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	shared, err := newScratch(folder, o.root, cache)
	if err != nil {
		return nil, err
	}
	one := judge{limit: o.limit, switched: newSuites(), plain: newSuites()}
	if one.switches, err = newSwitches(ctx, shared, all); err != nil {
		return nil, err
	}
	q := &queue{out: out, left: mutants}
	var workers sync.WaitGroup
	for range max(1, min(o.workers, len(mutants))) {
		if one.own, err = newScratch(folder, o.root, cache); err != nil {
			fail(err)
			break
		}
		own := one
		workers.Go(func() {
			if err := q.work(ctx, own); err != nil {
				fail(err)
			}
		})
	}
	workers.Wait()
	return q.results, context.Cause(ctx)
}

// queue is the mutants that workers have yet to test, and the results of the others.
type queue struct {
	mu      sync.Mutex
	out     io.Writer // gets a line for each result
	left    []mutant
	results []result
}

// work tests mutants until none is left, ctx ends, or one cannot be tested, which is the error.
func (q *queue) work(ctx context.Context, j judge) error {
	for ctx.Err() == nil {
		m, ok := q.next()
		if !ok {
			break
		}
		r, err := j.test(ctx, m)
		if err != nil {
			return err
		}
		if ctx.Err() == nil { // else the tests were interrupted
			q.add(r)
		}
	}
	return nil
}

// next takes a mutant out of the queue. It reports false if there is none.
func (q *queue) next() (m mutant, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.left) == 0 {
		return m, false
	}
	m, q.left = q.left[0], q.left[1:]
	return m, true
}

// add writes the line of a result and keeps it.
func (q *queue) add(r result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	fmt.Fprintln(q.out, r)
	q.results = append(q.results, r)
}

// summarize writes the mutants that were not noticed, how many were noticed by a hang, and the share of those that were
// noticed, as the last line.
func summarize(out io.Writer, results []result, goal float64) error {
	count := map[verdict]int{}
	hung := 0
	for _, r := range results {
		count[r.verdict]++
		if strings.Contains(r.why, "("+errHang.Error()) {
			hung++
		}
		if r.verdict != noticed {
			fmt.Fprintf(out, "%s: %s: %s %s\n", r.mutant.name, r.verdict, r.mutant.fault, r.why)
		}
	}
	if hung > 0 {
		fmt.Fprintf(out, "of those noticed, %d by tests that did not end in time\n", hung)
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
