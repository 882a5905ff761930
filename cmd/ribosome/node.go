package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/tool"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	ragswarm "github.com/ribosome-agents/ribosome/examples/rag/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/audit"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
)

// noSwarm is the value of --swarm for no swarm.
const noSwarm = "none"

// swarms returns the swarms that a node with these flags can host. A test adds one.
var swarms = func(c *nodeCmd) runtime.Swarms {
	model, _ := ragswarm.ModelFrom(os.Getenv) // checkSwarm has the error
	return runtime.Swarms{
		swarm.New(swarm.Options{Brain: swarm.Paced{Debugger: swarm.Offline{}, Pace: c.pace()}, CodeRoot: c.CodeRoot}),
		ragswarm.New(ragswarm.Options{Docs: c.Docs, Model: model}),
	}
}

// run runs the node until ctx ends. It prints the addresses of its listeners when they
// accept connections.
func (c *nodeCmd) run(ctx context.Context, std streams) error {
	runtime.SpareProcessor()
	if err := c.check(swarms(c)); err != nil {
		return err
	}
	out := newPrinter(std.out)
	p := &endpoint{log: c.logger(std)}
	messages, err := c.messageLog(out, p.log)
	if err != nil {
		return err
	}
	if err := c.open(ctx, p, messages); err != nil {
		_ = p.stop(c.StopTimeout) // err is the reason
		_ = messages.close()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped while it started
		}
		return err
	}
	for _, l := range p.listeners {
		if l.operators {
			out.line("serving " + l.url + c.readers())
			continue
		}
		out.line("listening on " + l.url)
	}
	for _, m := range p.node.Members() {
		if m.Name == c.Name {
			out.line("gossiping on " + m.Gossip)
		}
	}
	var demonstrating sync.WaitGroup
	demo, endDemo := context.WithCancel(ctx)
	if c.Gossip == "" && len(c.Label) > 0 {
		newPrinter(std.err).line("ribosome: --label is ignored: without --gossip, no other node is told it")
	}
	if c.demonstrates() {
		demonstrating.Go(func() { demonstrate(demo, p.node, c.pace(), p.log) })
	}
	select {
	case <-ctx.Done():
	case <-p.peers.Drained():
	}
	p.log.Info("stopping")
	endDemo()
	demonstrating.Wait()
	for _, late := range slices.Concat(p.handOver(c.DrainTime), p.stop(c.StopTimeout), messages.close()) {
		newPrinter(std.err).line("ribosome: " + late)
	}
	return out.end()
}

// masks returns the names and paths of members whose values are not shown.
func (f *logFlags) masks() []string { return append(observe.DefaultMask(), f.Mask...) }

// messageLog opens the log of messages of the flags.
func (f *logFlags) messageLog(out *printer, log *slog.Logger) (messageLog, error) {
	switch f.MessageLog {
	case "":
		return messageLog{}, nil
	case "-":
		return messageLog{Writer: plainJSONWriter{out}}, nil
	}
	file, err := audit.OpenFile(audit.FileOptions{
		Path: f.MessageLog, Megabytes: int(f.MessageLogSize >> 20), Keep: f.MessageLogKeep, Logger: log,
		Lost: func(n uint64) []byte { return fmt.Appendf(nil, `MCP_MESSAGES_LOST: {"lines":%d}`, n) },
	})
	if err != nil {
		return messageLog{}, notWritable("--message-log", f.MessageLog, err)
	}
	return messageLog{plainJSONWriter{file}, file}, nil
}

// messageLog is where the log of messages is written. Either field may be nil.
type messageLog struct {
	io.Writer
	file *audit.File
}

// close closes the file, if there is one, and returns a text about the lines that it lacks.
func (l messageLog) close() []string {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	if n := l.file.Counts().Failed; n > 0 {
		return []string{fmt.Sprintf("the log of messages lacks %d lines", n)}
	}
	if err != nil {
		return []string{fmt.Sprintf("the log of messages did not end in order: %v", err)}
	}
	return nil
}

