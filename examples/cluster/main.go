// Cluster starts three nodes as processes, with a swarm and a pool of reviewers. The cluster places
// these on the nodes, and work is done on all of them. Then one node is killed, and the output
// shows where its reviewers answer again and how long each step takes. At the end a node drains.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const usage = `usage: cluster

Starts three nodes on this machine, kills one of them, and shows what becomes of its work.
`

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main with its inputs and outputs as arguments. With the arguments node NAME GOSSIP it is
// one of the other nodes.
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

// serve runs one of the other nodes with its agents, until stdin ends: with the process that has
// started it.
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
	if err := hostReviewers(node); err != nil {
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
	if err := hostReviewers(node); err != nil {
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
	if err := errors.Join(knowsJules(ctx, node), allHost(ctx, node)); err != nil {
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
	placed, err := reviewByAll(ctx, node)
	if err != nil {
		return err
	}
	say("%d reviewers, placed on %v, have done a review each, which took %v", len(reviewers), node.Hosts("reviewer"), since(began))
	sayWhere(placed, say)
	if err := failOver(ctx, node, &n2, placed, say); err != nil {
		return err
	}
	began = time.Now()
	n2.end()
	if n2, err = start("n2", gossip); err != nil {
		return err
	}
	if err := errors.Join(knowsJules(ctx, node), allHost(ctx, node)); err != nil {
		return err
	}
	say("n2 was started again, and Jules and a share of the reviewers are back after %v", since(began))
	return drain(ctx, node, n3, say)
}

// failedOver is what becomes of a reviewer whose node is killed while it works.
type failedOver struct {
	told, answered time.Time
	failure        error // of the review that was under way
	again          review
}

// failOver kills n2 while all its reviewers work, and asks each of them again as soon as its review
// has failed.
func failOver(ctx context.Context, node *runtime.Node, n2 *process, placed map[performatives.AgentID]review, say func(string, ...any)) error {
	lost := node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{runtime.KindMemberLost}})
	defer lost.Close()
	ids := slices.DeleteFunc(slices.Clone(reviewers), func(id performatives.AgentID) bool { return placed[id].node != "n2" })
	all, errs := make([]failedOver, len(ids)), make([]error, len(ids))
	var working, asking sync.WaitGroup
	working.Add(len(ids))
	for i, id := range ids {
		asking.Go(func() { all[i], errs[i] = askTwice(ctx, node, id, working.Done) })
	}
	working.Wait()
	if err := n2.Process.Kill(); err != nil {
		return err
	}
	killed := time.Now()
	say("n2 was killed while its %d reviewers worked", len(ids))
	if _, err := lost.Next(ctx); err != nil {
		return err
	}
	say("  n1 noticed it after %v", since(killed))
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, f := range all {
		say("  %s answered again on %s after %v; its asker was told after %v: %s",
			ids[i], f.again.node, rounded(f.answered.Sub(killed)), rounded(f.told.Sub(killed)), program.OneLine(f.failure.Error()))
	}
	return nil
}

// askTwice asks a reviewer for a review that its node does not live to finish, and then for others
// until one is done. It calls accepted when the reviewer has begun.
func askTwice(ctx context.Context, node *runtime.Node, id performatives.AgentID, accepted func()) (f failedOver, err error) {
	accepted = sync.OnceFunc(accepted)
	f.failure = longReview(ctx, node, id, accepted)
	f.told = time.Now()
	accepted() // it may have failed before
	if !errors.Is(f.failure, performatives.CodeDisconnected) {
		return f, fmt.Errorf("the work of a dead node ended with %w", f.failure)
	}
	for {
		f.again, err = reviewBy(ctx, node, id)
		f.answered = time.Now()
		if !errors.Is(err, performatives.CodeDisconnected) { // the node that has it now may not yet know that n2 is dead
			return f, err
		}
	}
}

// knowsJules waits until the node can find Jules.
func knowsJules(ctx context.Context, node *runtime.Node) error {
	announced := node.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentAnnounced}})
	defer announced.Close()
	for !slices.Contains(node.Directory().IDs(), swarm.JulesID) {
		if _, err := announced.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func since(t time.Time) time.Duration { return rounded(time.Since(t)) }

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
