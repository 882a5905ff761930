package machine_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// query is a codon of one question and one answer.
func query() machine.Table {
	asker := func(in ...machine.State) machine.Row { return machine.For(machine.Initiator, in...) }
	other := func(in ...machine.State) machine.Row { return machine.For(machine.Responder, in...) }
	return machine.Table{
		Name: "query", Title: "Query", Purpose: "One question, one answer.", Source: "acl §4.4",
		Live: []machine.State{"asked"}, Terminal: []machine.State{"answered", "timed_out"},
		Timers: []machine.Timer{{Role: machine.Initiator, Name: "deadline"}},
		Rows: []machine.Row{
			asker(machine.Idle).When(machine.Command("start")).
				Goto("asked", machine.Send(performatives.ActQueryIf), machine.Arm("deadline")),
			asker("asked").When(machine.Receive(performatives.ActInformIf)).Goto("answered"),
			asker("asked").When(machine.Timeout("deadline")).Goto("timed_out"),
			asker("answered", "timed_out").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
			other(machine.Idle).When(machine.Receive(performatives.ActQueryIf)).
				Goto("answered", machine.Send(performatives.ActInformIf)),
			other("answered").When(machine.Duplicate(performatives.ActQueryIf)).
				Stay(machine.Resend(performatives.ActInformIf)),
		},
		Agree: []machine.Pair{
			{Initiator: "answered", Responder: "answered"},
			{Initiator: "timed_out", Responder: "answered", Rough: true, Note: "the answer was lost or late"},
			{Initiator: "timed_out", Responder: machine.Idle, Rough: true, Note: "the question was lost"},
		},
	}
}

func ExampleMachine_Step() {
	m := query().MustCompile()
	now := time.Unix(0, 0)
	c := m.Start(machine.Initiator, now)
	c, effects, err := m.Step(c, machine.Event{On: machine.Command("start"), At: now})
	fmt.Println(c.State, effects, err)
	_, _, err = m.Step(c, machine.Event{On: machine.Command("start"), At: now})
	fmt.Println(err)
	// Output:
	// asked [send QUERY_IF arm deadline] <nil>
	// machine: query: initiator in asked does not expect command start
}

func ExampleExplore() {
	result, err := machine.Explore(query().MustCompile(), machine.Network{})
	fmt.Println(result, err)

	broken := query()
	broken.Rows = broken.Rows[:5]
	_, err = machine.Explore(broken.MustCompile(), machine.Network{})
	fmt.Println(err)
	// Output:
	// 7 states, 13 transitions, 2 messages, 3 ends, 5 of 5 steps exercised <nil>
	// machine: query: unhandled event: no row for duplicate QUERY_IF
	//    1  initiator  command start                     idle → asked  sends QUERY_IF
	//    2  responder  receive QUERY_IF                  idle → answered  sends INFORM_IF
	//    3  responder  duplicate QUERY_IF                answered
	//       never arrived: the responder's INFORM_IF
}

func ExampleMonitor() {
	monitor := machine.NewMonitor(query().MustCompile())
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

func ExampleExploreGroup() {
	table := query()
	asker := func(in ...machine.State) machine.Row { return machine.For(machine.Initiator, in...) }
	table.Rows = append(
		table.Rows,
		asker("asked").When(machine.Command("hang up")).Goto("timed_out"),
		asker("answered", "timed_out").When(machine.Command("hang up")).Stay(machine.Drop("late")),
	)
	first := machine.Coordination{
		Name: "first answer", Machine: table.MustCompile(),
		Rules: []machine.Rule{{
			Name: "enough", Doc: "somebody has answered",
			When: func(c machine.Census) bool { return c.Count("answered") > 0 },
			Of:   []machine.State{"asked"},
			Say:  []machine.Choice{{Command: "hang up"}},
		}},
	}
	fmt.Println(machine.ExploreGroup(first, 3, machine.Network{}))

	rule, due := first.Due([]machine.State{"asked", "answered", "timed_out"})
	fmt.Println(rule.Name, due, rule.Check([]machine.State{"asked", "answered"}, []string{"", ""}))
	// Output:
	// 3 members: 7 pair states in 6 classes, 101 group states, 277 transitions, 11 decisions, 1 of 1 rules used <nil>
	// enough true machine: rule enough: member 0: the member gets no command
}

func ExampleCheckMonitor() {
	chance := rand.New(rand.NewPCG(1, 2))
	fmt.Println(machine.CheckMonitor(query().MustCompile(), machine.MonitorCheck{Traces: 50, Walks: 100, Mutate: 10}, chance.IntN))
	// Output:
	// alphabet of 4, 50 traces (all of up to 5 messages), 100 walks, 500 mutants, 250 of them impossible <nil>
}
