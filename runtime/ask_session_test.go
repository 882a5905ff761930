package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The ask of an agent of a session ends: the program gets CANCEL, and the asker, which knows, gets
// no FAILURE afterwards, neither at once nor with the end of the session.
func TestAskOfASessionThatEnds(t *testing.T) {
	h := newHub(t, noPeerOptions)
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	h.awaitVisible("Jules")
	c.answer(1)
	stray := make(chan *performatives.Message, 8)
	h.spawn("asker", always(scripted{receive: func(_ *actors.Context, m *performatives.Message) { stray <- m }}))
	self, ok := h.System().Lookup("asker")
	if !ok {
		t.Fatal("there is no asker")
	}
	request := message(t, "asker", "Jules", performatives.ActRequest)
	ctx, cancel := context.WithCancel(patience.Context(t))
	asked := make(chan error, 1)
	go func() { _, err := self.Ask(ctx, request); asked <- err }()
	if m := c.answer(2); m.Performative() != performatives.ActRequest {
		t.Fatalf("the program got %s", m.Performative())
	}
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("the ask ended with %v", err)
	}
	if m := c.answer(3); m.Performative() != performatives.ActCancel || m.ConversationID() != request.ConversationID() {
		t.Errorf("the program got %s, want CANCEL", m.Performative())
	}
	if open := h.OpenRecords(); open != 0 {
		t.Errorf("%d records are open", open)
	}
	c.cut()
	h.awaitStopped("Jules", 1)
	if err := self.Do(patience.Context(t), func(actors.Agent) {}); err != nil { // behind what was delivered
		t.Error(err)
	}
	for len(stray) > 0 {
		t.Errorf("the asker got %s", (<-stray).Performative())
	}
}
