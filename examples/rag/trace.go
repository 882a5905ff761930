package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// trace keeps the conversations of a node as a tree (Trace Correlation).
type trace struct {
	events *events.Subscription
	done   chan struct{}
	byID   map[performatives.ConversationID]*traced // valid once done is closed
}

// traced is a conversation of a trace.
type traced struct {
	id           performatives.ConversationID
	parent       performatives.ConversationID
	kind         string // the type of its message, in the words of the specification
	receiver     performatives.AgentID
	state        machine.State // of the asker
	began, ended time.Time
	below        []*traced
}

// follow keeps the conversations of the node from now on. Its caller must call stop.
func follow(n *runtime.Node) *trace {
	t := &trace{done: make(chan struct{}), byID: make(map[performatives.ConversationID]*traced)}
	t.events = n.Events().Subscribe(events.SubscribeOptions{Capacity: 1 << 16, Kinds: []events.Kind{events.KindMessageSent, lifecycle.KindTransition}})
	go func() {
		defer close(t.done)
		for r := range t.events.C {
			t.note(r.Event)
		}
	}()
	return t
}

// stop ends the tracing. The events until now are noted when it returns. Stopping again does
// nothing.
func (t *trace) stop() {
	t.events.Close()
	<-t.done
}

func (t *trace) note(ev events.Event) {
	switch ev := ev.(type) {
	case events.MessageSent:
		task, err := performatives.PayloadAs[performatives.TaskRequest](ev.Message)
		if err != nil || ev.Message.Performative() != performatives.ActTaskRequest {
			return
		}
		c := t.conversation(ev.Message.ConversationID(), ev.Time)
		c.kind, c.receiver = strings.ToUpper(task.TaskType), ev.Message.Receiver()
	case lifecycle.Transition:
		c := t.conversation(ev.Conversation, ev.Time)
		if ev.Role == machine.Initiator {
			c.parent, c.state, c.ended = ev.Parent, ev.To, ev.Time
		}
	}
}

func (t *trace) conversation(id performatives.ConversationID, at time.Time) *traced {
	c := t.byID[id]
	if c == nil {
		c = &traced{id: id, began: at}
		t.byID[id] = c
	}
	return c
}

// write writes the tree below a conversation. The trace must be stopped.
func (t *trace) write(w io.Writer, root performatives.ConversationID) error {
	top := t.byID[root]
	if top == nil {
		return nil
	}
	for _, c := range t.byID {
		c.below = nil
	}
	for _, c := range t.byID {
		if parent := t.byID[c.parent]; parent != nil && parent != c {
			parent.below = append(parent.below, c)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	top.write(table, "", "")
	if n := t.events.Lost(); n > 0 {
		fmt.Fprintf(table, "%d events are missing: there were too many at once\n", n)
	}
	return table.Flush()
}

// maxBelow is how many conversations below one are shown.
const maxBelow = 8

func (c *traced) write(w io.Writer, first, rest string) {
	fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", first, c.id, c.receiver, c.kind, c.state, c.ended.Sub(c.began).Round(100*time.Microsecond))
	slices.SortFunc(c.below, func(a, b *traced) int {
		if n := a.began.Compare(b.began); n != 0 {
			return n
		}
		return strings.Compare(string(a.id), string(b.id))
	})
	shown := c.below[:min(len(c.below), maxBelow)]
	for i, b := range shown {
		if i == len(c.below)-1 {
			b.write(w, rest+"└── ", rest+"    ")
		} else {
			b.write(w, rest+"├── ", rest+"│   ")
		}
	}
	if more := c.below[len(shown):]; len(more) > 0 {
		completed := 0
		for _, b := range more {
			if b.state == standard.StateCompleted {
				completed++
			}
		}
		fmt.Fprintf(w, "%s└── … and %d more, %d of them completed\n", rest, len(more), completed)
	}
}
