package main

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// callCmd is ribosome call.
type callCmd struct {
	Agent  string `arg:"" help:"Agent that is to perform the task"`
	Action string `arg:"" help:"Kind of task, such as debug_code"`

	Data        string        `short:"d" placeholder:"JSON" help:"Parameters of the task: JSON as it is, @FILE, or @- for stdin"`
	Description string        `placeholder:"TEXT" help:"What the task is about, for people"`
	Deadline    time.Duration `default:"5m" help:"How long it may take"`
	JSON        bool          `name:"json" help:"Print one JSON object: the outcome, the result, the error"`
	Quiet       bool          `short:"q" help:"Print no progress"`

	clientFlags `group:"The node:"`
}

// run delegates the task, and prints what came of it.
func (c *callCmd) run(ctx context.Context, std streams) error {
	task, err := c.task(std)
	if err != nil {
		return err
	}
	if c.Deadline <= 0 {
		return usagef("--deadline 0s leaves no time; give it some, such as 30s")
	}
	l, err := c.plan()
	if err != nil {
		return err
	}
	out := newPrinter(std.out)
	result, err := c.delegate(ctx, l, task, newProgress(std.err, c.Quiet))
	return c.report(out, result, l.explain(err, c.Agent))
}

// task makes the task of the flags.
func (c *callCmd) task(std streams) (performatives.TaskRequest, error) {
	task := performatives.TaskRequest{TaskType: c.Action, Description: c.Description}
	if c.Agent == "" || c.Action == "" {
		return task, usagef("the agent and its action may not be empty; see ribosome agents for what there is")
	}
	if c.Data == "" {
		return task, nil
	}
	data, err := readJSON("--data", c.Data, std.in, wire.DefaultMaxFrame)
	if err != nil {
		return task, err
	}
	task.Parameters = performatives.RawContent(data)
	return task, nil
}

// receiptTime is how long the worker has, after an interrupt, to say that it stopped.
const receiptTime = 3 * time.Second

// delegate joins the node, and waits for the end of the task.
func (c *callCmd) delegate(ctx context.Context, l *link, task performatives.TaskRequest, p *progress) (performatives.InformResult, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	if err := l.join(ctx); err != nil {
		return performatives.InformResult{}, err
	}
	defer l.leave()
	return codons.Delegate(ctx, l, performatives.AgentID(c.Agent), task,
		codons.WithAccepted(p.accepted), codons.WithProgress(p.update), codons.WithGrace(receiptTime))
}
