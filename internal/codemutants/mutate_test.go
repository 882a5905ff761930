package codemutants

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The flags of TestMutateCode. Its arguments are the patterns of the packages.
var flags = func() *options {
	o := &options{root: "../.."}
	flag.StringVar(&o.only, "only", "", "test only mutants whose lines of the output match this regular expression")
	flag.Uint64Var(&o.seed, "seed", 0, "the seed of the sample; 0 for one by chance")
	flag.IntVar(&o.size, "n", 300, "the size of the sample; 0 for all mutants")
	flag.IntVar(&o.workers, "j", min(2, goruntime.NumCPU()), "the number of tests that run at a time")
	flag.DurationVar(&o.limit, "limit", 10*time.Second, "the time of tests in addition to five times what they take without a mutant")
	flag.Float64Var(&o.goal, "goal", 85, "the smallest rate of noticed mutants, in percent")
	flag.BoolVar(&o.verbose, "noticed", false, "write lines also for mutants that are noticed")
	return o
}()

// TestMutateCode tests a sample of the mutants of the packages that its arguments name. It is what
// make mutate-code runs.
func TestMutateCode(t *testing.T) {
	o := *flags
	if o.patterns = flag.Args(); len(o.patterns) == 0 {
		t.Skip("make mutate-code names the packages")
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		t.Error(err)
	}
}

type options struct {
	root     string
	patterns []string // of packages; their tests notice the mutants of all of them
	only     string
	seed     uint64
	size     int
	workers  int
	limit    time.Duration
	goal     float64
	verbose  bool
}

// run tests a sample of mutants. It writes a line for each one that no test notices, and then the
// rates. The error says that the goal was missed, or that the module could not be tested.
func run(ctx context.Context, out io.Writer, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "codemutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of temporary files
	began := time.Now()
	m, err := newModule(ctx, filepath.Join(folder, "module"), o.root, o.patterns)
	if err != nil {
		return err
	}
	var all []*mutant
	excused := map[string]int{} // by reason
	for _, p := range m.packages {
		made, err := m.addSwitches(p)
		if err != nil {
			return err
		}
		for _, one := range made {
			if e := excuseOf(one); e != nil {
				excused[e.reason]++
			} else if only.MatchString(one.String()) {
				all = append(all, one)
			}
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no mutant matches %q", o.only)
	}
	o.seed = cmp.Or(o.seed, rand.Uint64N(1e6)+1)
	chosen := sample(all, o.size, o.seed)
	fmt.Fprintf(out, "%d of %d mutants, SEED=%d\n", len(chosen), len(all), o.seed)
	for _, reason := range slices.Sorted(maps.Keys(excused)) {
		fmt.Fprintf(out, "%d more are excused: %s\n", excused[reason], reason)
	}
	s := &suite{module: m, limit: o.limit, reach: map[string][]test{}}
	if err := s.record(ctx, o.workers, o.patterns); err != nil {
		return err
	}
	for _, name := range s.leftOut {
		fmt.Fprintf(out, "left out, because it fails without a mutant: %s\n", name)
	}
	fmt.Fprintf(out, "the tests run after %v\n", time.Since(began).Round(time.Second))
	var mu sync.Mutex
	var verdicts []verdict
	err = each(ctx, o.workers, chosen, func(ctx context.Context, m *mutant) error {
		v := s.judge(ctx, m)
		mu.Lock()
		defer mu.Unlock()
		verdicts = append(verdicts, v)
		switch {
		case ctx.Err() != nil: // the tests were interrupted
		case v.killer == "":
			fmt.Fprintf(out, "NOT noticed by %d tests: %v\n", v.tests, m)
		case o.verbose:
			fmt.Fprintf(out, "noticed by %s: %v\n", v.killer, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "after %v:\n", time.Since(began).Round(time.Second))
	return summarize(out, verdicts, o.goal)
}

// sample returns about n of the mutants, of each package its share and at least one. All are
// returned where n is zero. The same mutants with the same seed have the same sample.
func sample(all []*mutant, n int, seed uint64) []*mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a sample
	byFolder := map[string][]*mutant{}
	for _, m := range all {
		byFolder[m.folder] = append(byFolder[m.folder], m)
	}
	var chosen []*mutant
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		of := byFolder[folder]
		share := max(1, (len(of)*n+len(all)/2)/len(all))
		for _, i := range random.Perm(len(of))[:share] {
			chosen = append(chosen, of[i])
		}
	}
	return chosen
}

// summarize writes the rate of noticed mutants for each package and in all, as the last line.
func summarize(out io.Writer, verdicts []verdict, goal float64) error {
	type rate struct{ noticed, all, hung int }
	var total rate
	byFolder := map[string]rate{}
	for _, v := range verdicts {
		r := byFolder[v.mutant.folder]
		for _, r := range []*rate{&r, &total} {
			r.all++
			if v.killer != "" {
				r.noticed++
			}
			if v.hang {
				r.hung++
			}
		}
		byFolder[v.mutant.folder] = r
	}
	percent := func(r rate) float64 { return 100 * float64(r.noticed) / float64(r.all) }
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		r := byFolder[folder]
		fmt.Fprintf(out, "%6.1f%% (%d of %d) %s\n", percent(r), r.noticed, r.all, folder)
	}
	fmt.Fprintf(out, "code mutants noticed: %.1f%% (%d of %d, %d by tests that hang)\n", percent(total), total.noticed, total.all, total.hung)
	if percent(total) < goal {
		return errors.New("too few mutants are noticed: write the tests that notice them")
	}
	return nil
}
