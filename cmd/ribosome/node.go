package main

import (
	"context"
	"log/slog"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/runtime"
)

// noSwarm is the value of --swarm for no swarm.
const noSwarm = "none"

// swarms has the swarms that a node can host.
func swarms() runtime.Swarms { return runtime.Swarms{swarm.New(swarm.Options{})} }

// run runs the node until ctx ends. It prints the addresses of its listeners when they
// accept connections.
func (c *nodeCmd) run(ctx context.Context, std streams) error {
	if err := c.check(swarms()); err != nil {
		return err
	}
	p := &endpoint{log: c.logger(std)}
	if err := c.open(ctx, p); err != nil {
		_ = p.stop(c.StopTimeout) // err is the reason
		return err
	}
	out := newPrinter(std.out)
	for _, l := range p.listeners {
		out.line("listening on " + l.url)
	}
	<-ctx.Done()
	p.log.Info("stopping")
	for _, late := range p.stop(c.StopTimeout) {
		newPrinter(std.err).line("ribosome: " + late)
	}
	return out.end()
}

// logger returns the logger of the flags.
func (f *logFlags) logger(std streams) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.LogLevel)) // the flag allows valid levels only
	switch f.LogFormat {
	case "tint":
		return runtime.NewTextLogger(std.err, level)
	case "json":
		return slog.New(slog.NewJSONHandler(std.err, &slog.HandlerOptions{Level: level}))
	}
	return runtime.NewLogger(std.err, level)
}
