package main

import (
	"cmp"
	"os/exec"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
)

// command is the beginning of the command lines that the program prints.
const command = "go run ./examples/eddyjules"

// next returns advice for the user's next step; empty if there is none.
func (o *options) next(r performatives.InformResult, f swarm.Finding) string {
	switch r.Status {
	case performatives.StatusSuccess:
		return o.nextFixed(f)
	case performatives.StatusPartial:
		return o.nextPartial(f)
	case performatives.StatusFailure:
	}
	return ""
}

func (o *options) nextFixed(f swarm.Finding) string {
	switch {
	case o.sample():
		return "That script is built in. For one of your own:\n" +
			"  " + command + " --code script.py --traceback error.txt"
	case f.Diff == "":
		return ""
	}
	text := "To apply the diff, run this again and let patch read it:\n  " + o.commandLine() + " | patch " + quoted(o.code)
	if _, err := exec.LookPath("python3"); err == nil && !o.verify {
		text += "\nTo see both versions run first, if you trust the script, add --verify."
	}
	return text
}

// nextPartial returns the command that adds the missing input. A missing file gets an
// example name.
func (o *options) nextPartial(f swarm.Finding) string {
	if f.RequestForUser == "" {
		return ""
	}
	with := *o
	if strings.TrimSpace(o.problem.Code) == "" {
		with.code, with.traceback = "script.py", cmp.Or(o.traceback, "error.txt")
		return "Run this again with the script:\n  " + with.commandLine()
	}
	with.traceback = "error.txt"
	return "Get the traceback, and run this again with it:\n  python3 " + quoted(with.code) +
		" 2> " + with.traceback + "\n  " + with.commandLine()
}

// commandLine returns the command of this run, without the flags for its output.
func (o *options) commandLine() string {
	text := command + " --code " + quoted(o.code)
	if o.traceback != "" {
		text += " --traceback " + quoted(o.traceback)
	}
	if o.verify {
		text += " --verify"
	}
	return text
}

// quoted returns a file name, quoted for a shell where necessary.
func quoted(name string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,@%:=", r)
	}
	if strings.HasPrefix(name, "-") {
		name = "./" + name // so that no program reads it as a flag
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
