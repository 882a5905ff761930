// Cluster starts three nodes as processes, spreads a swarm and a pool of reviewers over them, has work done on all of them, kills one
// node, and shows who takes over and how long each step takes. Then it has agents placed, and a node drains.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const usage = `usage: cluster

Starts three nodes on this machine, kills one of them, and shows what becomes of its work.
`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its inputs and outputs as arguments. With the arguments node NAME GOSSIP it is one of the other nodes.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := program.UntilInterrupted(context.Background())
	defer stop()
	var err error
	switch {
	case len(args) == 3 && args[0] == "node":
		err = serve(ctx, args[1], args[2], stdin)
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		return program.Refuse("cluster", usage, program.ErrHelp, stdout, stderr)
	case len(args) > 0:
		return program.Refuse("cluster", usage, fmt.Errorf("unknown argument %q; there are none", args[0]), stdout, stderr)
	default:
		err = show(ctx, stdout)
	}
	if err != nil {
		program.Complain(stderr, "cluster", err)
		return program.ExitFailed
	}
	return program.ExitDone
}

// newNode starts a node that joins the member whose address is given, if any.
func newNode(name string, join ...string) (*runtime.Node, error) {
	return runtime.New(runtime.Options{Name: name, Cluster: &runtime.ClusterOptions{Gossip: "127.0.0.1:0", Join: join}})
}

// serve runs one of the other nodes with its agents, until stdin ends: with the process that has started it.
func serve(ctx context.Context, name, join string, stdin io.Reader) error {
	node, err := newNode(name, join)
	if err != nil {
		return err
	}
	defer program.StopNode(node)
	if name == "n2" {
		if err := swarm.New(swarm.Options{}).Spawn(ctx, node); err != nil {
			return err
		}
	}
	if err := node.Spawn(ctx, reviewerOf(name), func() actors.Agent { return reviewer{node: name} }); err != nil {
		return err
	}
	if err := hostTopics(node); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, stdin)
	if err != nil {
		return err
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return node.Drain(drain)
}

// drainTime is how long the agents of a node that stops have to move.
const drainTime = 10 * time.Second

func reviewerOf(node string) performatives.AgentID { return performatives.AgentID("Reviewer-" + node) }

// process is another node.
type process struct {
	*exec.Cmd
	stdin io.Closer
}

// start starts another node as a process.
func start(name, join string) (process, error) {
	program, err := os.Executable()
	if err != nil {
		return process{}, err
	}
	cmd := exec.Command(program, "node", name, join)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return process{}, err
	}
	return process{cmd, stdin}, cmd.Start()
}

// end has the node stop in order, and waits for it.
func (p process) end() {
	_ = p.stdin.Close() // it may have ended
	_ = p.Wait()        // it may have been killed
}

// show is the demonstration.
func show(ctx context.Context, out io.Writer) (err error) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	node, err := newNode("n1")
	if err != nil {
		return err
	}
	defer program.StopNode(node)
	if err := hostTopics(node); err != nil {
		return err
	}
	began := time.Now()
	gossip := node.Members()[0].Gossip
	n2, err := start("n2", gossip)
	if err != nil {
		return err
	}
	defer func() { n2.end() }()
	n3, err := start("n3", gossip)
	if err != nil {
		return err
	}
	defer n3.end()
	if err := knows(ctx, node, swarm.JulesID, reviewerOf("n2"), reviewerOf("n3")); err != nil {
		return err
	}
	say("three nodes know one another's agents after %v", since(began))
	for _, e := range node.Directory().All() {
		say("  %s runs on %s", e.ID, e.Node)
	}

	result, err := node.Delegate(ctx, swarm.JulesID, performatives.TaskRequest{TaskType: "debug_code", Parameters: performatives.ContentOf(map[string]any{
		"language": "python", "code_snippet": "for i in range(3)\n    print(i)\n", "error_message": "SyntaxError: expected ':'",
	})})
	if err != nil {
		return fmt.Errorf("jules: %w", err)
	}
	say("Jules on n2 has debugged a script for n1: %s", program.OneLine(result.Summary))

	began = time.Now()
	for i := range 4 {
		found, err := review(ctx, node, "quick", 1+i%2)
		if err != nil {
			return err
		}
		say("  review %d was done by %s", i+1, found.Agent)
	}
	say("four reviews took %v", since(began))
	if err := failOver(ctx, node, &n2, gossip, say); err != nil {
		return err
	}
	return moveTopics(ctx, node, n3, say)
}

// failOver kills n2 while it works, and starts it again.
func failOver(ctx context.Context, node *runtime.Node, n2 *process, gossip string, say func(string, ...any)) error {
	lost := node.Events().Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{runtime.KindMemberLost}})
	defer lost.Close()
	accepted, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- longReview(ctx, node, accepted) }()
	<-accepted
	if err := n2.Process.Kill(); err != nil {
		return err
	}
	killed := time.Now()
	say("n2 was killed while %s worked", reviewerOf("n2"))
	if _, err := lost.Next(ctx); err != nil {
		return err
	}
	say("  n1 noticed it after %v", since(killed))
	err := <-done
	if err == nil {
		return errors.New("the work of a dead node was done")
	}
	say("  the asker was told after %v: %s", since(killed), program.OneLine(err.Error()))
	found, err := review(ctx, node, "quick", 1)
	if err != nil {
		return err
	}
	say("  %s took over, after %v", found.Agent, since(killed))
	n2.end()

	began := time.Now()
	if *n2, err = start("n2", gossip); err != nil {
		return err
	}
	if err := knows(ctx, node, swarm.JulesID, reviewerOf("n2")); err != nil {
		return err
	}
	say("n2 was started again, and its agents are back after %v", since(began))
	return nil
}

// longReview asks the reviewer of n2 for a review that takes long. It closes accepted when the reviewer has begun.
func longReview(ctx context.Context, node *runtime.Node, accepted chan<- struct{}) error {
	_, err := node.Delegate(ctx, reviewerOf("n2"), taskOf("long"), onAccept(accepted))
	return err
}

// review has one of the reviewers do a review: the one of the given node first, else the other.
func review(ctx context.Context, node *runtime.Node, kind string, first int) (discovery.Found, error) {
	to := []performatives.AgentID{reviewerOf("n2"), reviewerOf("n3")}
	if first == 2 {
		to[0], to[1] = to[1], to[0]
	}
	return discovery.DelegateToAny(ctx, node, to, taskOf(kind), discovery.SafeToRepeat())
}

func taskOf(kind string) performatives.TaskRequest {
	return performatives.TaskRequest{TaskType: "review", Description: kind}
}

// knows waits until the node can find the agents.
func knows(ctx context.Context, node *runtime.Node, agents ...performatives.AgentID) error {
	announced := node.Events().Subscribe(actors.SubscribeOptions{Kinds: []actors.Kind{actors.KindAgentAnnounced}})
	defer announced.Close()
	for _, id := range agents {
		for !slices.Contains(node.Directory().IDs(), id) {
			if _, err := announced.Next(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
