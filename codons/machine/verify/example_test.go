package verify_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

func ExampleExplore() {
	result, err := verify.Explore(tabletest.Query().MustCompile(), verify.Network{})
	fmt.Println(result, err)

	broken := tabletest.Query()
	broken.Rows = broken.Rows[:5]
	_, err = verify.Explore(broken.MustCompile(), verify.Network{})
	fmt.Println(err)
	// Output:
	// 7 states, 13 transitions, 2 messages, 3 ends, 5 of 5 steps exercised <nil>
	// verify: query: unhandled event: no row for duplicate QUERY_IF
	//    1  initiator  command start                     idle → asked  sends QUERY_IF
	//    2  responder  receive QUERY_IF                  idle → answered  sends INFORM_IF
	//    3  responder  duplicate QUERY_IF                answered
	//       never arrived: the responder's INFORM_IF
}

func ExampleExploreGroup() {
	table := tabletest.Query()
	asker := func(in ...machine.State) machine.Row { return machine.For(machine.Initiator, in...) }
	table.Rows = append(
		table.Rows,
		asker("asked").When(machine.Commanded("hang up")).Goto("timed_out"),
		asker("answered", "timed_out").When(machine.Commanded("hang up")).Stay(machine.Drop("late")),
	)
	first := machine.Coordination{
		Name: "first answer", Machine: table.MustCompile(),
		Rules: []machine.Rule{{
			Name: "enough", Doc: "one member has answered",
			When: func(c machine.Census) bool { return c.Count("answered") > 0 },
			Of:   []machine.State{"asked"},
			Say:  []machine.Choice{{Command: "hang up"}},
		}},
	}
	fmt.Println(verify.ExploreGroup(first, 3, verify.Network{}))

	rule, due := first.Due([]machine.State{"asked", "answered", "timed_out"})
	fmt.Println(rule.Name, due, rule.Check([]machine.State{"asked", "answered"}, []string{"", ""}))
	// Output:
	// 101 group states, 11 decisions, 1 of 1 rules used <nil>
	// enough true machine: rule enough: member 0: the member gets no command
}

func ExampleCheckMonitor() {
	chance := rand.New(rand.NewPCG(1, 2))
	fmt.Println(verify.CheckMonitor(tabletest.Query().MustCompile(), verify.MonitorCheck{Traces: 50, Walks: 100, Mutate: 10}, chance.IntN))
	// Output:
	// 50 traces, 500 mutants, 250 of them impossible <nil>
}
