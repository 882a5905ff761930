package discovery

import (
	"context"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
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
		jobs:   jobs{outcome: func(performatives.AgentID) machine.State { return standard.StateTimedOut }},
		timers: map[string]timer{timerShare: {due: done}},
	}
	for _, want := range []machine.Symbol{
		machine.Commanded(standard.CommandCancel), machine.Commanded(commandAccepted), machine.Commanded(string(standard.StateTimedOut)), machine.Timeout(timerShare),
	} {
		if on, ok := f.due(); !ok || on != want {
			t.Errorf("got %s, want %s", on, want)
		}
	}
	f.over, f.said = ctx.Done(), string(standard.StateRejected)
	if on, _ := f.due(); on != machine.Commanded(standard.CommandCancel) {
		t.Errorf("got %s before the end of ctx", on)
	}
}
