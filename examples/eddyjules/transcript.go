package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// transcript prints who says what to whom, and then the diagnosis, for people.
type transcript struct {
	options *options
	paper   paper

	mu   sync.Mutex
	w    io.Writer
	told map[string]performatives.AgentID        // by a text, who told it first
	why  map[performatives.ConversationID]string // what panicked there, until it is told
	err  error                                   // the first
}

func newTranscript(w io.Writer, o *options) *transcript {
	return &transcript{
		options: o, paper: paperOf(w), w: w,
		told: map[string]performatives.AgentID{}, why: map[performatives.ConversationID]string{},
	}
}

func (t *transcript) observe(ev actors.Event) {
	switch e := ev.(type) {
	case actors.MessageSent:
		t.message(e.Message)
	case codons.HandlerPanicked:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.why[e.Conversation] = fmt.Sprintf("%s's worker panicked: %v", e.Agent, e.Value)
	case actors.Supervised:
		t.incident(fmt.Sprintf("%s failed and is to %s", e.Child.GetId(), e.Directive))
	}
}

// message prints a message. What somebody passes on word by word is not told
// twice: progress is left out then, and a result says whose it is.
func (t *transcript) message(m *performatives.Message) {
	text := said(m)
	switch p := m.Payload().(type) {
	case performatives.StatusUpdate:
		if t.toldBy(text, m.Sender()) != m.Sender() {
			return
		}
	case performatives.InformResult:
		if first := t.toldBy(text, m.Sender()); first != m.Sender() {
			text = fmt.Sprintf("%s: as %s says", p.Status, first)
		}
	}
	if m.Performative() == performatives.ActFailure {
		t.incident(t.reason(m.ConversationID()))
	}
	t.say(m.Sender(), m.Receiver(), m.Performative(), text)
}

// reason returns what panicked in a conversation, once. It is told where it shows,
// which is with the FAILURE: what was reported before is still on its way when the
// worker panics.
func (t *transcript) reason(c performatives.ConversationID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer delete(t.why, c)
	return t.why[c]
}

// toldBy returns who told text first, which may be just now.
func (t *transcript) toldBy(text string, by performatives.AgentID) performatives.AgentID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, ok := t.told[text]; ok {
		return first
	}
	t.told[text] = by
	return by
}

// The columns of a message: who to whom, the act, the text. The widths are those
// of the swarm's names and of its longest act.
const (
	whoWidth = 5
	actWidth = 19
)

// say prints one message: its act, and what a person wants to know of its content.
func (t *transcript) say(from, to performatives.AgentID, act performatives.Performative, text string) {
	who := fmt.Sprintf("%*s → %-*s", whoWidth, from, whoWidth, to)
	name := fmt.Sprintf("%-*s", actWidth, act)
	margin := utf8.RuneCountInString(who + name + "    ")
	lines := strings.Join(wrap(oneLine(text), width-margin), "\n"+strings.Repeat(" ", margin))
	t.print(strings.TrimRight(fmt.Sprintf("%s  %s  %s", t.paper.paint(bold, who), t.paper.paint(blue, name), t.paper.clean(lines)), " ") + "\n")
}

// incident prints what is not a message, but explains the next ones.
func (t *transcript) incident(text string) {
	if text == "" {
		return
	}
	t.print(strings.Repeat(" ", whoWidth+1) + t.paper.paint(red, "! "+oneLine(text)) + "\n")
}

func (t *transcript) print(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		_, t.err = io.WriteString(t.w, text)
	}
}
