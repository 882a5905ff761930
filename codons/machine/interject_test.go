package machine_test

import (
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// TestInterjectedRefusals: the other side receives an interjected refusal, and the role
// in whose name it was sent keeps its state.
func TestInterjectedRefusals(t *testing.T) {
	const ask, yes, no, done = performatives.ActRequest, performatives.ActAgree, performatives.ActRefuse, performatives.ActInform
	asks := func(from ...machine.State) machine.Row { return machine.For(machine.Initiator, from...).Because("x") }
	answers := func(from ...machine.State) machine.Row { return machine.For(machine.Responder, from...).Because("x") }
	m := machine.Table{
		Name: "errand", Live: []machine.State{"asked", "going", "again"}, Terminal: []machine.State{"over"},
		Rows: []machine.Row{
			asks(machine.Idle).When(machine.Commanded("start")).Goto("asked", machine.Send(ask)),
			asks("asked").When(machine.Receive(no)).Goto("again"),
			asks("asked").When(machine.Receive(yes)).Stay(machine.Drop("news")),
			asks("asked", "again").When(machine.Receive(done)).Goto("over"),
			asks("again").When(machine.Commanded("insist")).Goto("over", machine.Send(performatives.ActCancel)),
			answers(machine.Idle).When(machine.Receive(ask)).Goto("going", machine.Send(yes)),
			answers(machine.Idle).When(machine.Commanded("sulk")).Goto("over", machine.Send(no)),
			answers("going").When(machine.Commanded("return")).Goto("over", machine.Send(done)),
			answers("going").When(machine.Receive(performatives.ActCancel)).Goto("over"),
		},
	}.MustCompile()
	for name, interjected := range map[string]bool{"with a refusal": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			monitor := machine.NewMonitor(m)
			say := func(legal bool, from machine.Role, act performatives.Performative) {
				t.Helper()
				if err := monitor.Observe(machine.Utterance{From: from, Act: act}); (err == nil) != legal {
					t.Errorf("%s: %v", act, err)
				}
			}
			say(true, machine.Initiator, ask)
			if interjected {
				monitor.Interject(machine.Responder, no)
			}
			say(true, machine.Responder, yes) // it has not refused
			say(interjected, machine.Initiator, performatives.ActCancel)
			say(true, machine.Responder, done)
		})
	}
}
