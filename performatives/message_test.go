package performatives_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func TestNewEveryAct(t *testing.T) {
	for act := range p.Performatives() {
		e := envelope(act)
		if diff := cmp.Diff(e, mustNew(t, e).Envelope()); diff != "" {
			t.Errorf("%s: Envelope differs from what the message was made of (-made +got):\n%s", act, diff)
		}
	}
}

func TestNewFillsIn(t *testing.T) {
	m := mustNew(t, p.Envelope{ID: "m-1", Sender: "Eddy", Timestamp: noon, Payload: p.TaskRequest{TaskType: "x"}})
	if m.Performative() != p.ActTaskRequest || m.ConversationID() != "m-1" || m.Priority() != p.Normal {
		t.Errorf("got %s, conversation %q, %s", m.Performative(), m.ConversationID(), m.Priority())
	}
	if m.Receiver() != "" || m.ReplyWith() != "" || m.Protocol() != "" {
		t.Errorf("New invented a receiver, ReplyWith or protocol: %+v", m.Envelope())
	}
}

func TestGetters(t *testing.T) {
	e := envelope(p.ActTaskRequest)
	e.Budget, e.Shape = p.ContentOf(3), "shape"
	m := mustNew(t, e)
	got := p.Envelope{
		ID: m.ID(), Performative: m.Performative(), Sender: m.Sender(), Receiver: m.Receiver(),
		ConversationID: m.ConversationID(), Protocol: m.Protocol(), MessageType: m.MessageType(), InReplyTo: m.InReplyTo(),
		ReplyWith: m.ReplyWith(), ReplyBy: m.ReplyBy(), Language: m.Language(), Ontology: m.Ontology(),
		Priority: m.Priority(), Timestamp: m.Timestamp(), Trace: m.Trace(), Budget: m.Budget(),
		Metadata: p.Members{}, Payload: m.Payload(), Shape: m.Shape(),
	}
	for name, value := range m.AllMetadata() {
		got.Metadata[name] = value
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if v, ok := m.Metadata("x"); !ok || string(v) != "[1]" {
		t.Errorf("Metadata(x) = %s, %t", v, ok)
	}
	if _, ok := m.Metadata("y"); ok {
		t.Error("Metadata(y) is there")
	}
}

func TestMessageIsImmutable(t *testing.T) {
	m := mustNew(t, envelope(p.ActTaskRequest))
	before := envelope(p.ActTaskRequest)
	e := m.Envelope()
	e.Metadata["x"][0] = '!'
	e.Metadata["y"] = json.RawMessage(`1`)
	delete(e.Metadata, "x")
	if diff := cmp.Diff(before, m.Envelope()); diff != "" {
		t.Errorf("a copy of the envelope changed the message (-before +after):\n%s", diff)
	}
}

// An append to what MarshalJSON returned must not reach into the message, even
// where the JSON is part of a larger buffer.
func TestMarshalledJSONIsClipped(t *testing.T) {
	buffer := []byte(`{"a":1}{"b":2}`)
	first := json.RawMessage(buffer[:7])
	for name, v := range map[string]json.Marshaler{"Content": p.RawContent(first), "Raw": p.Raw(first)} {
		b, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		_ = append(b, '!')
		if string(buffer) != `{"a":1}{"b":2}` {
			t.Errorf("%s: an append wrote into the message: %s", name, buffer)
		}
	}
}

func TestExpired(t *testing.T) {
	e := envelope(p.ActTaskRequest)
	e.ReplyBy = noon
	m := mustNew(t, e)
	for offset, want := range map[time.Duration]bool{-1: false, 0: true, 1: true} {
		if got := m.Expired(noon.Add(offset)); got != want {
			t.Errorf("Expired at deadline%+d = %t, want %t", offset, got, want)
		}
	}
	e.ReplyBy = time.Time{}
	if mustNew(t, e).Expired(noon.AddDate(1000, 0, 0)) {
		t.Error("a message without a deadline expired")
	}
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		inReplyTo, replyWith string
		want                 bool
	}{
		{"m-1", "w-1", true},
		{"w-1", "w-1", true},
		{"c-1", "w-1", false},
		{"", "", false},
		{"", "w-1", false},
	}
	for _, tt := range tests {
		asked, answer := envelope(p.ActRequest), envelope(p.ActInform)
		asked.ReplyWith, answer.InReplyTo = tt.replyWith, tt.inReplyTo
		if got := mustNew(t, answer).Answers(mustNew(t, asked)); got != tt.want {
			t.Errorf("in_reply_to %q answers m-1 with reply_with %q: %t, want %t", tt.inReplyTo, tt.replyWith, got, tt.want)
		}
	}
}
