package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
)

const usage = `usage: contractnet [--jobs N] [--workers N] [--seed N] [--iterated] [--deadline DURATION]

Workers with different skills, speeds, rates and places bid for a queue of jobs. Each
job goes to the lowest bid, which depends on where the worker's last job has led it.

  --jobs N            how many jobs, 1 to 20 (default 8)
  --workers N         how many workers, 1 to 5 (default 4)
  --seed N            which random workers and jobs (default 1)
  --iterated          iterated contract nets: workers may underbid each other
  --deadline DURATION how long it may take, such as 500ms or 1m (default 30s)

Exit codes: 0 the jobs were done, 1 time ran out or it was interrupted, 2 called
wrongly.
`

// options are the flags and the problem that they select.
type options struct {
	iterated bool
	deadline time.Duration
	problem  problem
}

// parse reads the flags and generates the problem.
func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet(nodeName, flag.ContinueOnError)
	jobs := f.Int("jobs", 8, "")
	workers := f.Int("workers", 4, "")
	seed := f.Uint64("seed", 1, "")
	f.BoolVar(&o.iterated, "iterated", false, "")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	case *jobs < 1 || *jobs > maxJobs:
		return nil, fmt.Errorf("--jobs %d: want 1 to %d", *jobs, maxJobs)
	case *workers < 1 || *workers > maxWorkers:
		return nil, fmt.Errorf("--workers %d: want 1 to %d", *workers, maxWorkers)
	}
	o.problem = generate(*seed, *workers, *jobs)
	return &o, program.CheckDeadline(o.deadline)
}
