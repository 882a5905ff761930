package observe

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// A recorder that cannot go on delays no publisher; what it loses is counted.
func TestLossIsCounted(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil { // the events of its own agent are over
		t.Fatal(err)
	}
	r, err := New(n, Options{Queue: 2})
	if err != nil {
		t.Fatal(err)
	}
	mu := r.lock()
	for _, id := range []performatives.MessageID{"1", "2", "3", "4", "5"} {
		m, err := performatives.New(performatives.Envelope{
			ID: id, Performative: performatives.ActInform, Sender: "a", Receiver: "b", ConversationID: "c", Timestamp: time.Unix(1, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{Message: m})
	}
	mu.Unlock()
	r.Close()
	if c, _ := r.Conversation("c"); c.Count != 2 || r.Counts().Lost != 3 {
		t.Errorf("%+v %+v", c, r.Counts())
	}
}

// A conversation whose end was lost has its place in the tree: the message that opens it names the
// conversation above, also when that message is forgotten or its payload left out.
func TestParentOfALostEnd(t *testing.T) {
	for name, o := range map[string]Options{"kept": {}, "forgotten": {Messages: 1}, "left out": {PayloadBytes: 1}} {
		n, err := runtime.New(runtime.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Stop(t.Context()); err != nil { // the events of its own agent are over
			t.Fatal(err)
		}
		o.Queue = 4
		r, err := New(n, o)
		if err != nil {
			t.Fatal(err)
		}
		mu := r.lock() // the queue fills
		say := func(conversation, id, parent string) {
			e := performatives.Envelope{
				ID: performatives.MessageID(id), Performative: performatives.ActInform, Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0),
				ConversationID: performatives.ConversationID(conversation), Payload: performatives.Raw(`{"x":"` + strings.Repeat("x", 10_000) + `"}`),
			}
			if parent != "" {
				e.Metadata = performatives.Members{"parent_conversation_id": json.RawMessage(strconv.Quote(parent))}
			}
			m, err := performatives.New(e)
			if err != nil {
				t.Fatal(err)
			}
			n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
		}
		say("top", "1", "")
		say("below", "2", "top")
		say("below", "3", "")
		say("top", "4", "below") // does not open it
		n.Events().Publish(lifecycle.Ended{Subject: &lifecycle.Subject{Conversation: "below", Agent: "a", Parent: "top"}, State: "done"})
		mu.Unlock()
		r.Close()
		if lost := r.Counts().Lost; lost != 1 {
			t.Fatalf("%d events are lost, want the end", lost)
		}
		if trace, _ := r.Trace("below"); trace.ID != "top" {
			t.Errorf("%s: the trace is %+v", name, trace)
		}
		c, _ := r.Conversation("below")
		if c.Parent != "top" || len(c.Sides) > 0 || name == "forgotten" && c.Forgotten != 1 || name == "left out" && c.Messages[0].Payload != nil {
			t.Errorf("%s: %+v", name, c)
		}
		for _, c := range r.Conversations() {
			if want := map[performatives.ConversationID]performatives.ConversationID{"below": "top"}[c.ID]; c.Parent != want {
				t.Errorf("%s: the list has it below %q: %+v", name, c.Parent, c)
			}
		}
		if got := r.Children("top"); len(got) != 1 || got[0] != "below" {
			t.Errorf("%s: the children are %v", name, got)
		}
	}
}

// A parent that is longer than an id may be is none, and the record of the conversation keeps
// nothing of it.
func TestParentIsBounded(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil { // the events of its own agent are over
		t.Fatal(err)
	}
	r, err := New(n, Options{Messages: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, id := range []performatives.MessageID{"1", "2"} { // with the second, the first is forgotten
		m, err := performatives.New(performatives.Envelope{
			ID: id, Performative: performatives.ActInform, Sender: "a", Receiver: "b", ConversationID: "c", Timestamp: time.Unix(1, 0),
			Metadata: performatives.Members{"parent_conversation_id": json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)},
		})
		if err != nil {
			t.Fatal(err)
		}
		n.Events().Publish(events.MessageSent{At: events.At{Time: m.Timestamp()}, Message: m})
		c, _ := r.Conversation("c")
		if parent := r.recent.by["c"].parent; c.Parent != "" || parent != "" || c.Messages[0].LeftOut == "" {
			t.Errorf("the view has a parent of %d bytes, the record of %d", len(c.Parent), len(parent))
		}
	}
	if kept := r.Counts().Bytes; kept > 2<<10 {
		t.Errorf("the record has %d bytes", kept)
	}
}
