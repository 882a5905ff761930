package discovery

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestOrderOfEvents has everything happen at once: the end of ctx comes first, so that no agent is
// asked after it, and the acceptance comes before the end of its conversation.
func TestOrderOfEvents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	accepted, done := make(chan struct{}, 1), make(chan struct{})
	accepted <- struct{}{}
	close(done)
	f := &finding{
		ctx: ctx, over: ctx.Done(), accepted: accepted, done: done, to: []performatives.AgentID{"Jules"},
		jobs:   jobs{outcome: func(performatives.AgentID) machine.State { return codons.StateTimedOut }},
		timers: map[string]timer{timerShare: {due: done}},
	}
	for _, want := range []machine.Symbol{
		machine.Commanded(codons.CommandCancel), machine.Commanded(commandAccepted), machine.Commanded(string(codons.StateTimedOut)), machine.Timeout(timerShare),
	} {
		if on, ok := f.due(); !ok || on != want {
			t.Errorf("got %s, want %s", on, want)
		}
	}
	f.over, f.said = ctx.Done(), string(codons.StateRejected)
	if on, _ := f.due(); on != machine.Commanded(codons.CommandCancel) {
		t.Errorf("got %s before the end of ctx", on)
	}
}
