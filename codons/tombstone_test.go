package codons

import (
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestTombstoneKeepsNoConversation checks that the handler and the other messages of an ended conversation are freed.
func TestTombstoneKeepsNoConversation(t *testing.T) {
	for _, role := range machine.Roles() {
		c := &Conversation{Value: newValue(errand, role, "a", actors.Key{ID: "c"}, aRequest(t), nil, time.Now())}
		c.at.State = StateFailed
		c.seen = append(c.seen, "m")
		c.request = aRequest(t)
		c.sent = append(c.sent, sentMessage{Message: aRequest(t), copies: 1})
		conversation, request := weak.Make(c), weak.Make(c.request)
		left := c.tombstone()
		c = nil
		goruntime.GC()
		if conversation.Value() != nil || request.Value() != nil {
			t.Errorf("%s: the conversation or its request is still there", role)
		}
		goruntime.KeepAlive(left)
	}
}

// TestOpeningIsRecognised checks that a conversation recognises the message that opened it, however many it has received since.
func TestOpeningIsRecognised(t *testing.T) {
	first := aRequest(t)
	v := newValue(errand, machine.Responder, "b", actors.Key{ID: "m"}, first, nil, time.Now())
	if on := v.classify(first, ""); on != machine.Receive(p.ActTaskRequest) {
		t.Errorf("the first time it is %s", on)
	}
	v.at.State = "cancelling"
	if on := v.classify(first, ""); on != machine.Duplicate(p.ActTaskRequest) {
		t.Errorf("the second time it is %s", on)
	}
}

func aRequest(t *testing.T) *p.Message {
	t.Helper()
	m, err := p.New(p.Envelope{
		ID: "m", Sender: "a", Receiver: "b", Timestamp: p.Stamp{}.Time.AddDate(2000, 0, 0),
		Payload: p.TaskRequest{TaskType: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
