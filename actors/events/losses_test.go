package events

import (
	"strconv"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Losses knows a lost message whose slot a later loss has taken.
func TestLossesOfOneSlot(t *testing.T) {
	l := NewLosses()
	message := func(id string, at time.Time) *performatives.Message {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(id), Sender: "a", Receiver: "b", Timestamp: at, Performative: performatives.ActRequest,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	start := time.Unix(1, 0)
	first := message("first", start)
	l.note(Record{1, MessageSent{At{start}, first}})
	for i := range 16 * lossSlots {
		at := start.Add(time.Second)
		l.note(Record{2, MessageSent{At{at}, message(strconv.Itoa(i), at)}})
	}
	if !l.Message(first) {
		t.Error("the first loss was forgotten")
	}
	if l.Message(message("later", start.Add(2*time.Second))) {
		t.Error("a later message counts as lost")
	}
}

// lossesOf returns a record in which the names have slots of their own.
func lossesOf(names ...string) *Losses {
	for {
		l, slots := NewLosses(), map[uint64]bool{}
		for _, name := range names {
			slots[l.hash(name)%lossSlots] = true
		}
		if len(slots) == len(names) {
			return l
		}
	}
}

// Losses names the conversations and messages of the events that were lost, and no others.
func TestLosses(t *testing.T) {
	var e Stream
	l := lossesOf("kept", "c2", "c3", "m0", "else", "m1", "m2", "m3", "m6")
	s := e.Subscribe(SubscribeOptions{Capacity: 1, Losses: l})
	defer s.Close()
	about := func(id performatives.MessageID, conversation performatives.ConversationID, ref string) *performatives.Message {
		m, err := performatives.New(performatives.Envelope{
			ID: id, ConversationID: conversation, InReplyTo: ref, Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0),
			Performative: performatives.ActInform, Payload: performatives.Raw(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	e.Publish(MessageSent{Message: about("m1", "kept", "")})
	e.Publish(MessageReceived{Message: about("m2", "c2", "")})
	e.Publish(MessageRefused{Message: about("m3", "c3", "m0")})
	e.Publish(DeadLetter{Message: "no message"})
	e.Publish(AgentStarted{})
	e.Publish(DeadLetter{Message: about("m6", "c2", "")})
	for id, want := range map[performatives.ConversationID]uint64{"kept": 0, "c2": 6, "c3": 3, "m0": 3, "else": 0} {
		if got := l.Conversation(id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
	for id, want := range map[performatives.MessageID]bool{"m1": false, "m2": true, "m3": true, "m6": true, "m0": false} {
		if got := l.Message(about(id, "any", "")); got != want {
			t.Errorf("%s: %t, want %t", id, got, want)
		}
	}
	if s.Lost() != 5 {
		t.Errorf("lost %d", s.Lost())
	}
}
