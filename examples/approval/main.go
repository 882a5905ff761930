// Approval runs an agent that asks a person to approve a dangerous step: a janitor
// makes a temporary folder with some files, and deletes them only if you approve it at
// the terminal before a deadline.
//
//	go run ./examples/approval
//	echo y | go run ./examples/approval
//	echo "n not today" | go run ./examples/approval --deadline 5s
//
// Answer y or n, and a reason if you like. No answer before the deadline means no, and
// so does the end of the input. An interrupt withdraws the question. At the end the
// folder is deleted with its content, except with --keep.
//
// It exits with 0 when the files were deleted, 1 for a failure or an interruption, 2
// when its arguments are wrong, and 3 when the step was not approved. With 1 and 2, it
// prints one line on stderr with the reason.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// exitDenied is the exit code when the step was not approved.
const exitDenied = 3

const name = "approval"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with the context, the arguments and the streams as parameters.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	screen := program.NewOutput(stdout)
	result, err := o.clean(ctx, stdin, screen)
	if err == nil {
		fmt.Fprintf(screen, "\n%s\n", result.Summary)
		err = screen.Err()
	}
	switch {
	case err != nil:
		program.Complain(stderr, name, explain(err))
		return program.ExitFailed
	case result.Status != performatives.StatusSuccess:
		return exitDenied
	}
	return program.ExitDone
}

// clean runs a node with the janitor and the person, and returns the janitor's result.
func (o *options) clean(ctx context.Context, stdin io.Reader, screen *program.Output) (performatives.InformResult, error) {
	var none performatives.InformResult
	node, err := runtime.New(runtime.Options{Name: name})
	if err != nil {
		return none, err
	}
	defer program.StopNode(node)
	queue := &approval.Queue{}
	if err := node.Spawn(ctx, personID, func() actors.Agent { return queue }); err != nil {
		return none, err
	}
	if err := node.Spawn(ctx, "Janitor", func() actors.Agent { return &janitor{options: *o} }); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.deadline+workTime)
	defer cancel()
	var answering sync.WaitGroup
	defer answering.Wait()
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	p := &person{queue: queue, lines: lines(asking, stdin), screen: screen}
	answering.Go(func() { p.answerAll(asking) })
	return node.Delegate(ctx, "Janitor", performatives.TaskRequest{TaskType: "clean_up", Description: "Free some space."},
		codons.WithGrace(program.StopTime))
}

// workTime is the time of the janitor's task besides the time for the decision.
const workTime = time.Minute

// explain replaces the error of an interrupted task by a text for the user.
func explain(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; without approval nothing is deleted")
	}
	return err
}
