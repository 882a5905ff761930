package tabletest

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// Echo returns a table whose initiator confirms every report. It has two unusual
// features, which a monitor could get wrong: a duplicate is answered, and a timer whose
// arming sends no message sends one when it expires.
func Echo() machine.Table {
	return machine.Table{
		Name: "echo", Live: []machine.State{"on"}, Terminal: []machine.State{"off"},
		Timers: []machine.Timer{{Role: machine.Initiator, Name: "deadline"}, {Role: machine.Initiator, Name: "chime"}, {Role: machine.Responder, Name: "deadline"}},
		Rows: []machine.Row{
			machine.For(machine.Initiator, machine.Idle).When(machine.Commanded("start")).Goto("on", machine.Send(p.ActSubscribe), machine.Arm("deadline")),
			machine.For(machine.Initiator, "on").When(machine.Receive(p.ActInform)).Stay(machine.Send(p.ActConfirm)),
			machine.For(machine.Initiator, "on").When(machine.Commanded("wind")).Stay(machine.Arm("chime")),
			machine.For(machine.Initiator, "on").When(machine.Timeout("chime")).Goto("off", machine.Send(p.ActInform)),
			machine.For(machine.Initiator, "on").When(machine.Timeout("deadline")).Goto("off"),
			machine.For(machine.Initiator, "on").When(machine.Receive(p.ActDisconfirm)).Stay(machine.Drop("what")),
			machine.For(machine.Initiator, "on", "off").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
			machine.For(machine.Responder, machine.Idle).When(machine.Receive(p.ActSubscribe)).Goto("on", machine.Arm("deadline")),
			machine.For(machine.Responder, "on").When(machine.Commanded("tell")).Stay(machine.Send(p.ActInform)),
			machine.For(machine.Responder, "on").When(machine.Receive(p.ActInform)).Stay(machine.Report("chime")),
			machine.For(machine.Responder, "on").When(machine.Receive(p.ActConfirm)).Stay(machine.Report("thanks")),
			machine.For(machine.Responder, "on").When(machine.Duplicate(p.ActConfirm)).Goto("off", machine.Send(p.ActDisconfirm)),
			machine.For(machine.Responder, "on").When(machine.Timeout("deadline")).Goto("off"),
			machine.For(machine.Responder, machine.Idle, "on", "off").When(machine.OtherNotices(), machine.OtherDuplicates()).Stay(machine.Drop("late")),
		},
		Agree: []machine.Pair{{Initiator: "off", Responder: "off"}, {Initiator: "off", Responder: machine.Idle}},
	}
}
