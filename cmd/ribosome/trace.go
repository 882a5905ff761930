package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/api"
)

// traceCmd is ribosome trace.
type traceCmd struct {
	ID string `arg:"" type:"name" help:"Conversation, as ribosome conversations lists it, or a trace id of the Agentic RAG specification"`

	JSON     bool          `name:"json" help:"Print one JSON array: the conversations of the tree, each before those that it began"`
	Deadline time.Duration `default:"10s" type:"positive" help:"How long the node may take"`

	operatorFlags `group:"The operator's interface of the node:"`
}

// traced is a conversation of the tree.
type traced struct {
	api.ConversationView
	depth int
	last  bool // it is the last one of its parent
}

// run prints the tree of a conversation, and then each conversation of it.
func (c *traceCmd) run(ctx context.Context, std streams) error {
	o, ctx, done, err := c.begin(ctx, c.Deadline)
	if err != nil {
		return err
	}
	defer done()
	shown, tree, err := treeAround(ctx, o, performatives.ConversationID(c.ID))
	if err != nil {
		return err
	}
	all := inOrder(&tree)
	for i := range all {
		if err := all[i].complete(ctx, o); err != nil {
			return err
		}
	}
	out := newPrinter(std.out)
	if c.JSON {
		out.json(all)
	} else {
		out.text(treeOf(all, shown))
	}
	for _, one := range all {
		if !c.JSON {
			out.text("\n" + sequence(&one.ConversationView))
		}
		tree.Missing = append(tree.Missing, one.Missing...)
	}
	slices.SortStableFunc(tree.Missing, func(a, b api.Absent) int { return cmp.Compare(a.Node, b.Node) })
	tellMissing(std, slices.CompactFunc(tree.Missing, func(a, b api.Absent) bool { return a.Node == b.Node }))
	if tree.Truncated {
		newPrinter(std.err).line(fmt.Sprintf("ribosome: the tree has more than %d conversations; trace one further down", len(all)))
	}
	return out.end()
}

// treeAround returns the tree of a conversation, by its id or by a trace id of one of its messages,
// and its id.
func treeAround(ctx context.Context, o *operator, id performatives.ConversationID) (shown performatives.ConversationID, tree api.TreeView, err error) {
	ask := func(id performatives.ConversationID) (api.TreeView, error) {
		return get[api.TreeView](ctx, o, "/api/conversations/"+url.PathEscape(string(id))+"/tree", nil)
	}
	tree, err = ask(id)
	if unknown, ok := errors.AsType[*apiError](err); !ok || unknown.status != http.StatusNotFound {
		return id, tree, err
	}
	trace, none := get[observe.Trace](ctx, o, "/api/traces/"+url.PathEscape(string(id)), nil)
	if none != nil || len(trace.Messages) == 0 {
		return id, tree, err
	}
	of := trace.Messages[0].Conversation
	for _, m := range trace.Messages {
		if m.TraceID == string(id) {
			of = m.Conversation
		}
	}
	tree, err = ask(of)
	return of, tree, err
}

// inOrder returns the conversations of the tree, each before those that it began.
func inOrder(t *api.TreeView) []traced {
	all := []traced{}
	below := map[performatives.ConversationID][]observe.Conversation{}
	var root []observe.Conversation
	for _, c := range t.Conversations {
		if c.ID == t.Root {
			root = []observe.Conversation{c}
			continue
		}
		below[c.Parent] = append(below[c.Parent], c)
	}
	var add func(level []observe.Conversation, depth int)
	add = func(level []observe.Conversation, depth int) {
		for i, c := range level {
			all = append(all, traced{api.ConversationView{Conversation: c}, depth, i == len(level)-1})
			next := below[c.ID]
			delete(below, c.ID) // once, also of a tree that a node describes as a circle
			add(next, depth+1)
		}
	}
	add(root, 0)
	return all
}

// complete asks for the messages of the conversation. One that was forgotten meanwhile stays as it
// is.
func (t *traced) complete(ctx context.Context, o *operator) error {
	c, err := get[api.ConversationView](ctx, o, "/api/conversations/"+url.PathEscape(string(t.ID)), nil)
	if unknown, ok := errors.AsType[*apiError](err); ok && unknown.status == http.StatusNotFound {
		return nil
	}
	if err == nil {
		t.ConversationView = c
	}
	return err
}

// treeOf draws the tree, with a mark at one conversation.
func treeOf(all []traced, mark performatives.ConversationID) string {
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
		line := indent + oneLine(summary(&one.Conversation))
		if one.ID == mark && len(all) > 1 {
			line += "  ←"
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// sequence returns the messages of a conversation, one a line.
func sequence(c *api.ConversationView) string {
	var b strings.Builder
	b.WriteString(oneLine(summary(&c.Conversation)) + "\n")
	if c.Forgotten > 0 {
		fmt.Fprintf(&b, "  (%d messages before are not kept)\n", c.Forgotten)
	}
	var rows [][]string
	for _, m := range c.Messages {
		rows = append(rows, []string{"  " + m.Time.Local().Format("15:04:05.000"), oneLine(string(m.Sender + " → " + cmp.Or(m.Receiver, "all"))), oneLine(whatOf(&m)), oneLine(contentOf(&m))})
	}
	b.WriteString(table(rows))
	for _, f := range slices.Backward(c.Failures) { // the oldest first, as the messages are
		b.WriteString("  " + failureText(&f))
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
			b.WriteString("  next for " + oneLine(string(n.Agent)+": "+strings.Join(n.Moves, ", ")) + "\n")
		}
	}
	return b.String()
}

// whatOf returns the act of a message, its type, and what became of it.
func whatOf(m *observe.Message) string {
	text := m.Performative
	if m.MessageType != "" && m.MessageType != m.Performative {
		text += " " + m.MessageType
	}
	if m.Sent > 1 {
		text += fmt.Sprintf(" (sent %d times)", m.Sent)
	}
	if m.Refused != "" {
		text += " (refused: " + string(m.Refused) + ")"
	}
	return text
}

// contentOf returns the payload of a message.
func contentOf(m *observe.Message) string {
	if m.LeftOut != "" {
		return "(left out: " + m.LeftOut + ")"
	}
	return string(plainJSON(m.Payload))
}
