// Contractnet allocates a queue of jobs among workers that bid for them, one contract
// net after the other, and prints the winners, their prices and their costs.
//
//	go run ./examples/contractnet
//	go run ./examples/contractnet --jobs 12 --workers 5 --seed 7 --iterated
//
// It exits with 0 when the jobs were done, 1 when the deadline passed or it was
// interrupted, and 2 when its arguments are wrong. With 1 and 2, it prints one line on
// stderr with the reason and advice.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The ids that are not those of workers.
const (
	nodeName     = "contractnet"
	auctioneerID = "auctioneer"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with the context, the arguments and the streams as parameters.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(nodeName, usage, err, stdout, stderr)
	}
	defer program.CatchBrokenPipe()()
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.deadline)
	defer cancel()
	r, err := o.allocate(ctx)
	if err == nil {
		err = program.Printing(r.print(stdout))
	}
	if err != nil {
		program.Complain(stderr, nodeName, explain(err))
		return program.ExitFailed
	}
	return program.ExitDone
}

// explain replaces the error of a context by a text for the user.
func explain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("time ran out before the jobs were done; give it a longer --deadline")
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the jobs were done; run it again")
	}
	return err
}

// allocate spawns the workers on a new node and auctions the jobs among them.
func (o *options) allocate(ctx context.Context) (*report, error) {
	node, err := runtime.New(runtime.Options{Name: nodeName})
	if err != nil {
		return nil, err
	}
	defer program.StopNode(node)
	var ids []performatives.AgentID
	for _, w := range o.problem.Workers {
		id := performatives.AgentID(w.Name)
		if err := node.Spawn(ctx, id, func() actors.Agent { return &bidder{Worker: w} }); err != nil {
			return nil, fmt.Errorf("worker %q: %w", w.Name, err)
		}
		ids = append(ids, id)
	}
	self, err := node.Client(ctx, auctioneerID)
	if err != nil {
		return nil, err
	}
	return (&auctioneer{self: self, bidders: ids, iterated: o.iterated}).allocate(ctx, o.problem)
}
