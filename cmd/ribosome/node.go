package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/audit"
)

// noSwarm is the value of --swarm for no swarm.
const noSwarm = "none"

// swarms returns the swarms that a node can host, whose agents take the pace for each step of their
// work, and read code in the folder codeRoot, if any. A test adds one.
var swarms = func(pace time.Duration, codeRoot string) runtime.Swarms {
	return runtime.Swarms{swarm.New(swarm.Options{Brain: swarm.Paced{Debugger: swarm.Offline{}, Pace: pace}, CodeRoot: codeRoot})}
}

// run runs the node until ctx ends. It prints the addresses of its listeners when they
// accept connections.
func (c *nodeCmd) run(ctx context.Context, std streams) error {
	runtime.SpareProcessor()
	if err := c.check(swarms(c.pace(), c.CodeRoot)); err != nil {
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
			return nil // it was stopped while it started
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
