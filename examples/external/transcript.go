package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

// transcript prints the messages between agents in the order in which they are sent. Its
// methods may be called from any goroutine.
type transcript struct {
	events *events.Subscription
	lines  chan string // of the program itself
	done   chan struct{}
	failed error // of the writer; valid once done is closed
}

// newTranscript starts to print the messages of events. When 512 events wait to be
// printed, further messages are lost, so that a slow output delays no agent.
func newTranscript(stream *events.Stream, w io.Writer) *transcript {
	t := &transcript{lines: make(chan string), done: make(chan struct{})}
	t.events = stream.Subscribe(events.SubscribeOptions{Capacity: 512, Kinds: []events.Kind{events.KindMessageSent, events.KindAgentAnnounced}})
	go t.print(w)
	return t
}

func (t *transcript) print(w io.Writer) {
	defer close(t.done)
	for {
		select {
		case r, open := <-t.events.C:
			if !open {
				return
			}
			t.write(w, describe(r.Event))
		case line := <-t.lines:
			t.write(w, line)
		}
	}
}

func (t *transcript) write(w io.Writer, line string) {
	if _, err := fmt.Fprintln(w, line); err != nil && t.failed == nil {
		t.failed = err
	}
}

// say prints a line of the program itself.
func (t *transcript) say(format string, args ...any) {
	select {
	case t.lines <- fmt.Sprintf(format, args...):
	case <-t.done:
	}
}

// stop prints the waiting events and returns the first error of the output.
func (t *transcript) stop() error {
	t.events.Close()
	<-t.done
	if n := t.events.Lost(); n > 0 && t.failed == nil {
		return fmt.Errorf("%d messages were not printed: the output is too slow", n)
	}
	return t.failed
}

// describe returns the line for an event.
func describe(ev events.Event) string {
	switch e := ev.(type) {
	case events.AgentAnnounced:
		return fmt.Sprintf("%s joins: %s", e.Agent, strings.Join(actionsOf(e.Capabilities), ", "))
	case events.MessageSent:
		m := e.Message
		way := fmt.Sprintf("%s → %s", m.Sender(), m.Receiver())
		return strings.TrimRight(fmt.Sprintf("  %-24s %-18s %s", way, m.Performative(), program.OneLine(program.ContentText(m))), " ")
	}
	return ""
}

func actionsOf(c performatives.Capabilities) []string {
	var names []string
	for _, a := range c.Actions {
		names = append(names, a.Name)
	}
	return names
}