// logger returns the logger of the flags.
func (f *logFlags) logger(std streams) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.LogLevel)) // the flag allows valid levels only
	switch f.LogFormat {
	case "tint":
		return runtime.NewTextLogger(std.err, level)
	case "json":
		return runtime.NewJSONLogger(std.err, level)
	}
	return runtime.NewLogger(std.err, level)
}

// notWritable returns the reason why the file of a flag cannot be written, and an advice.
func notWritable(flag, file string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return usagef("%s %s: %v; name a file that can be written", flag, shown(file), err)
}

const (
	demoPace  = 2 * time.Second // of the steps of an example task, without --pace
	demoPause = 5 * time.Second // between the end of an example task and the next one
)

// demonstrates reports whether the node gives the swarm example tasks: no peer can connect and give
// it one, and without conversations the console has nothing to show.
func (c *nodeCmd) demonstrates() bool { return c.readOnly() && c.Swarm == swarm.Name }

// pace returns the time that the swarm takes for each step of its work.
func (c *nodeCmd) pace() time.Duration {
	if c.demonstrates() {
		return cmp.Or(c.Pace, demoPace)
	}
	return c.Pace
}

// demonstrate gives Eddy one example task after the other until ctx ends. The task under way is
// cancelled then. A task has the time for ten steps at the pace.
func demonstrate(ctx context.Context, node *runtime.Node, pace time.Duration, log *slog.Logger) {
	deadline := max(codons.DefaultDeadline, 10*pace)
	sample := pydebug.Sample()
	task := swarm.Problem{Code: sample.Code, Traceback: sample.Traceback}.Task()
	for more := true; more; more = pause(ctx, demoPause) {
		within, cancel := context.WithTimeout(ctx, deadline)
		_, err := node.Delegate(within, swarm.EddyID, task, codons.WithOntology(performatives.OntologyDebugRequest))
		if cancel(); err != nil && ctx.Err() == nil {
			log.Warn("an example task has failed", "err", err)
		}
	}
}

// messageTypes returns the message types of --type.
func (c *nodeCmd) messageTypes() (*performatives.Registry, error) {
	types := new(performatives.Registry)
	for _, t := range c.Types {
		if err := register(types, t); err != nil {
			return nil, err
		}
	}
	return types, nil
}

// register registers the message type of one --type.
func register(types *performatives.Registry, text string) error {
	name, rest, _ := strings.Cut(text, "=")
	act, file, ok := strings.Cut(rest, ":")
	if !ok || name == "" || file == "" {
		return usagef("--type wants a name, an act and a file, such as CUSTOM_ANALYSIS=TASK_REQUEST:analysis.json")
	}
	p, err := performatives.ParsePerformative(act)
	switch {
	case performatives.CheckMessageType(name) != nil:
		return usagef("--type %s is no message type; want 1 to 64 letters, digits and _ - . : /", shown(name))
	case err != nil:
		return usagef("--type %s: %s is no act; want one such as TASK_REQUEST, REQUEST or INFORM", name, shown(act))
	case rag.Reserves(name) || rossnet.Reserves(name):
		return usagef("--type %s: a dialect has this type itself; choose another name", name)
	}
	schema, err := readFile("--type "+name, file, tool.MaxSchema)
	if err != nil {
		return err
	}
	if err := checkJSON(schema); err != nil {
		return usagef("--type %s: %s is not JSON: %v; want a JSON Schema", name, shown(file), err)
	}
	switch err := tool.RegisterMessageType(types, name, p, schema); {
	case errors.Is(err, performatives.ErrRegistered):
		return usagef("--type %s is given twice; leave one", name)
	case err != nil:
		return usagef("--type %s: %s is no JSON Schema of a payload: %s; see https://json-schema.org", name, shown(file), reasonOf(err))
	}
	return nil
}

// reasonOf returns the error of a schema as one line, without the name of the message type.
func reasonOf(err error) string {
	_, text, _ := strings.Cut(err.Error(), ": ") // the package
	_, text, _ = strings.Cut(text, ": ")         // the message type
	return strings.Join(strings.Fields(text), " ")
}
