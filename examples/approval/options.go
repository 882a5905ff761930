package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
)

const usage = `usage: approval [flags]

A janitor makes a temporary folder with some files, and asks you before it deletes
them. Answer y or n, and a reason if you like.

  --deadline DURATION how long you have, such as 500ms or 1m (default 1m), at most 24h; without
                      an answer by then, the files are kept
  --keep              keep the folder; without this flag, it is deleted at the end
                      with its content

Exit codes: 0 deleted, 1 failed or interrupted, 2 called wrongly, 3 not approved.
`

// maxDeadline is the largest value of --deadline.
const maxDeadline = 24 * time.Hour

// options are the flags.
type options struct {
	deadline time.Duration
	keep     bool
}

func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.DurationVar(&o.deadline, "deadline", time.Minute, "")
	f.BoolVar(&o.keep, "keep", false, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q; --help lists the flags", f.Arg(0))
	case o.deadline > maxDeadline:
		return nil, fmt.Errorf("--deadline %v: want at most %v", o.deadline, maxDeadline)
	}
	return &o, program.CheckDeadline(o.deadline)
}
