package request

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// table returns the table of a request (addenda §6).
func table() machine.Table {
	return codons.Exchange{
		Name: "request", Title: "Request",
		Purpose: "One agent asks another to do something. The other refuses, or does it and answers, with a result if there is one. " +
			"When the answer takes a while, it may agree first.",
		Source:  "addenda §6; FIPA Request Interaction Protocol (SC00026H)",
		Opening: performatives.ActRequest, Agree: true,
		Opened: "the agent wants something done",
		Job:    "the agent does the action that was requested",
		Answers: []codons.AnswerAct{
			{Command: codons.CommandAnswer, Act: performatives.ActInform, End: codons.StateAnswered, Why: "the action is done, with a result if there is one"},
		},
	}.Table()
}

// whenTable returns the table of a request that is carried out once a condition is true
// (addenda §6). It is an exchange whose responder has two jobs: it always agrees before it acts.
func whenTable() machine.Table {
	x := codons.Exchange{
		Name: "request-when", Title: "Request when",
		Purpose: "One agent asks another to do something as soon as a condition is true. The other refuses or agrees. " +
			"Then it waits for the condition, does the action once and answers, with a result if there is one.",
		Source:  "addenda §6; FIPA Request When Interaction Protocol (SC00028H)",
		Opening: performatives.ActRequestWhen, Agree: true,
		Opened: "the agent wants something done once a condition is true",
		Answers: []codons.AnswerAct{
			{Command: codons.CommandAnswer, Act: performatives.ActInform, End: codons.StateAnswered, Why: "the condition became true and the action is done, with a result if there is one"},
		},
	}
	t := x.Own()
	t.Jobs = []machine.Job{
		{
			Role: machine.Responder, Name: codons.JobConsider,
			Ends: []string{codons.CommandAgree},
			Doc:  "the agent decides whether it will do the action once the condition is true",
		},
		{
			Role: machine.Responder, Name: codons.JobAnswer,
			Ends: []string{codons.CommandAnswer},
			Doc:  "the agent waits until the condition is true, and does the action",
		},
	}
	t.Rows = append(x.Ask(), agreeRows(x)...)
	return codons.StandardAll.MustComplete(t)
}

// agreeRows returns the rows about the agreement, and the responder's rows until the answer.
func agreeRows(x codons.Exchange) []machine.Row {
	rows := []machine.Row{
		machine.Asks(codons.StateAsked).When(machine.Receive(performatives.ActAgree)).
			Goto(codons.StateAgreed, machine.Arm(machine.TimerRetry), machine.Report(codons.ReportAgreed)).
			Because("the action will be done; AGREE may be skipped, lost or overtaken (addenda §6)"),
		machine.Answers(machine.Idle).When(machine.Receive(x.Opening)).
			Goto(codons.StateAnswering, machine.Run(codons.JobConsider)).
			Because("the agent decides whether it will do the action"),
		machine.Answers(codons.StateAnswering).When(machine.Commanded(codons.CommandAgree)).
			Goto(codons.StateAgreed, machine.Send(performatives.ActAgree), machine.Run(codons.JobAnswer)).
			Because("AGREE is sent even where the condition is true already"),
	}
	for _, a := range x.Answers {
		rows = append(rows, machine.Answers(codons.StateAgreed).When(machine.Commanded(a.Command)).Goto(a.End, machine.Send(a.Act)).Because(a.Why))
	}
	return rows
}
