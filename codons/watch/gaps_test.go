package watch

import (
	"strconv"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestGapsKnowEveryLeftConversation leaves many more conversations than there are slots: a copy of
// the opening act of each is known, and an act that is made afterwards is not.
func TestGapsKnowEveryLeftConversation(t *testing.T) {
	opening := func(id string, at time.Time) *performatives.Message {
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(id), Sender: "a", Receiver: "b", Timestamp: at, Performative: performatives.ActRequest,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	g, start := newGaps(events.NewLosses()), time.Unix(1, 0)
	early := opening("first", start)
	if g.isLeft(early) {
		t.Fatal("nothing was left")
	}
	g.leave("first", start)
	for i := range 16 * leftSlots {
		g.leave(performatives.MessageID(strconv.Itoa(i)), start.Add(time.Second))
	}
	if !g.isLeft(early) {
		t.Error("a copy of the first opening act begins a conversation")
	}
	if g.isLeft(opening("later", start.Add(2*time.Second))) {
		t.Error("a later opening act begins no conversation")
	}
}
