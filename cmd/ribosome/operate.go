package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// cancelCmd is ribosome cancel.
type cancelCmd struct {
	ID string `arg:"" type:"name" help:"Conversation, as ribosome conversations lists it"`

	Reason   string        `placeholder:"TEXT" help:"Reason for the record and for the agents; on a terminal it is asked for"`
	JSON     bool          `name:"json" help:"Print one JSON object: the outcome and the state"`
	Deadline time.Duration `default:"40s" type:"positive" help:"How long the receipt may take"`

	operatorFlags `group:"The operator's interface of the node:"`
}

// run cancels the conversation, and waits for the receipt.
func (c *cancelCmd) run(ctx context.Context, std streams) error {
	reason, err := askReason(ctx, std, c.Reason)
	if err != nil {
		return err
	}
	var a api.CancelView
	err = c.act(ctx, c.Deadline, "/api/conversations/"+url.PathEscape(c.ID)+"/cancel", nil, struct {
		Reason string `json:"reason,omitempty"`
	}{reason}, &a)
	if err != nil {
		return err
	}
	tellMissing(std, a.Missing)
	out := newPrinter(std.out)
	text := map[string]string{
		"receipt":       "cancelled: nothing of it runs any more",
		"already_ended": strings.TrimSuffix("it had ended before: "+a.State, ": "),
	}[a.Outcome]
	switch {
	case c.JSON:
		out.json(a)
	case text != "":
		out.line(text)
	}
	if text == "" {
		return failf("there is no receipt: parts of it may still run (%s)", a.Outcome)
	}
	return out.end()
}

// askReason asks on a terminal for the reason of an act that a flag does not give. An empty line is
// none.
func askReason(ctx context.Context, std streams, given string) (string, error) {
	if given != "" || !terminal.Is(std.in) {
		return given, nil
	}
	newPrinter(std.err).text("Reason, for the record and for the agents: ")
	line, err := newPrompt("", std).line(ctx)
	if errors.Is(err, errNoAnswer) {
		return "", nil
	}
	return line, err
}

// act has the node do something.
func (f *operatorFlags) act(ctx context.Context, deadline time.Duration, path string, query url.Values, body, into any) error {
	o, ctx, done, err := f.begin(ctx, deadline)
	if err != nil {
		return err
	}
	defer done()
	return o.ask(ctx, http.MethodPost, path, query, body, into)
}

// approvalsCmd is ribosome approvals.
type approvalsCmd struct {
	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// run prints the steps that wait.
func (c *approvalsCmd) run(ctx context.Context, std streams) error {
	answer, err := view[api.ApprovalList](ctx, &c.operatorFlags, c.Deadline, "/api/approvals")
	if err != nil {
		return err
	}
	tellMissing(std, answer.Missing)
	return c.print(std, answer.Approvals, approvalRows(answer.Approvals))
}

func approvalRows(all []api.StepView) [][]string {
	rows := [][]string{{"NUMBER", "NODE", "FROM", "SINCE", "UNTIL", "CONVERSATION", "STEP"}}
	for _, s := range all {
		until := "-"
		if !s.Until.IsZero() {
			until = s.Until.Local().Format(time.DateTime)
		}
		rows = append(rows, []string{strconv.Itoa(s.ID), oneLine(s.Node), oneLine(string(s.From)), s.Since.Local().Format(time.DateTime), until, oneLine(string(cmp.Or(s.Conversation, "-"))), oneLine(string(plainJSON(s.Step)))})
	}
	return rows
}

// decisionFlags says which step is decided, and why.
type decisionFlags struct {
	Number int `arg:"" help:"Number of the step, as ribosome approvals lists it"`

	On       string        `placeholder:"NODE" help:"Node of the step, in a cluster; without it, the node at --addr"`
	Reason   string        `placeholder:"TEXT" help:"Reason for the record and for the agent; on a terminal it is asked for"`
	JSON     bool          `name:"json" help:"Print one JSON object: the decision"`
	Deadline time.Duration `default:"10s" type:"positive" help:"How long the node may take"`

	operatorFlags `group:"The operator's interface of the node:"`
}

// decision is what approve and deny print with --json.
type decision struct {
	ID       int    `json:"id"`
	Node     string `json:"node,omitempty"` // empty for the node at --addr
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

// approveCmd is ribosome approve.
type approveCmd struct{ decisionFlags }

// run approves the step.
func (c *approveCmd) run(ctx context.Context, std streams) error { return c.decide(ctx, std, true) }

// denyCmd is ribosome deny.
type denyCmd struct{ decisionFlags }

// run denies the step.
func (c *denyCmd) run(ctx context.Context, std streams) error { return c.decide(ctx, std, false) }

func (c *decisionFlags) decide(ctx context.Context, std streams, approve bool) error {
	var err error
	if c.Reason, err = askReason(ctx, std, c.Reason); err != nil {
		return err
	}
	var a struct{ Status string }
	err = c.act(ctx, c.Deadline, fmt.Sprint("/api/approvals/", c.Number), parameters(map[string]string{"node": c.On}), struct {
		Approve bool   `json:"approve"`
		Reason  string `json:"reason"`
	}{approve, c.Reason}, &a)
	if err != nil {
		return err
	}
	out := newPrinter(std.out)
	if c.JSON {
		out.json(decision{c.Number, c.On, approve, c.Reason})
		return out.end()
	}
	out.line(map[bool]string{true: "approved", false: "denied"}[approve])
	return out.end()
}
