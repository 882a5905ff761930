package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	goruntime "runtime"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitNothing = 3 // of translate
)

// streams has the input and the outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	terminal bool // in and err are a terminal, where a person can be asked
}

// notes returns what prints beside the results of a command.
func (s *streams) notes(quiet bool) *printer {
	if quiet {
		return newPrinter(io.Discard)
	}
	return newPrinter(s.err)
}

// command is the interface of each subcommand of [cli].
type command interface {
	// run executes the command until it has finished or ctx ends. A [*commandError] has
	// the exit code.
	run(ctx context.Context, std streams) error
}

// cli is the grammar of the command line.
type cli struct {
	Config string `placeholder:"FILE" help:"YAML file with the flags that are given neither here nor in the environment"`

	Node      nodeCmd      `cmd:"" help:"Run a node of agents that listens for connections."`
	Call      callCmd      `cmd:"" help:"Have an agent perform a task, and print its result."`
	Send      sendCmd      `cmd:"" help:"Send an agent one message of any act, and print the answer."`
	Query     queryCmd     `cmd:"" help:"Ask an agent for a value, or whether a condition is true."`
	Listen    listenCmd    `cmd:"" help:"Join a node as an agent, and print the messages to it."`
	Subscribe subscribeCmd `cmd:"" help:"Print the events of an agent's topics."`
	Agents    agentsCmd    `cmd:"" help:"List the agents of a node."`
	Members   membersCmd   `cmd:"" help:"List the nodes of a cluster."`
	Drain     drainCmd     `cmd:"" help:"Have a node hand over its agents, and leave its cluster."`

	Tail          tailCmd          `cmd:"" help:"Print messages live, as an operator."`
	Conversations conversationsCmd `cmd:"" help:"List conversations, live and recent, as an operator."`
	Trace         traceCmd         `cmd:"" help:"Print a conversation and all that belong to it, as an operator."`
	Top           topCmd           `cmd:"" help:"List the agents that have the most to do, as an operator."`
	Check         checkCmd         `cmd:"" help:"Say what an operator has to look at: overload, links that are down, agents that block."`
	Cancel        cancelCmd        `cmd:"" help:"Cancel a conversation, as an operator, and wait for the receipt."`
	Approvals     approvalsCmd     `cmd:"" help:"List the steps that wait for an operator's approval."`
	Approve       approveCmd       `cmd:"" help:"Approve a step that waits."`
	Deny          denyCmd          `cmd:"" help:"Deny a step that waits."`

	Keys      keysCmd      `cmd:"" help:"Make the keys of an agent whose payloads are sealed, or show whose they are."`
	Translate translateCmd `cmd:"" help:"Show what becomes of messages in another dialect."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// run is main with its inputs and outputs as arguments. Of the environment it reads the
// variables RIBOSOME_*, NO_COLOR and TERM.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	from := &sources{}
	cmd, err := parse(args, stdout, from)
	if cmd == nil && err == nil {
		return exitDone // help has been printed
	}
	if err == nil {
		err = cmd.run(ctx, streams{stdin, stdout, stderr, terminal.Is(stdin) && terminal.Is(stderr)})
	}
	code, line := ending(err)
	if line != "" {
		_, _ = fmt.Fprintln(stderr, "ribosome:", oneLine(from.named(line)))
	}
	return code
}

// untilInterrupted returns a context that ends with the first signal. A second signal, after
// the end of the context, kills the process. Writing to a pipe without a reader returns an
// error instead of ending the process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	signalled, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(signalled, func() { stop(); cancel() })
	return ended, func() { stop(); cancel(); signal.Stop(pipe) }
}

// parse reads the command line, the environment and the configuration file. It returns nil
// and no error when it has printed help. From learns the source of each value.
func parse(args []string, stdout io.Writer, from *sources) (command, error) {
	if len(args) == 1 && args[0] == "--version" { // the usual form; a flag would have a variable and a key
		return &versionCmd{}, nil
	}
	helped := false
	var grammar cli
	parser := newParser(&grammar, stdout, func(int) { helped = true }, kong.Resolvers(from), onlyCommand(args))
	ctx, err := parser.Parse(args)
	switch {
	case helped:
		return nil, nil //nolint:nilnil // nothing is left to do
	case err != nil:
		return nil, from.explain(err, args)
	}
	if checkVariables(os.Environ(), flagsOf(parser.Model.Node)) != nil { // one may be of another command
		if err := checkVariables(os.Environ(), allFlags()); err != nil {
			return nil, err
		}
	}
	cmd, ok := ctx.Selected().Target.Addr().Interface().(command)
	if !ok {
		return nil, fmt.Errorf("%s is no command", ctx.Command())
	}
	return cmd, nil
}

// versionCmd is ribosome version.
type versionCmd struct{}

// run prints the version, which names the commit, the Go release and the platform.
func (*versionCmd) run(_ context.Context, std streams) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, version)
	}
	p := newPrinter(std.out)
	p.line(fmt.Sprintf("ribosome %s %s %s/%s", version, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH))
	return p.end()
}
