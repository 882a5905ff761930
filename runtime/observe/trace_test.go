package observe_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// The tree of the specification's example: a trace has the messages of its conversation, and of
// those that were begun in its work, by parent and child.
func TestTrace(t *testing.T) {
	n, r := record(t, observe.Options{})
	second := int64(0)
	say := func(conversation, id, about, trace string, from, to performatives.AgentID, payload any) {
		t.Helper()
		second++
		e := performatives.Envelope{
			ID: performatives.MessageID(id), Sender: from, Receiver: to, ConversationID: performatives.ConversationID(conversation), InReplyTo: about,
			ReplyWith: "ref-" + id, Timestamp: time.Unix(second, 0), Payload: payload,
		}
		if trace != "" {
			e.Metadata = performatives.Members{"envelope.trace_id": json.RawMessage(`"` + trace + `"`)}
		}
		m, err := performatives.New(e)
		if err != nil {
			t.Fatal(err)
		}
		sent(n, m)
	}
	task, done := performatives.TaskRequest{TaskType: "work"}, performatives.InformResult{Status: performatives.StatusSuccess}
	const base = "rag-conversation-123"
	say(base, "ask", "", "", "UI", "System", task)
	say("ret-"+base+"-002", "find", "", "", "System", "RetrievalAgent", task)
	say("ret-"+base+"-002", "found", "ref-find", "", "RetrievalAgent", "System", done)
	say(base, "said", "", "llm-"+base+"-003", "System", "LLMResponseAgent", task)
	say("own-1", "helped", "", "", "RetrievalAgent", "Helper", task)
	say(base, "answer", "ask", "", "System", "UI", done)
	say("other", "else", "", "", "UI", "System", task)
	for child, parent := range map[string]string{"ret-" + base + "-002": base, "own-1": "ret-" + base + "-002"} {
		n.Events().Publish(lifecycle.Ended{
			At:      events.At{Time: time.Unix(1, 0)},
			Subject: &lifecycle.Subject{Conversation: performatives.ConversationID(child), Parent: performatives.ConversationID(parent), Agent: "a"}, State: "done",
		})
	}
	want := strings.Join([]string{
		"ask  UI System  [find answer]",
		"find ret-rag-conversation-123-002 System RetrievalAgent ask [found helped]",
		"found ret-rag-conversation-123-002 RetrievalAgent System find []",
		"said llm-rag-conversation-123-003 System LLMResponseAgent  []",
		"helped  RetrievalAgent Helper find []",
		"answer  System UI ask []",
	}, "\n")
	for _, id := range []string{base, "ret-" + base + "-002", "llm-" + base + "-003", "own-1", "err-" + base + "-009"} {
		got, ok := r.Trace(id)
		var lines []string
		for _, m := range got.Messages {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s %v", m.ID, m.TraceID, m.Sender, m.Receiver, m.Parent, m.Children))
		}
		if d := cmp.Diff(want, strings.Join(lines, "\n")); !ok || got.ID != base || d != "" {
			t.Errorf("%s: %v %s\n%s", id, ok, got.ID, d)
		}
	}
	if got, ok := r.Trace("other"); !ok || len(got.Messages) != 1 || got.ID != "other" {
		t.Errorf("another: %v %+v", ok, got)
	}
	if got, ok := r.Trace("unknown"); ok {
		t.Errorf("unknown: %+v", got)
	}
}

