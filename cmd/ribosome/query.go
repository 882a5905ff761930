package main

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// queryCmd is ribosome query.
type queryCmd struct {
	Agent     string `arg:"" type:"name" help:"Agent that is asked"`
	Reference string `arg:"" optional:"" help:"What the value is asked of (QUERY_REF), such as agents"`

	If       string        `name:"if" placeholder:"JSON" help:"Condition of which it is asked whether it is true (QUERY_IF), in place of a reference: JSON as it is, @FILE, or @- for stdin"`
	Deadline time.Duration `default:"1m" type:"positive" help:"How long the answer may take"`
	JSON     bool          `name:"json" help:"Print one JSON object: the outcome, the value, the error"`

	clientFlags `group:"The node:"`
}

// queried is the end of a query, as --json prints it.
type queried struct {
	Outcome string          `json:"outcome"` // answered, or the terminal state without a value
	Value   json.RawMessage `json:"value"`   // null without an answer
	Error   *problem        `json:"error"`
}

// run asks the agent, and prints its answer.
func (c *queryCmd) run(ctx context.Context, std streams) error {
	condition, err := c.condition(std.in)
	if err != nil {
		return err
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	value, err := c.ask(ctx, l, condition)
	why := l.explain(err, c.Agent)
	out := newPrinter(std.out)
	switch {
	case c.JSON && why != nil:
		out.json(queried{Outcome: why.Outcome, Error: why})
	case c.JSON:
		out.json(queried{Outcome: string(standard.StateAnswered), Value: value})
	case why == nil:
		out.text(indented(performatives.RawContent(value)) + "\n")
	}
	if why != nil {
		return why.failure()
	}
	return out.end()
}

// condition returns the condition of --if; an empty one for a reference.
func (c *queryCmd) condition(stdin io.Reader) (json.RawMessage, error) {
	switch {
	case c.Reference == "" && c.If == "":
		return nil, usagef("nothing to ask; give a reference, or a condition with --if")
	case c.Reference != "" && c.If != "":
		return nil, usagef("there is a reference, and --if has a condition; leave one")
	case c.If == "":
		return nil, nil
	}
	return readJSON("--if", c.If, stdin, wire.DefaultMaxFrame)
}

// ask joins the node, and waits for the answer.
func (c *queryCmd) ask(ctx context.Context, l *link, condition json.RawMessage) (value json.RawMessage, err error) {
	to := performatives.AgentID(c.Agent)
	err = l.during(ctx, c.Deadline, func(ctx context.Context) (err error) {
		if condition == nil {
			value, err = query.Ref[json.RawMessage](ctx, l, to, c.Reference, codons.WithGrace(receiptTime))
			return err
		}
		truth, err := query.If(ctx, l, to, performatives.RawContent(condition), codons.WithGrace(receiptTime))
		value = strconv.AppendBool(nil, truth)
		return err
	})
	return value, err
}
