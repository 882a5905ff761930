package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// transcript prints the messages and then the diagnosis as text for people.
type transcript struct {
	options  *options
	terminal bool // the output may interpret escape sequences

	out *program.Output

	mu      sync.Mutex
	senders map[string]performatives.AgentID        // the first sender of each text
	panics  map[performatives.ConversationID]string // descriptions of panics that are not printed yet
}

func newTranscript(w io.Writer, o *options) *transcript {
	return &transcript{
		options: o, terminal: isTerminal(w), out: program.NewOutput(w),
		senders: map[string]performatives.AgentID{}, panics: map[performatives.ConversationID]string{},
	}
}

func (t *transcript) observe(r events.Record) {
	switch e := r.Event.(type) {
	case events.MessageSent:
		t.message(e.Message)
	case lifecycle.JobFailed:
		if panicked, is := errors.AsType[*actors.PanicError](e.Err); is {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.panics[e.Conversation] = fmt.Sprintf("%s's worker panicked: %v", e.Agent, panicked.Value)
		}
	case events.Supervised:
		t.note(fmt.Sprintf("%s failed and is to %s", e.Child.GetId(), e.Directive))
	}
}

// message prints a message. A text that an agent forwards unchanged is not printed
// again: forwarded progress is omitted, and a forwarded result names its first sender.
func (t *transcript) message(m *performatives.Message) {
	text := program.ContentText(m)
	switch p := m.Payload().(type) {
	case performatives.StatusUpdate:
		if t.firstSender(text, m.Sender()) != m.Sender() {
			return
		}
	case performatives.InformResult:
		if first := t.firstSender(text, m.Sender()); first != m.Sender() {
			text = fmt.Sprintf("%s: as %s says", p.Status, first)
		}
	}
	if m.Performative() == performatives.ActFailure {
		t.note(t.reason(m.ConversationID()))
	}
	t.say(m.Sender(), m.Receiver(), m.Performative(), text)
}

// reason returns the description of a panic in a conversation, and deletes it. The
// transcript prints it with the FAILURE, because progress that the worker reported
// before the panic may be printed later than the panic happens.
func (t *transcript) reason(c performatives.ConversationID) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer delete(t.panics, c)
	return t.panics[c]
}

// firstSender returns the first sender of text. That is by if text is new.
func (t *transcript) firstSender(text string, by performatives.AgentID) performatives.AgentID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first, ok := t.senders[text]; ok {
		return first
	}
	t.senders[text] = by
	return by
}

// The widths of the columns of a message: the longest agent name and the longest act of
// the swarm.
const (
	whoWidth = 5
	actWidth = 19
)

// say prints the line of one message.
func (t *transcript) say(from, to performatives.AgentID, act performatives.Performative, text string) {
	who := fmt.Sprintf("%*s → %-*s", whoWidth, from, whoWidth, to)
	name := fmt.Sprintf("%-*s", actWidth, act)
	margin := utf8.RuneCountInString(who + name + "    ")
	lines := strings.Join(wrap(program.OneLine(text), width-margin), "\n"+strings.Repeat(" ", margin))
	t.print(strings.TrimRight(who+"  "+name+"  "+lines, " ") + "\n")
}

// note prints an event other than a message, which explains the following messages.
func (t *transcript) note(text string) {
	if text == "" {
		return
	}
	t.print(strings.Repeat(" ", whoWidth+1) + "! " + program.OneLine(text) + "\n")
}

// print prints text. For a terminal it removes what that would interpret; otherwise a diff stays
// intact.
func (t *transcript) print(text string) {
	if t.terminal {
		text = program.Clean(text)
	}
	fmt.Fprint(t.out, text)
}
