package api_test

import (
	"bufio"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
)

// failed are the failures of an answer.
type failed struct {
	Failures []struct {
		Agent  string    `json:"agent"`
		Node   string    `json:"node"`
		Reason string    `json:"reason"`
		Stack  string    `json:"stack"`
		Time   time.Time `json:"time"`
	} `json:"failures"`
}

func (f failed) text() string {
	var all []string
	for _, one := range f.Failures {
		all = append(all, one.Node+" "+one.Agent+" "+one.Reason+" "+one.Stack)
	}
	return strings.Join(all, ", ")
}

// failureIn returns a failure of an agent in a conversation.
func failureIn(id performatives.ConversationID, at int64, err error) lifecycle.JobFailed {
	f := lifecycle.JobFailed{At: events.At{Time: time.Unix(at, 0)}, Agent: "W", Conversation: id, Protocol: "p", Job: "perform", Err: err}
	if p, ok := errors.AsType[*actors.PanicError](err); ok {
		f.Stack = p.Stack
	}
	return f
}

// The failures of all nodes are in one list, and in that of their conversation. Their texts are
// masked.
func TestFailuresOfTwoNodes(t *testing.T) {
	c := newTown(t, nil)
	c.nodes[0].Events().Publish(failureIn("c", 1, errors.New("password=hunter2")))
	c.nodes[1].Events().Publish(failureIn("c", 2, &actors.PanicError{Value: "oh", Stack: []byte("main.f()")}))
	c.nodes[1].Events().Publish(failureIn("d", 3, errors.New("no")))
	for _, n := range c.nodes {
		n.Events().Publish(lifecycle.Ended{Subject: &lifecycle.Subject{Conversation: "c", Agent: "W"}, State: "failed"})
	}
	const second, first = "n2 W actors: panic: oh main.f()", "n1 W password=*** "
	for path, want := range map[string]string{
		"/api/failures":                 "n2 W no , " + second + ", " + first,
		"/api/failures?limit=1":         "n2 W no ",
		"/api/failures?agent=w&node=n1": first,
		"/api/failures?agent=nobody":    "",
		"/api/failures?conversation=c":  second + ", " + first,
		"/api/conversations/c":          second + ", " + first,
		"/api/conversations/c?node=n1":  first,
	} {
		if got := view[failed](c, path).text(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if code, _ := c.ask("GET", "/api/failures?limit=0", ""); code != 400 {
		t.Errorf("a limit of 0 is answered %d", code)
	}
}

// A stream has the masked text and the stack of a failure.
func TestFailuresInAStream(t *testing.T) {
	_, h, _ := serve(t, nil)
	frame := h.Frame(events.Record{Seq: 7, Event: failureIn("c", 1, &actors.PanicError{Value: "password=hunter2", Stack: []byte("main.f()")})})
	if !strings.HasPrefix(frame, "event: job.failed\nid: 7\n") || strings.Contains(frame, "hunter2") || !strings.Contains(frame, "password=***") || !strings.Contains(frame, "main.f()") {
		t.Error(frame)
	}
}

// A stream has the failures of jobs and the decisions of supervisors that pass its filters, and
// none if it is about the acts of messages.
func TestFailuresInFilteredStreams(t *testing.T) {
	n, h, _ := serve(t, nil)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	of, acts := streamOf(t, server, "agent=w"), streamOf(t, server, "act=REQUEST")
	other := failureIn("c", 1, errors.New("of another"))
	other.Agent = "V"
	n.Events().Publish(other)
	n.Events().Publish(failureIn("c", 1, errors.New("no")))
	say(t, n, "m", "c", "")
	for _, c := range []struct {
		lines *bufio.Scanner
		want  []string
	}{{of, []string{"job.failed"}}, {acts, []string{"message.sent"}}} {
		for _, want := range c.want {
			var text string
			for c.lines.Scan() && !strings.HasPrefix(text, "data: ") {
				if text = c.lines.Text(); strings.HasPrefix(text, "event: ") && text != "event: "+want {
					t.Errorf("%s, want %s", text, want)
				}
			}
			if strings.Contains(text, "of another") {
				t.Error(text)
			}
		}
	}
}
