// External runs a node that agents of other programs join: one in Python, over TCP, and
// one in JavaScript, over WebSocket. Each gets a task, delegates a part of it back to an
// agent of the node, and reports its progress. The program prints all messages.
//
//	go run ./examples/external
//	go run ./examples/external --spawn none --stay --tcp 127.0.0.1:8444 --ws 127.0.0.1:8443
//
// The second command waits for your own agents until it is interrupted: start
// python/agent.py or js/agent.mjs, or open the page at the address that it prints.
// The agents use the packages of clients/python and clients/typescript.
//
// It exits with 0 when each agent has done its task, 1 when one has not, and 2 when its
// arguments are wrong. With 1 and 2, it prints one line on stderr with the reason and
// advice.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/program"
)

const name = "external"

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with the context, the arguments and the streams as parameters.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	if err := o.runAgents(ctx, stdout, stderr); err != nil {
		program.Complain(stderr, name, err)
		return program.ExitFailed
	}
	return program.ExitDone
}

// runAgents runs the node, starts the agents and delegates their tasks to them.
func (o *options) runAgents(ctx context.Context, stdout, stderr io.Writer) (err error) {
	h, err := start(ctx, o, localAgents())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	log := newTranscript(h.node.Events(), stdout)
	defer func() { err = errors.Join(err, log.stop()) }()
	log.say("The node listens on %s and %s; a page is at %s", h.tcpURL(), h.wsURL(), h.pageURL())

	joined := h.node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	defer joined.Close()
	f, err := startProcesses(ctx, o, h, stderr)
	if err != nil {
		return err
	}
	defer f.stop()
	return o.assignTasks(ctx, h, log, joined.C, f)
}

// assignTasks delegates a task to each agent that joins, until the expected number of
// tasks has ended; with --stay, until ctx ends.
func (o *options) assignTasks(ctx context.Context, h *host, log *transcript, joined <-chan events.Record, f *processes) error {
	ctx, cancel := context.WithCancel(ctx)
	tasks := &assignments{host: h, log: log, ended: make(chan error)}
	defer tasks.running.Wait()
	defer cancel()
	for left := max(f.started, 1); left > 0 || o.stay; {
		select {
		case <-ctx.Done():
			if o.stay {
				return nil
			}
			return errors.New("interrupted before the agents had done their tasks; run it again")
		case who := <-joined:
			tasks.assign(ctx, who.Event.(events.AgentAnnounced))
		case err := <-tasks.ended:
			left--
			if err != nil && !o.stay {
				return err
			}
		case err := <-f.exited:
			if !o.stay {
				return err
			}
			log.say("%v", err)
		}
	}
	return nil
}
