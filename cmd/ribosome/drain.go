package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
)

// drainCmd is ribosome drain.
type drainCmd struct {
	Node string `arg:"" help:"Name of the node: that at --addr, or with --addr http:// or https:// any of its cluster"`

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

// run has the node drain, and waits until it has left: until it ends the connection, or is no
// member any more.
func (c *drainCmd) run(ctx context.Context, std streams) error {
	switch {
	case c.Node == "":
		return usagef("the node may not be empty; see ribosome members for a list")
	case c.Deadline <= 0:
		return usagef("--deadline 0s leaves no time; give it some, such as 1m")
	}
	drain := c.bySession
	if c.byHTTP() {
		drain = c.byInterface
	}
	result, err := drain(ctx, std)
	if err != nil {
		return err
	}
	out := newPrinter(std.out)
	switch {
	case c.JSON:
		out.json(result)
	case result.Lost == "":
		out.line(oneLine(result.Node) + " has handed over its agents, and has left")
	}
	if result.Lost != "" {
		return failf("%s has left, but %s", oneLine(result.Node), oneLine(result.Lost))
	}
	return out.end()
}

// bySession asks the node at --addr, by a message.
func (c *drainCmd) bySession(ctx context.Context, std streams) (drained, error) {
	l, err := c.plan(std.err)
	if err != nil {
		return drained{}, err
	}
	result, err := c.ask(ctx, l)
	if err != nil {
		return drained{}, c.explain(l, err).failure()
	}
	return result, nil
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
		why.Text = l.who("") + " is another one: " + oneLine(r.Text) + "; give with --addr the address of " + c.Node + ", such as that of LINKS in ribosome members, or the http:// address of any node"
	}
	return why
}

func (c *drainCmd) ask(ctx context.Context, l *link) (result drained, err error) {
	err = l.during(ctx, c.Deadline, func(ctx context.Context) (err error) {
		result, err = request.Request[drained](ctx, l, systemAgent, drain{"drain", c.Node}, codons.WithGrace(receiptTime))
		if err != nil {
			return err
		}
		select {
		case <-l.session.Load().Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return result, err
}

// draining is an answer of the operator's interface.
type draining struct {
	drained
	Epoch   uint64 `json:"epoch"` // of the run of the node
	Outcome string `json:"outcome"`
}

// byInterface asks a node of the cluster by its operator's interface.
func (c *drainCmd) byInterface(ctx context.Context, _ streams) (drained, error) {
	flags, err := c.operator()
	if err != nil {
		return drained{}, err
	}
	o, ctx, done, err := flags.begin(ctx, c.Deadline)
	if err != nil {
		return drained{}, err
	}
	defer done()
	var asked struct{ Node string }
	if err := o.ask(ctx, http.MethodGet, "/api/node", nil, nil, &asked); err != nil {
		return drained{}, err
	}
	a := draining{Outcome: "draining"}
	for begun := false; a.Outcome == "draining"; begun = true {
		err := o.ask(ctx, http.MethodPost, "/api/node/drain", url.Values{"node": {c.Node}}, struct{}{}, &a)
		switch {
		case err != nil && begun && ctx.Err() == nil:
			return drained{}, failf("%s drains, and its answer was lost (%v); its log says what it could not hand over", oneLine(a.Node), err)
		case err != nil:
			return drained{}, err
		}
	}
	return a.drained, c.left(ctx, o, a, asked.Node == a.Node)
}

// leftAgain is the time between two looks at the members.
const leftAgain = 100 * time.Millisecond

// left waits until a node that has drained is no member any more. The one that is asked may be that
// node: then it waits until that ends.
func (c *drainCmd) left(ctx context.Context, o *operator, a draining, asked bool) error {
	for {
		var all struct {
			Members []struct {
				Node  string `json:"node"`
				Epoch uint64 `json:"epoch"`
			} `json:"members"`
		}
		err := o.ask(ctx, http.MethodGet, "/api/members", nil, nil, &all)
		switch {
		case err != nil && asked && ctx.Err() == nil && !is[*apiError](err):
			return nil
		case err != nil:
			return err
		}
		member := false
		for _, m := range all.Members {
			member = member || m.Node == a.Node && m.Epoch == a.Epoch
		}
		if !member {
			return nil
		}
		select {
		case <-time.After(leftAgain):
		case <-ctx.Done():
			return o.explain(ctx, ctx.Err())
		}
	}
}
