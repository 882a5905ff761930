package machine

import p "github.com/ribosome-agents/ribosome/performatives"

// echo is a table whose initiator thanks for every report. It is odd where a
// monitor could go wrong: copies of one message are answered, and a timer that is
// armed in silence speaks.
func echo() Table {
	return Table{
		Name: "echo", Live: []State{"on"}, Terminal: []State{"off"},
		Timers: []Timer{{Role: Initiator, Name: "deadline"}, {Role: Initiator, Name: "chime"}, {Role: Responder, Name: "deadline"}},
		Rows: []Row{
			For(Initiator, Idle).When(Command("start")).Goto("on", Send(p.ActSubscribe), Arm("deadline")),
			For(Initiator, "on").When(Receive(p.ActInform)).Stay(Send(p.ActConfirm)),
			For(Initiator, "on").When(Command("wind")).Stay(Arm("chime")),
			For(Initiator, "on").When(Timeout("chime")).Goto("off", Send(p.ActInform)),
			For(Initiator, "on").When(Timeout("deadline")).Goto("off"),
			For(Initiator, "on").When(Receive(p.ActDisconfirm)).Stay(Drop("what")),
			For(Initiator, "on", "off").When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),
			For(Responder, Idle).When(Receive(p.ActSubscribe)).Goto("on", Arm("deadline")),
			For(Responder, "on").When(Command("tell")).Stay(Send(p.ActInform)),
			For(Responder, "on").When(Receive(p.ActInform)).Stay(Report("chime")),
			For(Responder, "on").When(Receive(p.ActConfirm)).Stay(Report("thanks")),
			For(Responder, "on").When(Duplicate(p.ActConfirm)).Goto("off", Send(p.ActDisconfirm)),
			For(Responder, "on").When(Timeout("deadline")).Goto("off"),
			For(Responder, Idle, "on", "off").When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),
		},
		Agree: []Pair{{Initiator: "off", Responder: "off"}, {Initiator: "off", Responder: Idle}},
	}
}

// auction is a table that opens with an act to which no answer is expected, and
// whose rounds are those of a later act: the price falls with every call, and only
// a bid for the latest price can win.
func auction() Table {
	const opened, calling, bid, listening, sold, closed State = "opened", "calling", "bid", "listening", "sold", "closed"
	in, res := func(s ...State) Row { return For(Initiator, s...) }, func(s ...State) Row { return For(Responder, s...) }
	return Table{
		Name: "auction", Live: []State{opened, calling, bid, listening}, Terminal: []State{sold, closed},
		Timers: []Timer{{Role: Initiator, Name: "deadline"}, {Role: Responder, Name: "deadline"}},
		Rows: []Row{
			in(Idle).When(Command("start")).Goto(opened, Send(p.ActInform), Arm("deadline")),
			in(opened, calling).When(Command("call")).Goto(calling, Send(p.ActCFP)),
			in(calling).When(Receive(p.ActPropose)).Goto(bid),
			in(calling).When(Stale(p.ActPropose)).Stay(Drop("stale")),
			in(calling).When(Receive(p.ActFailure)).Goto(closed, Send(p.ActCancel)),
			in(calling).When(Stale(p.ActFailure)).Stay(Drop("stale")),
			in(bid).When(Command("award")).Goto(sold, Send(p.ActAcceptProposal)),
			in(opened, calling, bid).When(Command("decline")).Goto(closed, Send(p.ActRejectProposal)),
			in(opened, calling, bid).When(Timeout("deadline")).Goto(closed, Send(p.ActRejectProposal)),
			in(sold, closed).When(Command("award"), Command("decline")).Stay(Drop("late")),
			in(bid, sold, closed).When(Command("call")).Stay(Drop("late")),
			in(bid, sold, closed).When(Receive(p.ActPropose)).Stay(Drop("late")),
			in(opened, calling, bid, sold, closed).When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),

			res(Idle).When(Receive(p.ActInform)).Goto(listening, Arm("deadline")),
			res(Idle, listening).When(Receive(p.ActCFP)).Goto(calling, Arm("deadline")),
			res(calling).When(Receive(p.ActCFP)).Stay(),
			res(calling).When(Receive(p.ActInform)).Stay(Drop("overtaken")),
			res(calling).When(Command("bid")).Goto(listening, Send(p.ActPropose)),
			res(listening).When(Receive(p.ActAcceptProposal)).Goto(sold),
			res(calling).When(Receive(p.ActAcceptProposal)).Goto(sold),
			res(Idle, listening, calling).When(Receive(p.ActRejectProposal), Receive(p.ActCancel)).Goto(closed),
			res(listening, calling).When(Timeout("deadline")).Goto(closed),
			res(sold, closed).When(OtherRequests()).Stay(Refuse(p.CodeConversationEnded)),
			res(listening, sold, closed).When(Receive(p.ActInform)).Stay(Drop("late")),
			res(Idle, listening, calling, sold, closed).When(OtherNotices(), OtherDuplicates()).Stay(Drop("late")),
		},
		Agree: []Pair{
			{Initiator: sold, Responder: sold},
			{Initiator: closed, Responder: closed},
			{Initiator: sold, Responder: closed, Rough: true, Note: "the bidder did not wait"},
			{Initiator: closed, Responder: Idle, Rough: true},
		},
	}
}
