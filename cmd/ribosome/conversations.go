package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// conversationsCmd is ribosome conversations.
type conversationsCmd struct {
	Agent string `placeholder:"NAME" help:"Only those with a side of this agent"`
	Act   string `placeholder:"ACT" help:"Only those with a message of this act or message type"`
	Codon string `placeholder:"NAME" help:"Only those of this codon, such as task-delegation"`
	State string `placeholder:"STATE" help:"Only those with a side in this state"`
	Text  string `placeholder:"TEXT" help:"Only those with this text in their id or in a payload"`
	Live  bool   `help:"Only those that are under way, or whose end no node can know"`
	Limit int    `default:"50" type:"positive" help:"Most that are listed, the latest first"`

	listFlags

	operatorFlags `group:"The operator's interface of the node:"`
}

// failureText returns a failure in one line, and the stack of a panic below it.
func failureText(f *observe.Failure) string {
	return f.Time.Local().Format("15:04:05.000") + "  " + oneLine(fmt.Sprintf("%s %s failed: %s", f.Agent, f.Job, f.Reason)) + "\n" + stackOf(f.Stack)
}

// stackOf returns the lines of a stack, indented.
func stackOf(stack string) string {
	var b strings.Builder
	for line := range strings.Lines(stack) {
		b.WriteString("      " + strings.Repeat("  ", strings.Count(line, "\t")) + oneLine(line) + "\n")
	}
	return b.String()
}

// run prints the conversations.
func (c *conversationsCmd) run(ctx context.Context, std streams) error {
	o, ctx, done, err := c.begin(ctx, c.Deadline)
	if err != nil {
		return err
	}
	defer done()
	all, missing, err := c.list(ctx, o)
	if err != nil {
		return err
	}
	tellMissing(std, missing)
	return c.print(std, all, conversationRows(all))
}

// list asks for as many pages as are needed.
func (c *conversationsCmd) list(ctx context.Context, o *operator) (all []observe.Conversation, missing []api.Absent, err error) {
	all = []observe.Conversation{} // --json prints an empty list, not null
	query := parameters(map[string]string{"agent": c.Agent, "act": c.Act, "codon": c.Codon, "state": c.State, "text": c.Text})
	if c.Live {
		query.Set("live", "true")
	}
	const largest = 1000 // of a page
	for more := true; more; {
		query.Set("limit", strconv.Itoa(min(largest, c.Limit-len(all))))
		page, err := get[api.ConversationList](ctx, o, "/api/conversations", query)
		if err != nil {
			return nil, nil, err
		}
		all, missing = append(all, page.Conversations...), page.Missing
		query.Set("cursor", page.Next)
		more = page.Next != "" && len(all) < c.Limit
	}
	return all, missing, nil
}

func conversationRows(all []observe.Conversation) [][]string {
	rows := [][]string{{"BEGAN", "STATE", "CODON", "FROM", "TO", "MESSAGES", "CONVERSATION"}}
	for _, c := range all {
		from, to := between(&c)
		rows = append(rows, []string{
			c.Began.Local().Format(time.DateTime), oneLine(stateOf(&c)), oneLine(cmp.Or(c.Protocol, "-")), oneLine(string(from)), oneLine(string(to)),
			strconv.Itoa(c.Count), oneLine(string(c.ID)),
		})
	}
	return rows
}

// between returns the initiator and the responder of a conversation: the sender and the receiver of
// its first message if no side is known. A hyphen stands for an unknown agent, and all for the
// receivers of a broadcast.
func between(c *observe.Conversation) (from, to performatives.AgentID) {
	for _, s := range c.Sides {
		if s.Role == "initiator" {
			return s.Agent, cmp.Or(s.Peer, "-")
		}
		from, to = s.Peer, s.Agent
	}
	if len(c.Sides) == 0 && c.From != "" {
		return c.From, cmp.Or(c.To, "all")
	}
	return cmp.Or(from, "-"), cmp.Or(to, "-")
}

// stateOf returns the states of the sides: one word if they agree.
func stateOf(c *observe.Conversation) string {
	switch {
	case c.Lost != "":
		return "lost"
	case c.Relayed:
		return "unknown"
	}
	var states []string
	for _, s := range c.Sides {
		if len(states) == 0 || states[len(states)-1] != s.State {
			states = append(states, s.State)
		}
	}
	return cmp.Or(strings.Join(states, "/"), "-")
}

// summary returns a conversation in one line.
func summary(c *observe.Conversation) string {
	from, to := between(c)
	took := ""
	switch {
	case c.Lost != "":
		took = ": " + c.Lost
	case !c.Live && !c.Relayed:
		took = ", " + c.Updated.Sub(c.Began).Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%s  %s  %s → %s  %s%s", c.ID, cmp.Or(c.Protocol, "-"), from, to, stateOf(c), took)
}
