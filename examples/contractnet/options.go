package main

import (
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
)

const usage = `usage: contractnet [--jobs N] [--workers N] [--seed N] [flags]
       contractnet --file FILE [flags]

Workers with different skills, speeds, rates and places bid for a queue of jobs. Each
job goes to the lowest bid, which depends on where the worker's last job has led it.

  --jobs N            how many jobs, 1 to 20 (default 8)
  --workers N         how many workers, 1 to 5 (default 4)
  --seed N            which random workers and jobs (default 1)
  --file FILE         your own workers and jobs, as JSON:
                        {"workers": [{"name": "Ada", "skills": ["roof"], "x": 0, "y": 0,
                                      "speed": 1, "rate": 20, "margin": 0.2}],
                         "jobs": [{"name": "barn", "skill": "roof", "x": 3, "y": 4,
                                   "hours": 2}]}
                      An hour of travel or work costs the rate; a bid adds the margin.
  --iterated          iterated contract nets: workers may underbid each other
  --json              one JSON object instead of a table
  --deadline DURATION how long it may take, such as 500ms or 1m (default 30s)

Exit codes: 0 each job was done, 1 one was not, or time ran out, or it was
interrupted, 2 called wrongly.
`

// options are the flags and the problem that they select.
type options struct {
	jobs, workers int
	seed          uint64
	file          string
	iterated      bool
	json          bool
	deadline      time.Duration

	problem problem
}

// parse reads the flags and the problem.
func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("contractnet", flag.ContinueOnError)
	f.IntVar(&o.jobs, "jobs", 8, "")
	f.IntVar(&o.workers, "workers", 4, "")
	f.Uint64Var(&o.seed, "seed", 1, "")
	f.StringVar(&o.file, "file", "", "")
	f.BoolVar(&o.iterated, "iterated", false, "")
	f.BoolVar(&o.json, "json", false, "")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	if err := o.check(f); err != nil {
		return nil, err
	}
	return &o, o.read()
}

// check returns an error for flag values that are out of range or contradict each
// other.
func (o *options) check(f *flag.FlagSet) error {
	named := map[string]bool{}
	f.Visit(func(g *flag.Flag) { named[g.Name] = true })
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; name a file with --file", f.Arg(0))
	case named["file"] && o.file == "":
		return errors.New("--file wants the name of a file, not an empty one; leave the flag out if there is none")
	case named["file"] && (named["jobs"] || named["workers"] || named["seed"]):
		return errors.New("--file has its own workers and jobs; leave --jobs, --workers and --seed out")
	case o.jobs < 1 || o.jobs > maxJobs:
		return fmt.Errorf("--jobs %d: want 1 to %d", o.jobs, maxJobs)
	case o.workers < 1 || o.workers > maxWorkers:
		return fmt.Errorf("--workers %d: want 1 to %d", o.workers, maxWorkers)
	}
	return program.CheckDeadline(o.deadline)
}

// read reads the problem from the file, or generates it from the seed.
func (o *options) read() error {
	if o.file == "" {
		o.problem = generate(o.seed, o.workers, o.jobs)
		return nil
	}
	text, err := program.ReadFile(o.file, "a file", maxFile)
	if err == nil {
		o.problem, err = readProblem(text)
	}
	if err != nil {
		return fmt.Errorf("--file %s: %w", o.file, err)
	}
	return nil
}

// maxFile is the largest size of a problem file in bytes.
const maxFile = 1 << 20
