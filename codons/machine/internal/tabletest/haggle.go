package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Haggle returns a table with the features that are difficult for a monitor: rounds,
// tags, progress, retries, refusals, and a CANCEL that can overtake a request.
func Haggle() machine.Table {
	const asked, again, busy, open, bought, gone machine.State = "asked", "again", "busy", "open", "bought", "gone"
	live, ended := []machine.State{asked, again, busy, open}, []machine.State{bought, gone}
	ini := func(s ...machine.State) machine.Row { return machine.For(machine.Initiator, s...) }
	res := func(s ...machine.State) machine.Row { return machine.For(machine.Responder, s...) }
	return machine.Table{
		Name: "haggle", Live: live, Terminal: ended,
		Jobs: []machine.Job{{Role: machine.Responder, Name: "think", Says: []string{"report"}, Ends: []string{"sell", "offer"}}},
		Timers: []machine.Timer{
			{Role: machine.Initiator, Name: "deadline"},
			{Role: machine.Initiator, Name: "retry"},
			{Role: machine.Responder, Name: "deadline"},
		},
		Rows: []machine.Row{
			ini(machine.Idle).When(machine.Commanded("start")).Goto(asked, machine.Send(p.ActRequest), machine.Arm("deadline"), machine.Arm("retry")),
			ini(asked).When(machine.Timeout("retry")).Stay(machine.Resend(p.ActRequest), machine.Arm("retry")),
			ini(asked).When(machine.Receive(p.ActStatusUpdate)).Stay(machine.Report("progress")),
			ini(asked).When(machine.Stale(p.ActStatusUpdate)).Stay(machine.Drop("stale")),
			ini(asked).When(machine.ReceiveTagged(p.ActInform, "offer")).Goto(again, machine.Disarm("retry")),
			ini(asked).When(machine.Receive(p.ActInform)).Goto(bought),
			ini(asked).When(machine.Receive(p.ActRefuse), machine.Receive(p.ActFailure)).Goto(gone),
			ini(again).When(machine.Commanded("more")).Goto(asked, machine.Send(p.ActRequest), machine.Arm("retry")),
			ini(asked, again).When(machine.Commanded("cancel")).Goto(gone, machine.Send(p.ActCancel)),
			ini(asked, again).When(machine.Timeout("deadline")).Goto(gone),
			ini(bought, gone).When(machine.Commanded("cancel")).Stay(machine.Drop("late")),
			ini(asked, again, bought, gone).When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),

			res(machine.Idle).When(machine.Receive(p.ActRequest)).Goto(busy, machine.Run("think"), machine.Arm("deadline")),
			res(machine.Idle).When(machine.Receive(p.ActCancel)).Goto(gone),
			res(busy).When(machine.Commanded("report")).Stay(machine.Send(p.ActStatusUpdate)),
			res(busy).When(machine.Commanded("sell")).Goto(bought, machine.Send(p.ActInform)),
			res(busy).When(machine.Commanded("offer")).Goto(open, machine.SendTagged(p.ActInform, "offer")),
			res(open).When(machine.Receive(p.ActRequest)).Goto(busy, machine.Run("think")),
			res(busy).When(machine.Receive(p.ActCancel), machine.Timeout("deadline")).Goto(gone, machine.Stop("think"), machine.Send(p.ActFailure)),
			res(open).When(machine.Receive(p.ActCancel), machine.Timeout("deadline")).Goto(gone),
			res(open).When(machine.Duplicate(p.ActRequest)).Stay(machine.Resend(p.ActInform)),
			res(bought).When(machine.Duplicate(p.ActRequest)).Stay(machine.Resend(p.ActInform)),
			res(gone).When(machine.Commanded("report"), machine.Commanded("sell"), machine.Commanded("offer")).Stay(machine.Drop("late")),
			res(busy, open, bought, gone).When(machine.OtherDuplicates()).Stay(machine.Drop("duplicate")),
			res(bought, gone).When(machine.OtherRequests()).Stay(machine.Refuse(p.CodeCanceled)),
		},
		Agree: []machine.Pair{
			{Initiator: bought, Responder: bought},
			{Initiator: gone, Responder: gone},
			{Initiator: gone, Responder: bought},
			{Initiator: gone, Responder: machine.Idle},
		},
	}
}
