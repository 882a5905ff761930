package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Auction returns a table that opens with an act which expects no reply, and whose
// rounds are those of a later act: the price falls with every call, and only a bid for
// the latest price can win.
func Auction() machine.Table {
	const opened, calling, bid, listening, sold, closed machine.State = "opened", "calling", "bid", "listening", "sold", "closed"
	in := func(s ...machine.State) machine.Row { return machine.For(machine.Initiator, s...) }
	res := func(s ...machine.State) machine.Row { return machine.For(machine.Responder, s...) }
	return machine.Table{
		Name: "auction", Live: []machine.State{opened, calling, bid, listening}, Terminal: []machine.State{sold, closed},
		Timers: []machine.Timer{{Role: machine.Initiator, Name: "deadline"}, {Role: machine.Responder, Name: "deadline"}},
		Rows: []machine.Row{
			in(machine.Idle).When(machine.Commanded("start")).Goto(opened, machine.Send(p.ActInform), machine.Arm("deadline")),
			in(opened, calling).When(machine.Commanded("call")).Goto(calling, machine.Send(p.ActCFP)),
			in(calling).When(machine.Receive(p.ActPropose)).Goto(bid),
			in(calling).When(machine.Stale(p.ActPropose)).Stay(machine.Drop("stale")),
			in(calling).When(machine.Receive(p.ActFailure)).Goto(closed, machine.Send(p.ActCancel)),
			in(calling).When(machine.Stale(p.ActFailure)).Stay(machine.Drop("stale")),
			in(bid).When(machine.Commanded("award")).Goto(sold, machine.Send(p.ActAcceptProposal)),
			in(opened, calling, bid).When(machine.Commanded("decline")).Goto(closed, machine.Send(p.ActRejectProposal)),
			in(opened, calling, bid).When(machine.Timeout("deadline")).Goto(closed, machine.Send(p.ActRejectProposal)),
			in(sold, closed).When(machine.Commanded("award"), machine.Commanded("decline")).Stay(machine.Drop("late")),
			in(bid, sold, closed).When(machine.Commanded("call")).Stay(machine.Drop("late")),
			in(bid, sold, closed).When(machine.Receive(p.ActPropose)).Stay(machine.Drop("late")),
			in(opened, calling, bid, sold, closed).When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),

			res(machine.Idle).When(machine.Receive(p.ActInform)).Goto(listening, machine.Arm("deadline")),
			res(machine.Idle, listening).When(machine.Receive(p.ActCFP)).Goto(calling, machine.Arm("deadline")),
			res(calling).When(machine.Receive(p.ActCFP)).Stay(),
			res(listening, calling).When(machine.Stale(p.ActCFP)).Stay(machine.Drop("stale")),
			res(calling).When(machine.Receive(p.ActInform)).Stay(machine.Drop("overtaken")),
			res(calling).When(machine.Commanded("bid")).Goto(listening, machine.Send(p.ActPropose)),
			res(listening).When(machine.Receive(p.ActAcceptProposal)).Goto(sold),
			res(calling).When(machine.Receive(p.ActAcceptProposal)).Goto(sold),
			res(machine.Idle, listening, calling).When(machine.Receive(p.ActRejectProposal), machine.Receive(p.ActCancel)).Goto(closed),
			res(listening, calling).When(machine.Timeout("deadline")).Goto(closed),
			res(sold, closed).When(machine.OtherRequests()).Stay(machine.Refuse(p.CodeConversationEnded)),
			res(listening, sold, closed).When(machine.Receive(p.ActInform)).Stay(machine.Drop("late")),
			res(machine.Idle, listening, calling, sold, closed).When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
		},
		Agree: []machine.Pair{
			{Initiator: sold, Responder: sold},
			{Initiator: closed, Responder: closed},
			{Initiator: sold, Responder: closed, After: []machine.Cause{machine.At(machine.Responder, machine.Timeout("deadline"))}, Note: "the bidder did not wait"},
			{Initiator: closed, Responder: machine.Idle, After: []machine.Cause{machine.Lost()}},
		},
	}
}
