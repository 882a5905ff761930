// Eddyjules runs the Eddy-and-Jules swarm once: a user brings a failing Python
// script to Eddy, who discovers that Jules can debug it, delegates the task, and reports
// the result.
//
//	go run ./examples/eddyjules
//	go run ./examples/eddyjules --code script.py --traceback error.txt --verify
//	go run ./examples/eddyjules --code script.py --traceback error.txt | patch script.py
//
// It exits with 0 for a success or partial success, 1 for a failure, a rejection,
// a deadline that passed or an interruption, and 2 when its arguments are wrong. With
// 1 and 2, it prints one line on stderr with the reason and advice.
package main

import (
	"context"
	"io"
	"os"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with the context, the arguments and the streams as parameters. It reads
// the files before it catches interrupts, so that an interrupt ends a read that blocks.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(swarm.Name, usage, err, stdout, stderr)
	}
	defer program.CatchBrokenPipe()() // see program.Printing
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	out := o.output(stdout)
	result, err := o.ask(ctx, out)
	printing := out.end(result, err)
	if err := complaint(result, err, printing); err != nil {
		program.Complain(stderr, swarm.Name, err)
		return program.ExitFailed
	}
	return program.ExitDone
}

// ask hosts the swarm on a new node and delegates the task to Eddy, as the user. When
// it returns, out has observed all events.
func (o *options) ask(ctx context.Context, out output) (_ performatives.InformResult, err error) {
	var none performatives.InformResult
	node, err := runtime.New(runtime.Options{Name: swarm.Name})
	if err != nil {
		return none, err
	}
	observing := node.Events().Subscribe(events.SubscribeOptions{Capacity: maxWaiting}).Handle(out.observe)
	defer func() {
		if late := program.StopHandler(observing); err == nil {
			err = late
		}
	}()
	defer program.StopNode(node)
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
	return delegation.Delegate(ctx, user, swarm.EddyID, o.problem.Task(),
		codons.WithOntology(performatives.OntologyDebugRequest), codons.WithGrace(program.StopTime))
}

// maxWaiting is how many events may wait to be printed.
const maxWaiting = 1 << 14
