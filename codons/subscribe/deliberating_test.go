package subscribe

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestSignOfLife steps a publisher whose agent decides while the subscription is repeated twice.
// Each repetition gets a valid STATUS_UPDATE, and renews the lease.
func TestSignOfLife(t *testing.T) {
	m := Codon.Machine()
	c := machine.Status{Role: machine.Responder, State: standard.StateConsidering}
	for _, want := range []machine.Effect{machine.Send(performatives.ActStatusUpdate), machine.Resend(performatives.ActStatusUpdate)} {
		next, effects, err := m.Step(c, machine.Event{On: machine.Duplicate(performatives.ActSubscribe)})
		if err != nil || len(effects) != 2 || effects[0] != want || effects[1] != machine.Arm(timerLease) {
			t.Errorf("in %s: %v, %v", c.State, effects, err)
		}
		c = next
	}
	var s publisherSide
	content := s.Compose(nil, machine.Send(performatives.ActStatusUpdate), &codons.Input{})
	if err := performatives.CheckPayload(performatives.ActStatusUpdate, content); err != nil {
		t.Errorf("%+v: %v", content, err)
	}
}
