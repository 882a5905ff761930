// Approval runs an agent that comes to a dangerous step and waits for a person to
// approve it: a janitor makes a temporary folder with some files, and deletes them
// only if you say so at the terminal, in time.
//
//	go run ./examples/approval
//	echo y | go run ./examples/approval
//	echo "n not today" | go run ./examples/approval --deadline 5s
//
// Answer y or n, and a reason if you like. No answer before the deadline means no, and
// so does the end of the input. An interrupt withdraws the question. The folder goes in
// the end, whatever is still in it, but with --keep.
//
// It exits with 0 when the files were deleted, 1 for a failure or an interruption, 2
// when it is called wrongly, and 3 when the step was not approved. With 1 and 2, one
// line on stderr says why.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitDenied = 3
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	switch {
	case errors.Is(err, errHelp):
		_, _ = io.WriteString(stdout, usage)
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "approval:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt kills
	screen := &screen{w: stdout}
	result, err := o.clean(ctx, stdin, screen)
	if err == nil {
		screen.show("\n%s\n", result.Summary)
		err = screen.err
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "approval:", explain(err))
		return exitFailed
	case result.Status != performatives.StatusSuccess:
		return exitDenied
	}
	return exitDone
}

// clean runs a node on which the janitor cleans up, and the person decides.
func (o *options) clean(ctx context.Context, stdin io.Reader, screen *screen) (performatives.InformResult, error) {
	var none performatives.InformResult
	node, err := runtime.New(runtime.Options{Name: "approval"})
	if err != nil {
		return none, err
	}
	defer stopNode(node)
	queue := &codons.ApprovalQueue{}
	if err := node.Spawn(ctx, personID, func() actors.Agent { return queue }); err != nil {
		return none, err
	}
	if err := node.Spawn(ctx, "Janitor", func() actors.Agent { return &janitor{options: *o} }); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.deadline+workTime)
	defer cancel()
	var attending sync.WaitGroup
	defer attending.Wait()
	attended, leave := context.WithCancel(ctx)
	defer leave()
	p := &person{queue: queue, lines: lines(attended, stdin), screen: screen}
	attending.Go(func() { p.attend(attended) })
	return node.Delegate(ctx, "Janitor", performatives.TaskRequest{TaskType: "clean_up", Description: "Free some space."},
		codons.WithGrace(stopTime))
}

const (
	workTime = time.Minute     // what the janitor has besides the time to decide
	stopTime = 2 * time.Second // what still runs has to end
)

func stopNode(n *runtime.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = n.Stop(ctx)
}

// explain says in one line why there is no result.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted; without approval nothing is deleted"
	}
	return err.Error()
}
