package main

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
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

// run delegates the task, and prints its result.
func (c *callCmd) run(ctx context.Context, std streams) error {
	task, err := c.task(std)
	if err != nil {
		return err
	}
	if c.Deadline <= 0 {
		return usagef("--deadline 0s leaves no time; give it some, such as 30s")
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	l.task = true
	out := newPrinter(std.out)
	result, err := c.delegate(ctx, l, task, newProgress(std.err, c.Quiet))
	return c.report(out, l, result, l.explain(err, c.Agent))
}

// task returns the task of the flags.
func (c *callCmd) task(std streams) (task performatives.TaskRequest, err error) {
	task = performatives.TaskRequest{TaskType: c.Action, Description: c.Description}
	if c.Agent == "" || c.Action == "" {
		return task, usagef("the agent and its action may not be empty; see ribosome agents for what there is")
	}
	if c.Data == "" {
		return task, nil
	}
	task.Parameters, err = readObject("--data", c.Data, std.in)
	return task, err
}

// receiptTime is the time for the receipt of the worker after an interrupt.
const receiptTime = 3 * time.Second

// delegate joins the node, and waits for the end of the task.
func (c *callCmd) delegate(ctx context.Context, l *link, task performatives.TaskRequest, p *progress) (performatives.InformResult, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	if err := l.join(ctx); err != nil {
		return performatives.InformResult{}, err
	}
	defer l.leave()
	return delegation.Delegate(ctx, l, performatives.AgentID(c.Agent), task,
		delegation.WithAccepted(p.accepted), delegation.WithProgress(p.update), codons.WithGrace(receiptTime))
}
