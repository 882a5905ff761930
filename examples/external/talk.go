package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// talk prints what agents say to each other, in the order in which they say it. It may
// be used from any goroutine.
type talk struct {
	lines  chan string
	deaf   func()
	quit   chan struct{}
	done   chan struct{}
	failed error // of the writer; valid once done is closed
}

// overhear begins to print. What is said faster than it is printed, by more than some
// hundred lines, is left out: nobody waits for the screen.
func overhear(events *actors.Events, w io.Writer) *talk {
	t := &talk{lines: make(chan string, 512), quit: make(chan struct{}), done: make(chan struct{})}
	t.deaf = events.Listen(func(ev actors.Event) {
		select {
		case t.lines <- describe(ev):
		default:
		}
	}, actors.About[actors.MessageSent](), actors.About[actors.AgentAnnounced]())
	go t.print(w)
	return t
}

func (t *talk) print(w io.Writer) {
	defer close(t.done)
	for {
		select {
		case line := <-t.lines:
			t.write(w, line)
		case <-t.quit:
			for len(t.lines) > 0 {
				t.write(w, <-t.lines)
			}
			return
		}
	}
}

func (t *talk) write(w io.Writer, line string) {
	if _, err := fmt.Fprintln(w, line); err != nil && t.failed == nil {
		t.failed = err
	}
}

// say prints a line of the program's own.
func (t *talk) say(format string, args ...any) {
	select {
	case t.lines <- fmt.Sprintf(format, args...):
	case <-t.done:
	}
}

// stop prints what is left, and returns why something could not be printed.
func (t *talk) stop() error {
	t.deaf()
	close(t.quit)
	<-t.done
	return t.failed
}

// describe is the line of an event.
func describe(ev actors.Event) string {
	switch e := ev.(type) {
	case actors.AgentAnnounced:
		return fmt.Sprintf("%s joins: %s", e.Agent, strings.Join(actionsOf(e.Capabilities), ", "))
	case actors.MessageSent:
		m := e.Message
		way := fmt.Sprintf("%s → %s", m.Sender(), m.Receiver())
		return strings.TrimRight(fmt.Sprintf("  %-24s %-18s %s", way, m.Performative(), content(m.Payload())), " ")
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

// content is what a payload says, in a few words.
func content(payload any) string {
	switch p := payload.(type) {
	case performatives.TaskRequest:
		return p.TaskType + " " + short(p.Parameters)
	case performatives.StatusUpdate:
		if p.Progress == nil {
			return p.Description
		}
		return fmt.Sprintf("%.0f %%: %s", *p.Progress, p.Description)
	case performatives.InformResult:
		return fmt.Sprintf("%s %s", p.Status, short(p.Details))
	case performatives.TaskReject:
		return strings.TrimSpace(string(p.ReasonCode) + " " + p.ReasonText)
	case performatives.Failure:
		return strings.TrimSpace(string(p.ErrorCode) + " " + p.ErrorText)
	}
	return ""
}

// maxShort is how many characters of what a task is about are shown.
const maxShort = 60

func short(c performatives.Content) string {
	text, err := json.Marshal(c)
	if err != nil || c.IsZero() {
		return ""
	}
	runes := []rune(string(text))
	if len(runes) <= maxShort {
		return string(text)
	}
	return string(runes[:maxShort]) + "…"
}
