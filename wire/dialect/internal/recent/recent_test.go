package recent

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var noon = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

// The map has the latest MaxEntries entries.
func TestMapIsBounded(t *testing.T) {
	var m Map[int, int]
	for i := range 3 * MaxEntries {
		m.Put(i, i, noon)
	}
	if m.Len() != MaxEntries || len(m.order) != MaxEntries {
		t.Errorf("%d entries, %d turns", m.Len(), len(m.order))
	}
	for k, want := range map[int]bool{2*MaxEntries - 1: false, 2 * MaxEntries: true, 3*MaxEntries - 1: true} {
		if v, ok := m.Get(k, noon); ok != want || ok && v != k {
			t.Errorf("%d: %d, %t", k, v, ok)
		}
	}
}

// An entry that is put again is a new one: what drops the old one does not drop it.
func TestMapPutAgain(t *testing.T) {
	for name, first := range map[string]func(*Map[int, string]){
		"replaced": func(*Map[int, string]) {},
		"expired":  func(m *Map[int, string]) { m.Get(-1, noon.Add(2*Lifetime)) },
	} {
		var m Map[int, string]
		m.Put(-1, "old", noon)
		first(&m)
		for i := range MaxEntries - 1 {
			m.Put(i, "", noon)
		}
		m.Put(-1, "new", noon)
		if v, ok := m.Get(-1, noon); !ok || v != "new" {
			t.Errorf("%s: %q, %t", name, v, ok)
		}
	}
}

func TestMapExpires(t *testing.T) {
	var m Map[int, int]
	m.Put(1, 1, noon)
	if _, ok := m.Get(1, noon.Add(Lifetime)); !ok {
		t.Error("the entry has gone early")
	}
	if _, ok := m.Get(1, noon.Add(Lifetime+1)); ok || m.Len() != 0 {
		t.Errorf("the entry has stayed; %d entries", m.Len())
	}
}

// A CANCEL names its request by the message_id or the reply_with, between the same two agents.
func TestCancels(t *testing.T) {
	request := func(id performatives.MessageID, replyWith string, to performatives.AgentID) *performatives.Message {
		m, err := performatives.New(performatives.Envelope{
			ID: id, ReplyWith: replyWith, Sender: "A", Receiver: to, ConversationID: "c", Timestamp: noon, Payload: performatives.TaskRequest{TaskType: "t"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	at := func() time.Time { return noon }
	for _, m := range []*performatives.Message{request("m-1", "", "B"), request("m-1", "r-1", "B")} {
		cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{})
		if err != nil {
			t.Fatal(err)
		}
		var c Cancels
		if r := c.Refusal(m, at); r != nil {
			t.Errorf("refused without a CANCEL: %v", r)
		}
		if r := c.Check(cancel, true, at); r != nil || c.Refusal(m, at) != nil {
			t.Error("the CANCEL of a request that was written is noted")
		}
		if r := c.Check(cancel, false, at); r != nil {
			t.Errorf("a CANCEL is refused: %v", r)
		}
		for range 2 { // the copy, too
			if r := c.Check(m, false, at); r == nil || r.Code != performatives.CodeCanceled || r.About != "m-1" {
				t.Errorf("%+v", r)
			}
		}
		for _, other := range []*performatives.Message{request("m-2", "", "B"), request("m-1", m.ReplyWith(), "C")} {
			if r := c.Refusal(other, at); r != nil {
				t.Errorf("%s to %s is refused", other.ID(), other.Receiver())
			}
		}
		if r := c.Refusal(m, func() time.Time { return noon.Add(2 * Lifetime) }); r != nil {
			t.Error("the CANCEL has not expired")
		}
	}
}
