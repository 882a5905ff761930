// Contractnet allocates a queue of jobs among workers that bid for them, one contract
// net after the other, and prints who got what, what it costs, and what the cheapest
// allocation would have cost.
//
//	go run ./examples/contractnet
//	go run ./examples/contractnet --jobs 12 --workers 5 --seed 7 --iterated
//	go run ./examples/contractnet --file problem.json --json
//
// It exits with 0 when each job was done, 1 when one was not, or time ran out, or it
// was interrupted, and 2 when it is called wrongly. With 1 and 2, one line on stderr
// says why and what to do.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// The agents besides the workers.
const (
	program = "contractnet" // the node's own
	caller  = "auctioneer"
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
		complain(stderr, err)
		return exitUsage
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, o.deadline)
	defer cancel()
	r, err := o.allocate(ctx)
	if err == nil {
		err = errors.Join(o.print(stdout, r), r.undone())
	}
	if err != nil {
		complain(stderr, explain(err))
		return exitFailed
	}
	return exitDone
}

// untilInterrupted ends ctx with the first interrupt; a second one kills. Writing to a
// pipe that nobody reads any more becomes an error instead of the end of the process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, func() { stop(); signal.Stop(pipe) }
}

// complain says in one line why the program failed.
func complain(w io.Writer, err error) {
	fmt.Fprintln(w, program+":", strings.Join(strings.Fields(err.Error()), " "))
}

// explain puts what ends a context in words for people.
func explain(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("time ran out before the jobs were done; give it a longer --deadline")
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted before the jobs were done; run it again")
	}
	return err
}

// allocate hosts the workers on a node of their own and has them bid.
func (o *options) allocate(ctx context.Context) (*report, error) {
	node, err := runtime.New(runtime.Options{Name: program})
	if err != nil {
		return nil, err
	}
	defer stopNode(node)
	var ids []performatives.AgentID
	for _, w := range o.problem.Workers {
		id := performatives.AgentID(w.Name)
		if err := node.Spawn(ctx, id, func() actors.Agent { return &bidder{Worker: w} }); err != nil {
			return nil, fmt.Errorf("worker %q: %w", w.Name, err)
		}
		ids = append(ids, id)
	}
	self, err := node.Client(ctx, caller)
	if err != nil {
		return nil, err
	}
	return (&auctioneer{self: self, bidders: ids, iterated: o.iterated}).allocate(ctx, o.problem)
}

// stopTime is how long what still runs has to end.
const stopTime = 2 * time.Second

func stopNode(n *runtime.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = n.Stop(ctx)
}
