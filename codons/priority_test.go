package codons

import (
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestAConversationHasItsBand on both sides, and so has what it tells itself: an
// urgent one waits nowhere behind ordinary ones.
func TestAConversationHasItsBand(t *testing.T) {
	opening, err := performatives.New(performatives.Envelope{
		ID: "m", Timestamp: time.Unix(1, 0), Sender: "A", Receiver: "B", Priority: performatives.Urgent,
		Payload: performatives.TaskRequest{TaskType: "t"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*conversation{
		newAsking(actors.Self{}, delegation, opening, nil), newAnswering(actors.Self{}, delegation, opening, nil),
	} {
		if c.Priority() != performatives.Urgent {
			t.Errorf("the %s is in the band %s", c.state.Role, c.Priority())
		}
		if got := (&command{name: commandStart, band: c.priority}).Priority(); got != performatives.Urgent {
			t.Errorf("its commands are in the band %s", got)
		}
	}
}
