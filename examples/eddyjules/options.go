package main

import (
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"time"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/examples/program"
)

const usage = `usage: eddyjules [--code FILE] [--traceback FILE] [flags]

Eddy takes a failing Python script, finds out who can debug it, and delegates it to
Jules. Without files, a built-in script is debugged.

  --code FILE         the failing Python script
  --traceback FILE    what Python printed when it failed
  --verify            run the original and the fixed script with python3, in a
                      temporary folder; only for code that you trust
  --messages          only the messages, as log lines that others can grep:
                      MCP_MESSAGE_SENT: {…} and MCP_MESSAGE_RECEIVED: {…}
  --deadline DURATION how long it may take, such as 500ms or 1m (default 30s)
  --chaos             have Jules's worker panic the first time

Get a traceback, find the mistake, and apply the fix:

  python3 script.py 2> error.txt
  go run ./examples/eddyjules --code script.py --traceback error.txt
  go run ./examples/eddyjules --code script.py --traceback error.txt | patch script.py

Exit codes: 0 success or partial success, 1 failure, rejection, deadline passed or
interrupted, 2 called wrongly.
`

// options are the flags and the content of the files that they name.
type options struct {
	code, traceback string // file names; empty = none
	verify          bool
	messages        bool
	chaos           bool
	deadline        time.Duration

	problem swarm.Problem
}

// parse reads the flags and the files that they name.
func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet(swarm.Name, flag.ContinueOnError)
	f.StringVar(&o.code, "code", "", "")
	f.StringVar(&o.traceback, "traceback", "", "")
	f.BoolVar(&o.verify, "verify", false, "")
	f.BoolVar(&o.messages, "messages", false, "")
	f.BoolVar(&o.chaos, "chaos", false, "")
	f.DurationVar(&o.deadline, "deadline", 30*time.Second, "")
	if err := program.Parse(f, args); err != nil {
		return nil, err
	}
	if err := o.check(f); err != nil {
		return nil, err
	}
	return &o, o.read()
}

// check returns an error for arguments and flag values that can't be used.
func (o *options) check(f *flag.FlagSet) error {
	named := map[string]bool{}
	f.Visit(func(g *flag.Flag) { named[g.Name] = true })
	switch {
	case f.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; name the script with --code and its traceback with --traceback", f.Arg(0))
	case named["code"] && o.code == "", named["traceback"] && o.traceback == "":
		return errors.New("--code and --traceback want the name of a file, not an empty one; leave the flag out if there is none")
	case o.verify:
		if _, err := exec.LookPath("python3"); err != nil {
			return errors.New("--verify needs python3, which is not on the PATH; install it or leave --verify out")
		}
	}
	return program.CheckDeadline(o.deadline)
}

// read reads the problem from the named files, or takes the built-in sample if the
// flags name none.
func (o *options) read() (err error) {
	if o.sample() {
		sample := pydebug.Sample()
		o.problem = swarm.Problem{Code: sample.Code, Traceback: sample.Traceback}
		return nil
	}
	if o.problem.Code, err = readText("--code", o.code, pydebug.MaxCode); err != nil {
		return err
	}
	o.problem.FileName = o.code
	o.problem.Traceback, err = readText("--traceback", o.traceback, pydebug.MaxTraceback)
	return err
}

// sample reports whether the built-in script is debugged.
func (o *options) sample() bool { return o.code == "" && o.traceback == "" }

func (o *options) brain() swarm.Debugger {
	var brain swarm.Debugger = swarm.Offline{Verify: o.verify}
	if o.chaos {
		brain = &swarm.Flaky{Debugger: brain}
	}
	return brain
}
