package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Fetch returns a small table with rows for refused copies of the initiator and for
// [machine.PeerLost] on both sides.
func Fetch() machine.Table {
	const asked, fetching machine.State = "asked", "fetching"
	const fetched, unreachable, orphaned, stopped, expired machine.State = "fetched", "unreachable", "orphaned", "stopped", "expired"
	in := func(s ...machine.State) machine.Row { return machine.For(machine.Initiator, s...) }
	res := func(s ...machine.State) machine.Row { return machine.For(machine.Responder, s...) }
	ended := []machine.State{fetched, unreachable, orphaned, stopped, expired}
	return machine.Table{
		Name: "fetch", Title: "Fetch", Purpose: "Bring one thing.", Source: "none",
		Live: []machine.State{asked, fetching}, Terminal: ended,
		Jobs: []machine.Job{{Role: machine.Responder, Name: "fetch", Ends: []string{"bring"}}},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: "deadline"},
			{Role: machine.Initiator, Name: "retry"},
			{Role: machine.Responder, Name: "deadline"},
		},
		Rows: []machine.Row{
			in(machine.Idle).When(machine.Commanded("start")).Goto(asked, machine.Send(p.ActRequest), machine.Arm("deadline"), machine.Arm("retry")),
			in(asked).When(machine.Timeout("retry")).Stay(machine.Resend(p.ActRequest), machine.Arm("retry")),
			in(asked).When(machine.Receive(p.ActAgree)).Stay(machine.Disarm("retry")),
			in(asked).When(machine.Receive(p.ActInform)).Goto(fetched),
			in(asked).When(machine.Undelivered(p.ActRequest)).Goto(unreachable),
			in(asked).When(machine.PeerLost()).Goto(orphaned, machine.Send(p.ActCancel)),
			in(asked).When(machine.Timeout("deadline")).Goto(expired),
			in(asked).When(machine.Commanded("stop")).Goto(stopped),
			in(append(ended, asked)...).When(machine.OtherRefusedCopies()).Stay(machine.Drop("undeliverable")),
			in(append(ended, asked)...).When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),

			res(machine.Idle).When(machine.Receive(p.ActRequest)).Goto(fetching, machine.Run("fetch"), machine.Arm("deadline"), machine.Send(p.ActAgree)),
			res(machine.Idle).When(machine.Receive(p.ActCancel)).Goto(orphaned),
			res(fetching).When(machine.Commanded("bring")).Goto(fetched, machine.Send(p.ActInform)),
			res(fetching).When(machine.Duplicate(p.ActRequest)).Stay(machine.Resend(p.ActAgree)),
			res(fetching).When(machine.Receive(p.ActCancel), machine.PeerLost()).Goto(orphaned, machine.Stop("fetch")),
			res(fetching).When(machine.Timeout("deadline")).Goto(expired, machine.Stop("fetch")),
			res(fetching).When(machine.Commanded("stop")).Goto(stopped, machine.Stop("fetch")),
			res(fetched).When(machine.Duplicate(p.ActRequest)).Stay(machine.Resend(p.ActInform)),
			res(orphaned, expired, stopped).When(machine.Commanded("bring")).Stay(machine.Drop("late")),
			res(fetched, orphaned, expired, stopped).When(machine.OtherDuplicates()).Stay(machine.Drop("late")),
			res(fetched, orphaned, expired, stopped).When(machine.OtherRequests()).Stay(machine.Refuse(p.CodeConversationEnded)),
		},
		Agree: fetchPairs(ended),
	}
}

// fetchPairs returns the pairs of terminal states. Only the first one is possible
// without a loss, a delay or a stop.
func fetchPairs(ended []machine.State) []machine.Pair {
	pairs := []machine.Pair{{Initiator: "fetched", Responder: "fetched"}}
	events := map[machine.State]machine.Symbol{
		"unreachable": machine.Undelivered(p.ActRequest), "orphaned": machine.PeerLost(),
		"stopped": machine.Commanded("stop"), "expired": machine.Timeout("deadline"),
	}
	for _, initiator := range ended[1:] {
		after := []machine.Cause{machine.At(machine.Initiator, events[initiator])}
		for _, responder := range []machine.State{"fetched", "orphaned", "stopped", "expired", machine.Idle} {
			if initiator == "unreachable" && responder != machine.Idle {
				continue // no message reached the responder
			}
			pairs = append(pairs, machine.Pair{Initiator: initiator, Responder: responder, After: after})
		}
	}
	return pairs
}
