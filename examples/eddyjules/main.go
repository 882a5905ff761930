// Eddyjules runs the Eddy-and-Jules swarm once: a user brings a failing Python
// script to Eddy, who finds out that Jules can debug it, delegates it, and reports
// what came of it.
//
//	go run ./examples/eddyjules
//	go run ./examples/eddyjules --code script.py --traceback error.txt --verify
//	go run ./examples/eddyjules --code script.py --traceback error.txt | patch script.py
//
// It exits with 0 for a success or partial success, 1 for a failure, a rejection,
// a deadline that passed or an interruption, and 2 when it is called wrongly. With
// 1 and 2, one line on stderr says why and what to do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		_, _ = io.WriteString(stdout, usage)
		return exitDone
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "eddyjules:", oneLine(err.Error()))
		return exitUsage
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	out := o.output(stdout)
	result, err := o.ask(ctx, out)
	printing := out.end(result, err)
	if line := complaint(result, err, printing); line != "" {
		_, _ = fmt.Fprintln(stderr, "eddyjules:", line)
		return exitFailed
	}
	return exitDone
}

// untilInterrupted ends ctx with the first interrupt; a second one kills. Files
// were read before it, so that one that never ends can be interrupted too. Writing
// to a pipe that nobody reads any more becomes an error instead of the end of the
// process: see [printing].
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, func() { stop(); signal.Stop(pipe) }
}

// ask hosts the swarm on a node of its own and has the user ask Eddy. When it
// returns, everything that was said has been shown.
func (o *options) ask(ctx context.Context, out output) (performatives.InformResult, error) {
	var none performatives.InformResult
	node, err := runtime.New(runtime.Options{Name: swarm.Name})
	if err != nil {
		return none, err
	}
	defer node.Events().Listen(out.observe)()
	defer stopNode(node)
	swarms := runtime.Swarms{swarm.New(swarm.Options{Brain: o.brain()})}
	if err := swarms.Host(ctx, node, swarm.Name); err != nil {
		return none, err
	}
	user, err := node.Client(ctx, "User")
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.deadline)
	defer cancel()
	return codons.Delegate(ctx, user, swarm.EddyID, o.task(),
		codons.WithOntology(performatives.OntologyDebugRequest), codons.WithGrace(stopTime))
}

// stopTime is how long what still runs has to end; what ignores its context ends
// with the process.
const stopTime = 2 * time.Second

func stopNode(n *runtime.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = n.Stop(ctx)
}
