// External runs a node that agents of other programs join: one in Python, over TCP, and
// one in JavaScript, over WebSocket. Each is given a task, delegates a part of it back
// to an agent of the node, and reports how far it has come. It prints who says what to
// whom.
//
//	go run ./examples/external
//	go run ./examples/external --spawn none --stay --tcp 127.0.0.1:8444 --ws 127.0.0.1:8443
//
// The second waits for your own agents, until it is interrupted: start python/agent.py or
// js/agent.mjs, or open the page that it prints. docs/clients.md says how to write one.
//
// It exits with 0 when each agent has done its task, 1 when one has not, and 2 when it is
// called wrongly. With 1 and 2, one line on stderr says why and what to do.
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

	"github.com/ribosome-agents/ribosome/actors"
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
		complain(stderr, err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt kills
	if err := o.meet(ctx, stdout, stderr); err != nil {
		complain(stderr, err)
		return exitFailed
	}
	return exitDone
}

// complain says in one line why the program failed.
func complain(w io.Writer, err error) {
	fmt.Fprintln(w, "external:", strings.Join(strings.Fields(err.Error()), " "))
}

// meet runs the node, and gives each agent that joins it something to do.
func (o *options) meet(ctx context.Context, stdout, stderr io.Writer) (err error) {
	h, err := start(ctx, o, localAgents())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	talk := overhear(h.node.Events(), stdout)
	defer func() { err = errors.Join(err, talk.stop()) }()
	talk.say("The node listens on %s and %s; a page is at %s", h.tcpURL(), h.wsURL(), h.pageURL())

	joined := actors.Subscribe[actors.AgentAnnounced](h.node.Events(), 64)
	defer joined.Stop()
	f, err := muster(ctx, o, h, stderr)
	if err != nil {
		return err
	}
	defer f.stop()
	return o.attend(ctx, h, talk, joined.C, f)
}

// attend delegates to who joins, until each that is expected has had its task.
func (o *options) attend(ctx context.Context, h *host, talk *talk, joined <-chan actors.AgentAnnounced, f *fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	tasks := newErrands(h, talk)
	defer tasks.wait()
	defer cancel()
	for left := f.expected(); left > 0 || o.stay; {
		select {
		case <-ctx.Done():
			if o.stay {
				return nil
			}
			return errors.New("interrupted before the agents had done their tasks; run it again")
		case who := <-joined:
			tasks.begin(ctx, who)
		case err := <-tasks.ended:
			left--
			if err != nil && !o.stay {
				return err
			}
		case err := <-f.gone:
			if !o.stay {
				return err
			}
			talk.say("%v", err)
		}
	}
	return nil
}
