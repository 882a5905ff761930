package main

import (
	"cmp"
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
	out    *program.Output
	events *events.Handler
}

// newTranscript starts to print the messages of events. When 512 events wait to be
// printed, further messages are lost, so that a slow output delays no agent.
func newTranscript(stream *events.Stream, w io.Writer) *transcript {
	t := &transcript{out: program.NewOutput(w)}
	of := events.SubscribeOptions{Capacity: 512, Kinds: []events.Kind{events.KindMessageSent, events.KindAgentAnnounced}}
	t.events = stream.Subscribe(of).Handle(func(r events.Record) { t.say("%s", describe(r.Event)) })
	return t
}

// say prints a line of the program itself.
func (t *transcript) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// stop prints the waiting events and returns the first error of the output.
func (t *transcript) stop() error {
	late := program.StopHandler(t.events)
	return cmp.Or(t.out.Err(), late)
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
