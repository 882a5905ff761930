package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// traceCmd is ribosome trace.
type traceCmd struct {
	ID string `arg:"" help:"Conversation, as ribosome conversations lists it, or a trace id of the Agentic RAG specification"`

	JSON     bool          `name:"json" help:"Print one JSON array: the conversations of the tree, each before those that it began"`
	Deadline time.Duration `default:"10s" help:"How long the node may take"`

	operatorFlags `group:"The operator's interface of the node:"`
}

// The bounds of a trace.
const (
	mostAbove  = 100  // conversations above the one that is asked for
	mostTraced = 1000 // conversations of the tree
)

// traced is a conversation of the tree.
type traced struct {
	seenConversation
	depth int
	last  bool // it is the last one of its parent
}

// run prints the tree of a conversation, and then each conversation of it.
func (c *traceCmd) run(ctx context.Context, std streams) error {
	if c.ID == "" {
		return usagef("the conversation may not be empty; see ribosome conversations for a list")
	}
	o, ctx, done, err := c.begin(ctx, c.Deadline)
	if err != nil {
		return err
	}
	defer done()
	shown, err := conversationOf(ctx, o, c.ID)
	if err != nil {
		return err
	}
	root, err := rootOf(ctx, o, shown)
	if err != nil {
		return err
	}
	all, cut, err := below(ctx, o, root)
	if err != nil {
		return err
	}
	missing := map[string]absentNode{}
	out := newPrinter(std.out)
	if texts := make([]json.RawMessage, len(all)); c.JSON {
		for i, one := range all {
			texts[i] = one.raw
		}
		out.json(texts)
	} else {
		out.text(treeOf(all, shown.ID))
	}
	for _, one := range all {
		if !c.JSON {
			out.text("\n" + one.sequence())
		}
		for _, n := range one.Missing {
			missing[n.Node] = n
		}
	}
	for _, n := range missing {
		tellMissing(std, []absentNode{n})
	}
	if cut {
		newPrinter(std.err).line(fmt.Sprintf("ribosome: the tree has more than %d conversations; trace one further down", mostTraced))
	}
	return out.end()
}

// conversation asks for one conversation.
func (o *operator) conversation(ctx context.Context, id string) (c seenConversation, err error) {
	err = o.ask(ctx, "GET", "/api/conversations/"+url.PathEscape(id), nil, nil, &c)
	return c, err
}

// conversationOf returns a conversation by its id, or by a trace id of one of its messages.
func conversationOf(ctx context.Context, o *operator, id string) (seenConversation, error) {
	c, err := o.conversation(ctx, id)
	if unknown, ok := errors.AsType[*apiError](err); !ok || unknown.status != http.StatusNotFound {
		return c, err
	}
	var trace struct {
		Trace    string `json:"trace"`
		Messages []struct {
			TraceID      string `json:"trace_id"`
			Conversation string `json:"conversation_id"`
		} `json:"messages"`
	}
	if o.ask(ctx, "GET", "/api/traces/"+url.PathEscape(id), nil, nil, &trace) != nil || len(trace.Messages) == 0 {
		return c, err
	}
	of := trace.Messages[0].Conversation
	for _, m := range trace.Messages {
		if m.TraceID == id {
			of = m.Conversation
		}
	}
	return o.conversation(ctx, of)
}

// rootOf returns the topmost conversation above one that the node still knows.
func rootOf(ctx context.Context, o *operator, top seenConversation) (seenConversation, error) {
	for range mostAbove {
		if top.Parent == "" {
			break
		}
		parent, above := o.conversation(ctx, top.Parent)
		var unknown *apiError
		switch {
		case errors.As(above, &unknown) && unknown.status == http.StatusNotFound: // it is forgotten, or of a node that keeps none
			return top, nil
		case above != nil:
			return top, above
		}
		top = parent
	}
	return top, nil
}

// below returns a conversation and those that it began, each before its own.
func below(ctx context.Context, o *operator, root seenConversation) (all []traced, cut bool, err error) {
	known := map[string]bool{root.ID: true}
	var add func(one traced) error
	add = func(one traced) error {
		all = append(all, one)
		for i, id := range one.Children {
			if known[id] {
				continue
			}
			if len(all) >= mostTraced {
				cut = true
				return nil
			}
			known[id] = true
			child, err := o.conversation(ctx, id)
			var unknown *apiError
			if errors.As(err, &unknown) && unknown.status == http.StatusNotFound { // it was forgotten meanwhile
				continue
			}
			if err == nil {
				err = add(traced{child, one.depth + 1, i == len(one.Children)-1})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return all, cut, add(traced{root, 0, true})
}

// treeOf draws the tree, with a mark at one conversation.
func treeOf(all []traced, mark string) string {
	var b strings.Builder
	var open []bool // by depth: whether further ones follow at that depth
	for _, one := range all {
		indent := ""
		if one.depth > 0 {
			for _, more := range open[1:one.depth] {
				indent += map[bool]string{true: "│  ", false: "   "}[more]
			}
			indent += map[bool]string{true: "└─ ", false: "├─ "}[one.last]
		}
		open = append(open[:one.depth], !one.last)
		line := indent + oneLine(one.summary())
		if one.ID == mark && len(all) > 1 {
			line += "  ←"
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// sequence returns the messages of a conversation, one a line.
func (c *seenConversation) sequence() string {
	var b strings.Builder
	b.WriteString(oneLine(c.summary()) + "\n")
	if c.Forgotten > 0 {
		fmt.Fprintf(&b, "  (%d messages before are not kept)\n", c.Forgotten)
	}
	var rows [][]string
	for _, m := range c.Messages {
		rows = append(rows, []string{"  " + m.Time.Local().Format("15:04:05.000"), oneLine(m.Sender + " → " + cmp.Or(m.Receiver, "all")), oneLine(m.what()), oneLine(m.content())})
	}
	b.WriteString(table(rows))
	for _, f := range slices.Backward(c.Failures) { // the oldest first, as the messages are
		b.WriteString("  " + f.text())
	}
	for _, a := range c.Acts {
		text := fmt.Sprintf("%s by %s (%s): %s", a.What, cmp.Or(a.Who, "an operator"), a.Host, a.Result)
		if a.Reason != "" {
			text += ", because " + a.Reason
		}
		b.WriteString("  " + a.Time.Local().Format("15:04:05.000") + "  " + oneLine(text) + "\n")
	}
	for _, n := range c.Next {
		if len(n.Moves) > 0 {
			b.WriteString("  next for " + oneLine(n.Agent+": "+strings.Join(n.Moves, ", ")) + "\n")
		}
	}
	return b.String()
}

// what returns the act of a message, its type, and what became of it.
func (m *seenMessage) what() string {
	text := m.Act
	if m.Type != "" && m.Type != m.Act {
		text += " " + m.Type
	}
	if m.Sent > 1 {
		text += fmt.Sprintf(" (sent %d times)", m.Sent)
	}
	if m.Refused != "" {
		text += " (refused: " + m.Refused + ")"
	}
	return text
}

// content returns the payload of a message.
func (m *seenMessage) content() string {
	if m.LeftOut != "" {
		return "(left out: " + m.LeftOut + ")"
	}
	return string(plainJSON(m.Payload))
}
