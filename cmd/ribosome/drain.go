package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/request"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// drainCmd is ribosome drain.
type drainCmd struct {
	Node string `arg:"" type:"name" help:"Name of the node: that at --addr, or with --addr http:// or https:// any of its cluster"`

	JSON     bool          `name:"json" help:"Print one JSON object: the node, and which agents were lost"`
	Deadline time.Duration `default:"1m" type:"positive" help:"How long the node may take"`

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
	asked, err := get[api.NodeView](ctx, o, "/api/node", nil)
	if err != nil {
		return drained{}, err
	}
	a := api.DrainView{Outcome: "draining"}
	for begun := false; a.Outcome == "draining"; begun = true {
		err := o.ask(ctx, http.MethodPost, "/api/node/drain", url.Values{"node": {c.Node}}, struct{}{}, &a)
		switch {
		case err != nil && begun && ctx.Err() == nil:
			return drained{}, failf("%s drains, and its answer was lost (%v); its log says what it could not hand over", oneLine(a.Node), err)
		case err != nil:
			return drained{}, err
		}
	}
	return drained{a.Node, a.Lost}, c.left(ctx, o, a, asked.Node == a.Node)
}

// leftAgain is the time between two looks at the members.
const leftAgain = 100 * time.Millisecond

// left waits until a node that has drained is no member any more. The one that is asked may be that
// node: then it waits until that ends.
func (c *drainCmd) left(ctx context.Context, o *operator, a api.DrainView, asked bool) error {
	for {
		all, err := get[api.MemberList](ctx, o, "/api/members", nil)
		switch {
		case err != nil && asked && ctx.Err() == nil && !is[*apiError](err):
			return nil
		case err != nil:
			return err
		}
		if !slices.ContainsFunc(all.Members, func(m api.MemberView) bool { return m.Name == a.Node && m.Epoch == a.Epoch }) {
			return nil
		}
		if !pause(ctx, leftAgain) {
			return o.explain(ctx, ctx.Err())
		}
	}
}
