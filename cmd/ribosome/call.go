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
	Input       string        `placeholder:"FILE" help:"Answers to questions of the agent: JSON objects or strings, one for each question; - for stdin. Without it, a terminal is asked"`
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
	answers, err := c.answers(task, std)
	if err != nil {
		return err
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	l.task = true
	out := newPrinter(std.out)
	result, why := c.delegate(ctx, l, answers, newProgress(std.err, c.Quiet))
	return c.report(out, l, result, why)
}

// task returns the task of the flags.
func (c *callCmd) task(std streams) (task performatives.TaskRequest, err error) {
	task = performatives.TaskRequest{TaskType: c.Action, Description: c.Description}
	if c.Agent == "" || c.Action == "" {
		return task, usagef("the agent and its action may not be empty; see ribosome agents for what there is")
	}
	if c.Data == "@-" && c.Input == "-" {
		return task, usagef("--data and --input both read stdin; name a file for one")
	}
	if c.Data == "" {
		return task, nil
	}
	task.Parameters, err = readObject("--data", c.Data, std.in)
	return task, err
}

// receiptTime is the time for the receipt of the worker after an interrupt.
var receiptTime = 3 * time.Second // longer in tests

// delegate joins the node, and waits for the end of the task. A result that asks for input has a
// problem, too.
func (c *callCmd) delegate(ctx context.Context, l *link, asked *answers, p *progress) (performatives.InformResult, *problem) {
	ctx, cancel := context.WithTimeout(ctx, c.Deadline)
	defer cancel()
	result, unserved, err := c.perform(ctx, l, asked, p)
	if question := result.RequestForUser(); err == nil && question != "" {
		return result, asked.unanswered(l, c.Agent, question, unserved)
	}
	return result, l.explain(err, c.Agent)
}

// perform returns the result of the task. unserved is the reason why the worker did not continue
// after an answer.
func (c *callCmd) perform(ctx context.Context, l *link, asked *answers, p *progress) (result performatives.InformResult, unserved, err error) {
	if err := l.join(ctx); err != nil {
		return result, nil, err
	}
	defer l.leave()
	d, err := delegation.Start(ctx, l, performatives.AgentID(c.Agent), asked.task,
		delegation.WithAccepted(p.accepted), delegation.WithProgress(p.update), delegation.WithInput(asked.give), codons.WithGrace(receiptTime))
	if err != nil {
		return result, nil, err
	}
	result, err = d.Wait()
	return result, d.Unserved(), err
}
