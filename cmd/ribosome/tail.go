package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// tailCmd is ribosome tail.
type tailCmd struct {
	Agent        string `placeholder:"NAME" help:"Only what this agent sends, or is sent"`
	Act          string `placeholder:"ACT" help:"Only messages of this act or message type"`
	Codon        string `placeholder:"NAME" help:"Only what belongs to this codon, such as task-delegation"`
	Conversation string `placeholder:"ID" help:"Only what belongs to this conversation"`
	Steps        bool   `help:"Print the steps of conversations, too"`
	JSON         bool   `name:"json" help:"Print each event as one line of JSON"`

	operatorFlags `group:"The operator's interface of the node:"`
}

// live is the data of an event of the stream.
type live struct {
	Kind         string             `json:"kind"`
	Time         time.Time          `json:"time"`
	Conversation string             `json:"conversation_id"`
	Protocol     string             `json:"protocol"`
	Code         performatives.Code `json:"code"`
	Message      *observe.Message   `json:"message"`

	// Of a failure.
	Job    string  `json:"job"`
	Reason *string `json:"reason"`
	Stack  string  `json:"stack"`

	// Of a step or a failure.
	Agent string `json:"agent"`
	Role  string `json:"role"`
	From  string `json:"from"`
	To    string `json:"to"`
	On    string `json:"on"`

	// Of the load of a node.
	Refusing *bool  `json:"refusing"`
	Refused  uint64 `json:"refused"`
	Queued   int    `json:"queued"`
	Working  int    `json:"working"`

	// Of what the node says about the stream. State is that of a side that has ended, too.
	Node  string `json:"node"`
	State string `json:"state"`
	Why   string `json:"why"`
	Lost  uint64 `json:"lost"`
}

// run prints events until ctx ends. When the stream ends, it begins again.
func (c *tailCmd) run(ctx context.Context, std streams) error {
	o, err := c.plan()
	if err != nil {
		return err
	}
	defer o.close()
	query := parameters(map[string]string{"agent": c.Agent, "act": c.Act, "codon": c.Codon, "conversation": c.Conversation})
	ctx, cancel := terminal.UntilUnread(ctx, std.out)
	defer cancel()
	out, say := newPrinter(std.out), newPrinter(std.err)
	err = again(ctx, say, func(opened func()) error {
		return o.follow(ctx, query, opened, func(e serverEvent) error { return c.take(e, out, say) })
	}, rand.Float64)
	if ctx.Err() != nil || out.broken() {
		return out.end()
	}
	return err
}

// errNoReader is the error of a stream whose output is closed.
var errNoReader = errors.New("the output takes no more")

// again calls follow, which follows a stream until it ends and calls opened when the stream begins.
// It calls follow again after each end of the stream, after a wait that grows with each failed
// attempt. It returns when ctx has ended, when the first attempt fails, and when an attempt is
// refused or its output is closed.
func again(ctx context.Context, say *printer, follow func(opened func()) error, random func() float64) error {
	backoff := actors.Backoff{Jitter: 0.5}
	for attempt, first := 1, true; ; attempt++ {
		err := follow(func() {
			if !first {
				say.line("ribosome: the stream goes on; what happened in between is not in it")
			}
			attempt, first = 1, false
		})
		var refused *apiError
		if ctx.Err() != nil || first || errors.Is(err, errNoReader) || errors.As(err, &refused) {
			return err
		}
		wait := backoff.Delay(attempt, random)
		say.line(fmt.Sprintf("ribosome: %v; next attempt in %v", err, wait.Round(time.Millisecond)))
		if !pause(ctx, wait) {
			return err
		}
	}
}

// take prints one event. It returns an error when the output takes no more.
func (c *tailCmd) take(e serverEvent, out, say *printer) error {
	var v live
	if err := json.Unmarshal(e.data, &v); err != nil {
		return failf("an event of the node cannot be read: %v; use the version of ribosome that the node has", err)
	}
	switch {
	case e.name == "lost":
		say.line(fmt.Sprintf("ribosome: %d events of %s came faster than they were read, and were lost", v.Lost, cmp.Or(v.Node, "the node")))
	case e.name == "node" && v.State == "missing":
		say.line(fmt.Sprintf("ribosome: the events of the node %s are missing: %s", v.Node, v.Why))
	case e.name == "node":
		say.line(fmt.Sprintf("ribosome: the events of the node %s follow", v.Node))
	case v.Message == nil && v.Reason == nil && v.Refusing == nil && !c.Steps:
	case c.JSON:
		out.text(string(plainJSON(e.data)) + "\n")
	default:
		out.text(oneLine(v.line()) + "\n" + stackOf(v.Stack))
	}
	if out.broken() {
		return errNoReader
	}
	return nil
}

// line returns an event in one line.
func (v *live) line() string {
	at := v.Time.Local().Format("15:04:05.000")
	if m := v.Message; m != nil {
		m.Sent, m.Refused = 1, v.Code
		return fmt.Sprintf("%s  %s → %s  %s  %s  %s", at, m.Sender, cmp.Or(m.Receiver, "all"), whatOf(m), cmp.Or(v.Conversation, "-"), contentOf(m))
	}
	text := fmt.Sprintf("%s  %s  %s", at, cmp.Or(v.Agent, v.Node), v.Kind)
	switch {
	case v.Refusing != nil:
		what := "takes on all work again"
		if *v.Refusing {
			what = "refuses new work"
		}
		return fmt.Sprintf("%s  %s: %d requests refused since it started, %d handlers wait for a processor, %d run", text, what, v.Refused, v.Queued, v.Working)
	case v.Reason != nil:
		return fmt.Sprintf("%s  %s  %s  %s", text, cmp.Or(v.Job, "-"), cmp.Or(v.Conversation, "-"), *v.Reason)
	case v.To != "":
		text += fmt.Sprintf("  %s  %s → %s", v.Role, cmp.Or(v.From, "idle"), v.To)
	case v.State != "":
		text += fmt.Sprintf("  %s  %s", v.Role, v.State)
	}
	return text + "  " + cmp.Or(v.Conversation, "-")
}