// The messages of two nodes are put together: each once, with what either knows of it.
func TestTraceOfTwoNodes(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	v := observe.Trace{Messages: []observe.TracedMessage{
		{Message: observe.Message{ID: "b", Time: at(2)}, Parent: "a", Children: []performatives.MessageID{"gone"}},
		{Message: observe.Message{ID: "c", Time: at(4), Sent: 1, Refused: "busy"}},
		{Message: observe.Message{ID: "a", Time: at(1)}},
		{Message: observe.Message{ID: "c", Time: at(3), Sent: 1, Received: 1}, Parent: "b", TraceID: "ret-c-001"},
	}}
	v.Order()
	want := []observe.TracedMessage{
		{Message: observe.Message{ID: "a", Time: at(1)}, Children: []performatives.MessageID{"b"}},
		{Message: observe.Message{ID: "b", Time: at(2)}, Parent: "a", Children: []performatives.MessageID{"c"}},
		{Message: observe.Message{ID: "c", Time: at(3), Sent: 1, Received: 1, Refused: "busy"}, Parent: "b", TraceID: "ret-c-001"},
	}
	if d := cmp.Diff(want, v.Messages); d != "" {
		t.Error(d)
	}
}

// What one node does not know of a message, another one may.
func TestOrderOfATraceOfSeveralNodes(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 0, time.UTC) }
	trace := observe.Trace{Messages: []observe.TracedMessage{
		{Message: observe.Message{ID: "c", Time: at(3)}, Parent: "a"},
		{Message: observe.Message{ID: "b", Time: at(2)}, Children: []performatives.MessageID{"x"}},
		{Message: observe.Message{ID: "a", Time: at(1)}, TraceID: "t"},
		{Message: observe.Message{ID: "b", Time: at(4)}, Parent: "a", TraceID: "u"},
		{Message: observe.Message{ID: "a", Time: at(5)}, Parent: "z", TraceID: "v"},
		{Message: observe.Message{ID: "c", Time: at(6)}, Parent: "b"},
	}}
	trace.Order()
	want := []observe.TracedMessage{
		{Message: observe.Message{ID: "a", Time: at(1)}, Parent: "z", TraceID: "t", Children: []performatives.MessageID{"b", "c"}},
		{Message: observe.Message{ID: "b", Time: at(2)}, Parent: "a", TraceID: "u"},
		{Message: observe.Message{ID: "c", Time: at(3)}, Parent: "a"},
	}
	if diff := cmp.Diff(want, trace.Messages); diff != "" {
		t.Error(diff)
	}
}

// A conversation shows the acts of operators on it: of all acts, the last thousand are kept.
func TestActsAreShown(t *testing.T) {
	n, r := record(t, observe.Options{})
	for _, id := range []performatives.ConversationID{"c", "d"} {
		m, err := performatives.New(performatives.Envelope{ID: performatives.MessageID("m-" + id), Sender: "a", Receiver: "b", ConversationID: id, Timestamp: time.Unix(1, 0), Payload: performatives.TaskRequest{TaskType: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		sent(n, m)
	}
	act := func(second int64, of performatives.ConversationID, who string) {
		n.Events().Publish(observe.OperatorActed{
			At: events.At{Time: time.Unix(second, 0)}, Conversation: of, Who: who, Host: "h", What: "cancel", Outcome: "receipt", Reason: "why",
		})
	}
	acts := func(id performatives.ConversationID) (who string) {
		c, ok := r.Conversation(id)
		if !ok {
			t.Fatalf("there is no conversation %s", id)
		}
		for _, a := range c.Acts {
			if who += a.Who; a.Host != "h" || a.What != "cancel" || a.Result != "receipt" || a.Reason != "why" || a.Node != n.Name() || a.Time.IsZero() {
				t.Errorf("the act is %+v", a)
			}
		}
		return who
	}
	act(1, "c", "x")
	act(2, "d", "y")
	act(3, "", "z")
	act(4, "c", "w")
	if acts("c") != "xw" || acts("d") != "y" {
		t.Errorf("the acts are %q and %q", acts("c"), acts("d"))
	}
	for i := range int64(998) {
		act(5+i, "e", "v")
	}
	if acts("c") != "w" || acts("d") != "y" {
		t.Errorf("after 1,001 acts they are %q and %q", acts("c"), acts("d"))
	}
	act(2000, "e", "v")
	if acts("c") != "w" || acts("d") != "" {
		t.Errorf("after one more they are %q and %q", acts("c"), acts("d"))
	}
}
