package exchange

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

var noon = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

// The map has at most MaxRecent entries, and at least the latest half of them.
func TestMapIsBounded(t *testing.T) {
	var m Recent[int, int]
	for i := range 3*MaxRecent + 100 {
		m.Put(i, i, noon)
		if v, ok := m.Get(i-MaxRecent/2+1, noon); m.Len() > MaxRecent || i >= MaxRecent/2 && (!ok || v != i-MaxRecent/2+1) {
			t.Fatalf("%d entries after %d; one of the latest half is %d, %t", m.Len(), i+1, v, ok)
		}
		if _, ok := m.Get(i-MaxRecent, noon); ok {
			t.Fatalf("entry %d is there after %d", i-MaxRecent, i+1)
		}
	}
}

// An entry that is put again is a new one, and counts once.
func TestMapPutAgain(t *testing.T) {
	var m Recent[int, string]
	m.Put(-1, "old", noon)
	for i := range MaxRecent / 2 {
		m.Put(i, "", noon)
	}
	m.Put(-1, "new", noon.Add(recentLifetime))
	if n := m.Len(); n != MaxRecent/2+1 {
		t.Errorf("%d entries", n)
	}
	if v, ok := m.Get(-1, noon.Add(2*recentLifetime)); !ok || v != "new" {
		t.Errorf("%q, %t", v, ok)
	}
}

func TestMapExpires(t *testing.T) {
	var m Recent[int, int]
	m.Put(1, 1, noon)
	if v, ok := m.Get(1, noon.Add(recentLifetime)); !ok || v != 1 {
		t.Error("the entry has gone early")
	}
	if _, ok := m.Get(1, noon.Add(recentLifetime+1)); ok {
		t.Error("the entry has stayed")
	}
}

// The CANCEL of a request is for the first that comes after it and for the copies of that, and not
// for one of its name after the end of an earlier one.
func TestWithdrawn(t *testing.T) {
	var w Withdrawn
	stamped := 0
	at := func() time.Time { stamped++; return noon }
	if w.Overtook(KeyOf("Ada", "a"), "m-1", at) || stamped != 0 {
		t.Errorf("a request without a CANCEL is withdrawn, or the clock was read %d times", stamped)
	}
	w.Note(KeyOf("Ada", "a"), noon)
	if w.Overtook(KeyOf("Ada", "b"), "m-1", at) {
		t.Error("a request of another name is withdrawn")
	}
	for range 2 {
		if !w.Overtook(KeyOf("Ada", "a"), "m-1", at) {
			t.Error("the request, or its copy, is served")
		}
	}
	if w.Overtook(KeyOf("Ada", "a"), "m-2", at) {
		t.Error("the next request is withdrawn, too")
	}
	w.End(KeyOf("Ada", "b"))
	w.Note(KeyOf("Ada", "b"), noon)
	w.Note(KeyOf("Ada", ""), noon)
	if w.Overtook(KeyOf("Ada", "b"), "m-3", at) || w.Overtook(KeyOf("Ada", ""), "m-3", at) {
		t.Error("a request after an ended one is withdrawn")
	}
	w.Note(KeyOf("Ada", "c"), noon)
	if w.Overtook(KeyOf("Ada", "c"), "m-4", func() time.Time { return noon.Add(recentLifetime + 1) }) {
		t.Error("the CANCEL has not expired")
	}
	if early, ended := w.Len(); early != 2 || ended != 1 {
		t.Errorf("%d CANCELs, %d ends", early, ended)
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
		if r := c.Check(m, false, at); r != nil {
			t.Errorf("refused without a CANCEL: %v", r)
		}
		if r := c.Check(cancel, true, at); r != nil || c.Check(m, false, at) != nil {
			t.Error("the CANCEL of a request that was written is noted")
		}
		vague, err := cancel.With(func(e *performatives.Envelope) { e.InReplyTo = "" })
		if err != nil {
			t.Fatal(err)
		}
		if r := c.Check(vague, false, at); r != nil || c.Check(m, false, at) != nil {
			t.Error("a CANCEL without in_reply_to is refused or noted")
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
			if r := c.Check(other, false, at); r != nil {
				t.Errorf("%s to %s is refused", other.ID(), other.Receiver())
			}
		}
		if r := c.Check(m, false, func() time.Time { return noon.Add(2 * recentLifetime) }); r != nil {
			t.Error("the CANCEL has not expired")
		}
	}
}
