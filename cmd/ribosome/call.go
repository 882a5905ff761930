package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// callCmd is ribosome call.
type callCmd struct {
	Agent  string `arg:"" type:"name" help:"Agent that is to perform the task"`
	Action string `arg:"" type:"name" help:"Kind of task, such as debug_code"`

	Data        string        `short:"d" placeholder:"JSON" help:"Parameters of the task: JSON as it is, @FILE, or @- for stdin"`
	Description string        `placeholder:"TEXT" help:"What the task is about, for people"`
	Input       string        `placeholder:"FILE" help:"Answers to questions of the agent: JSON objects or strings, one for each question; - for stdin. Without it, a terminal is asked"`
	Deadline    time.Duration `default:"5m" type:"positive" help:"How long it may take"`
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
	result, why := c.delegate(ctx, l, answers, &progress{std.notes(c.Quiet)})
	return c.report(out, l, result, why)
}

// task returns the task of the flags.
func (c *callCmd) task(std streams) (task performatives.TaskRequest, err error) {
	task = performatives.TaskRequest{TaskType: c.Action, Description: c.Description}
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
	result, unserved, err := c.perform(ctx, l, asked, p)
	if question := result.RequestForUser(); err == nil && question != "" {
		return result, asked.unanswered(l, c.Agent, question, unserved)
	}
	return result, l.explain(err, c.Agent)
}

// perform returns the result of the task. unserved is the reason why the worker did not continue
// after an answer.
func (c *callCmd) perform(ctx context.Context, l *link, asked *answers, p *progress) (result performatives.InformResult, unserved, err error) {
	err = l.during(ctx, c.Deadline, func(ctx context.Context) error {
		d, err := delegation.Start(ctx, l, performatives.AgentID(c.Agent), asked.task,
			delegation.WithAccepted(p.accepted), delegation.WithProgress(p.update), delegation.WithInput(asked.give), codons.WithGrace(receiptTime))
		if err != nil {
			return err
		}
		result, err = d.Wait()
		unserved = d.Unserved()
		return err
	})
	return result, unserved, err
}

// progress prints the messages of a worker before its result, one line each.
type progress struct{ to *printer }

// accepted prints that the worker has accepted the task.
func (p *progress) accepted(a performatives.TaskAccept) {
	line := "accepted"
	if !a.Estimate.IsZero() {
		line += fmt.Sprintf(", about %v", a.Estimate.Duration())
	}
	p.say(line, a.Comments)
}

// update prints the progress of the worker.
func (p *progress) update(u performatives.StatusUpdate) {
	line := "progress"
	if u.Progress != nil {
		line = fmt.Sprintf("%3.0f%%", *u.Progress)
	}
	p.say(line, u.Description)
}

func (p *progress) say(line, text string) {
	if text != "" {
		line += ": " + oneLine(text)
	}
	p.to.text(line + "\n")
}

// ended is the end of a call, as --json prints it.
type ended struct {
	Outcome string                      `json:"outcome"` // a task_status, or the terminal state without a result
	Result  *performatives.InformResult `json:"result"`
	Error   *problem                    `json:"error"`
}

// report prints the end of a call, and returns the error that ends the program.
func (c *callCmd) report(out *printer, l *link, r performatives.InformResult, why *problem) error {
	switch {
	case c.JSON && why != nil && r.Status == "":
		out.json(ended{Outcome: why.Outcome, Error: why})
	case c.JSON:
		out.json(ended{Outcome: string(r.Status), Result: &r, Error: why})
	case r.Status != "":
		out.text(resultText(r))
	}
	if why != nil {
		return why.failure()
	}
	if r.Status == performatives.StatusFailure {
		return failf("%s did the work, and its answer is no: %s", l.responder(c.Agent), r.Summary)
	}
	return out.end()
}

// resultText returns a result as text for people.
func resultText(r performatives.InformResult) string {
	var b strings.Builder
	b.WriteString(string(r.Status))
	if r.Summary != "" {
		b.WriteString(": " + strings.TrimRight(r.Summary, "\n"))
	}
	b.WriteString("\n")
	if need := r.RequestForUser(); need != "" {
		b.WriteString("\nneeded: " + strings.TrimRight(need, "\n") + "\n")
	}
	if !r.Details.IsZero() {
		b.WriteString("\n" + indented(r.Details) + "\n")
	}
	if len(r.Artifacts) > 0 {
		b.WriteString("\nartifacts:\n" + artifacts(r.Artifacts))
	}
	return b.String()
}

// indented returns content as indented JSON.
func indented(c performatives.Content) string {
	text, err := c.MarshalJSON()
	if err != nil {
		return "(details that cannot be shown)"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, plainJSON(text), "", "  "); err != nil {
		return "(details that cannot be shown)"
	}
	return b.String()
}

// artifacts lists the artifacts of a task by name; --json prints their content.
func artifacts(all []performatives.Artifact) string {
	rows := make([][]string, len(all))
	for i, a := range all {
		name := a.Path
		if name == "" {
			name = "(without a name)"
		}
		rows[i] = []string{"  " + oneLine(name), oneLine(a.Type), fmt.Sprintf("%d characters", utf8.RuneCountInString(a.Content))}
	}
	return table(rows)
}
