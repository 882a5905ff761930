package codons

import (
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestConversationPriority checks the band of both sides, and of the commands that a
// conversation takes: an urgent one waits behind no ordinary one.
func TestConversationPriority(t *testing.T) {
	system, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = system.Stop(t.Context()) }()
	self, err := system.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return sleeper(0) }})
	if err != nil {
		t.Fatal(err)
	}
	e := aRequest(t).Envelope()
	e.Priority = performatives.Urgent
	opening, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Conversation{
		newConversation(self, errand, machine.Initiator, opening, nil), newConversation(self, errand, machine.Responder, opening, nil),
	} {
		if c.Priority() != performatives.Urgent {
			t.Errorf("the %s is in the band %s", c.Role(), c.Priority())
		}
		if got := (&command{band: c.priority}).Priority(); got != performatives.Urgent {
			t.Errorf("its commands are in the band %s", got)
		}
	}
}
