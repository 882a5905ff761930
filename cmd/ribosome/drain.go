package main

import (
	"context"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
)

// drainCmd is ribosome drain.
type drainCmd struct {
	Node string `arg:"" help:"Name of the node at --addr"`

	JSON     bool          `name:"json" help:"Print one JSON object: the node, and which agents were lost"`
	Deadline time.Duration `default:"1m" help:"How long the node may take"`

	clientFlags `group:"The node:"`
}

// drain is the content of the request.
type drain struct {
	Operation string `json:"operation"`
	Node      string `json:"node"`
}

// drained is the answer, as --json prints it.
type drained struct {
	Node string `json:"node"`
	Lost string `json:"lost"` // which agents were not handed over; empty for none
}

// run has the node drain, and waits until it ends the connection because it stops.
func (c *drainCmd) run(ctx context.Context, std streams) error {
	switch {
	case c.Node == "":
		return usagef("the node may not be empty; see ribosome members for a list")
	case c.Deadline <= 0:
		return usagef("--deadline 0s leaves no time; give it some, such as 1m")
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	result, err := c.ask(ctx, l)
	if err != nil {
		return c.explain(l, err).failure()
	}
	out := newPrinter(std.out)
	switch {
	case c.JSON:
		out.json(result)
	case result.Lost == "":
		out.line(oneLine(result.Node) + " has handed over its agents, and has left")
	}
	if result.Lost != "" {
		return failf("%s has left, but %s", result.Node, result.Lost)
	}
	return out.end()
}

// explain returns the reason why the node does not drain, and an advice.
func (c *drainCmd) explain(l *link, err error) *problem {
	why := l.explain(err, string(systemAgent))
	var r *performatives.Refusal
	if !errors.As(err, &r) {
		return why
	}
	switch {
	case r.Code == performatives.CodeForbidden && r.Text != notSender:
		why.Text = l.who("") + " does not permit it: " + oneLine(r.Text) + "; its --operators says who is one"
	case r.Code == performatives.CodeUnknownAgent:
		why.Text = l.who("") + " is another one: " + oneLine(r.Text) + "; give with --addr the address of " + c.Node + ", such as that of LINKS in ribosome members"
	}
	return why
}

func (c *drainCmd) ask(ctx context.Context, l *link) (result drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	if err := l.join(ctx); err != nil {
		return result, err
	}
	defer l.leave()
	result, err = request.Request[drained](ctx, l, systemAgent, drain{"drain", c.Node}, codons.WithGrace(receiptTime))
	if err != nil {
		return result, err
	}
	select {
	case <-l.session.Load().Done():
	case <-ctx.Done():
		return result, ctx.Err()
	}
	return result, nil
}
