package main

import (
	"os/exec"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The command lines that the program prints, with the names of files that the user has to replace.
const (
	commandFailing = "\n  python3 script.py 2> error.txt"
	commandDebug   = "\n  go run ./examples/eddyjules --code script.py --traceback error.txt"
)

// next returns advice for the user's next step; empty if there is none.
func (o *options) next(r performatives.InformResult, f swarm.Finding) string {
	switch {
	case r.Status == performatives.StatusSuccess && o.sample():
		return "That script is built in. For one of your own:" + commandDebug
	case r.Status == performatives.StatusSuccess && f.Diff != "":
		text := "To apply the diff, run this again and let patch read it:" + commandDebug + " | patch script.py"
		if _, err := exec.LookPath("python3"); err == nil && !o.verify {
			text += "\nTo see both versions run first, if you trust the script, add --verify."
		}
		return text
	case r.Status != performatives.StatusPartial || f.RequestForUser == "":
		return ""
	case strings.TrimSpace(o.problem.Code) == "":
		return "Run this again with the script:" + commandDebug
	}
	return "Get the traceback, and run this again with it:" + commandFailing + commandDebug
}
