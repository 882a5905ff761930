package codons

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestOutcomes compares the documented outcomes with the errors.
func TestOutcomes(t *testing.T) {
	system, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = system.Stop(t.Context()) }()
	self, err := system.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return sleeper(0) }})
	if err != nil {
		t.Fatal(err)
	}
	first, err := performatives.New(performatives.Envelope{
		ID: "m", ConversationID: "m", Performative: performatives.ActRequest, Sender: "a", Receiver: "b", Timestamp: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for state, text := range outcomes {
		c := Conversation{agent: self, Value: Value{machine: errand.Machine(), at: machine.Status{State: state}, first: first}}
		var end *EndError
		if err := c.EndError(nil); !errors.As(err, &end) || !strings.Contains(text, "`"+string(end.Refusal.Code)+"`") {
			t.Errorf("%s: %v, but the caller is told of %s", state, err, text)
		}
	}
	c := &Codon{Definition: Definition{Outcomes: map[machine.State]string{standard.StateTimedOut: "a surprise"}}}
	if c.Outcome(standard.StateTimedOut) != "a surprise" || c.Outcome(standard.StateCancelled) != outcomes[standard.StateCancelled] || c.Outcome(standard.StateRefused) != outcomeOfPeer || c.Outcome("paid") != outcomeOfOwnEnd {
		t.Error("a codon's own words come first")
	}
}
