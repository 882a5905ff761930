package machine_test

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/performatives"
)

func ExampleMachine_Step() {
	m := tabletest.Query().MustCompile()
	now := time.Unix(0, 0)
	c := m.Start(machine.Initiator, now)
	c, effects, err := m.Step(c, machine.Event{On: machine.Commanded("start"), At: now})
	fmt.Println(c.State, effects, err)
	_, _, err = m.Step(c, machine.Event{On: machine.Commanded("start"), At: now})
	fmt.Println(err)
	// Output:
	// asked [send QUERY_IF arm deadline] <nil>
	// machine: query: initiator in asked does not expect command start
}

func ExampleMonitor() {
	monitor := machine.NewMonitor(tabletest.Query().MustCompile())
	for _, u := range []machine.Utterance{
		{From: machine.Initiator, Act: performatives.ActQueryIf},
		{From: machine.Responder, Act: performatives.ActAgree},
	} {
		fmt.Println(monitor.Observe(u))
	}
	// Output:
	// <nil>
	// machine: query: responder: AGREE is not legal here, expected INFORM_IF
}
