package standard

import (
	"slices"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Exchange describes the table of a codon in which the responder answers one act with one
// of a few others, perhaps after an AGREE: FIPA's request, query and propose, and the
// codons like them (addenda §6). [Exchange.Table] makes the table.
type Exchange struct {
	// Name, Title, Purpose and Source are those of the [machine.Table].
	Name, Title, Purpose, Source string

	// Opening is the act of the request.
	Opening performatives.Performative
	// Agree adds AGREE: the responder may say that it takes the request on before it
	// answers.
	Agree bool
	// Reports adds STATUS_UPDATE: a responder that has agreed may report progress. It
	// needs Agree.
	Reports bool
	// Job says what the handler of the responder does, for the documentation.
	Job string
	// Consider says what a first handler decides, for the documentation: the responder always
	// agrees before [JobAnswer] begins. It needs Agree. Empty where one handler does both.
	Consider string
	// Opened says why the initiator opens the conversation, for the documentation.
	Opened string
	// Answers are the acts that answer the request.
	Answers []AnswerAct
	// Denial is the act that turns the request down in place of REFUSE, for an opening act
	// that expects no reply. Nil means that REFUSE does.
	Denial *AnswerAct
}

// AnswerAct is an act that answers the request of an [Exchange] and ends the conversation.
type AnswerAct struct {
	Command string                     // Command is the responder's command that sends the act.
	Act     performatives.Performative // Act is the performative of the answer.
	End     machine.State              // End is the terminal state of both sides.
	Why     string                     // Why is the reason of the rows, for the documentation.
}

// ownAnswers returns the answers that the standard rows do not have.
func (x Exchange) ownAnswers() []AnswerAct {
	if x.Denial == nil {
		return x.Answers
	}
	return append(slices.Clone(x.Answers), *x.Denial)
}

// during returns the live states in which a role awaits the answer or works on it.
func (x Exchange) during(first machine.State) []machine.State {
	if x.Agree {
		return []machine.State{first, StateAgreed}
	}
	return []machine.State{first}
}

// Table returns the complete table: [Exchange.Own] with [All]. It panics on a fault
// of the description, which is a programmer's mistake.
func (x Exchange) Table() machine.Table { return All.MustComplete(x.Own()) }

// Own returns the table without the standard rows, for a codon that changes it before
// [Rows.Complete].
func (x Exchange) Own() machine.Table {
	t := machine.Table{
		Name: x.Name, Title: x.Title, Purpose: x.Purpose, Source: x.Source,
		Rows: slices.Concat(x.ask(), x.askLate(), x.serve()),
	}
	answer := machine.Job{Role: machine.Responder, Name: JobAnswer, Doc: x.Job}
	switch {
	case x.Consider != "":
		t.Jobs = append(t.Jobs, machine.Job{Role: machine.Responder, Name: JobConsider, Ends: []string{CommandAgree}, Doc: x.Consider})
	case x.Agree:
		answer.Says = append(answer.Says, CommandAgree)
	}
	if x.Agree {
		t.Rows = append(t.Rows, x.agrees()...)
		t.Renewals = append(t.Renewals, machine.Renewal{
			Role: machine.Initiator, Timer: machine.TimerRetry, In: []machine.State{StateAsked}, On: []machine.Symbol{machine.Receive(performatives.ActAgree)},
		})
	}
	if x.Reports {
		answer.Says = append(answer.Says, CommandReport)
		t.Rows = append(t.Rows, exchangeReports()...)
	}
	for _, a := range x.ownAnswers() {
		answer.Ends = append(answer.Ends, a.Command)
		t.Terminal = append(t.Terminal, a.End)
		t.Ends = append(t.Ends,
			machine.Ending{Role: machine.Initiator, On: machine.Receive(a.Act), To: a.End},
			machine.Ending{Role: machine.Responder, On: machine.Commanded(a.Command), To: a.End})
	}
	if x.Denial != nil {
		answer.Ends = append(answer.Ends, CommandNotUnderstood, CommandFail)
	}
	t.Jobs = append(t.Jobs, answer)
	return t
}

// ask returns the rows of the initiator from the opening act to the answer.
func (x Exchange) ask() []machine.Row {
	rows := []machine.Row{
		machine.Asks(machine.Idle).When(machine.Commanded(machine.CommandStart)).
			Goto(StateAsked, machine.Send(x.Opening), machine.Arm(machine.TimerRetry)). // also for an act that expects no reply by itself
			Because(x.Opened),
	}
	for _, a := range x.ownAnswers() {
		rows = append(rows, machine.Asks(x.during(StateAsked)...).When(machine.Receive(a.Act)).Goto(a.End).Because(a.Why))
	}
	return rows
}

// askLate returns the rows of an initiator that has ended early and receives an answer that
// expects a reply itself.
func (x Exchange) askLate() []machine.Row {
	var rows []machine.Row
	for _, a := range x.Answers {
		if a.Act.ExpectsReply() {
			rows = append(rows, machine.Asks(StateFailed, StateTimedOut, StateAbandoned, StateMisread).When(machine.Receive(a.Act)).
				Stay(machine.Drop(machine.DropLate)).
				Because("here it ends the conversation, so its sender waits for nothing"))
		}
	}
	return rows
}

// serve returns the rows of the responder from the request to its answer.
func (x Exchange) serve() []machine.Row {
	first, during := JobAnswer, x.during(StateAnswering)
	if x.Consider != "" {
		first, during = JobConsider, []machine.State{StateAgreed}
	}
	rows := []machine.Row{
		machine.Answers(machine.Idle).When(machine.Receive(x.Opening)).
			Goto(StateAnswering, machine.Run(first)).
			Because("the agent's handler takes it on"),
	}
	for _, a := range x.Answers {
		rows = append(rows, machine.Answers(during...).When(machine.Commanded(a.Command)).Goto(a.End, machine.Send(a.Act)).Because(a.Why))
	}
	if x.Denial != nil {
		rows = append(rows, machine.Answers(StateAnswering).When(machine.Commanded(x.Denial.Command)).Goto(x.Denial.End, machine.Send(x.Denial.Act)).Because(x.Denial.Why))
	}
	return rows
}

// agrees returns the rows for an AGREE before the answer.
func (x Exchange) agrees() []machine.Row {
	rows := []machine.Row{
		machine.Asks(StateAsked).When(machine.Receive(performatives.ActAgree)).
			Goto(StateAgreed, machine.Arm(machine.TimerRetry), machine.Report(ReportAgreed)).
			Because("it will be done; agree may be skipped, lost or overtaken (addenda §6)"),
	}
	agrees := machine.Answers(StateAnswering).When(machine.Commanded(CommandAgree))
	if x.Consider != "" {
		return append(rows, agrees.Goto(StateAgreed, machine.Send(performatives.ActAgree), machine.Run(JobAnswer)).
			Because("it will be done, by the next handler"))
	}
	return append(
		rows,
		agrees.Goto(StateAgreed, machine.Send(performatives.ActAgree)).
			Because("it will be done, and takes a while"),
		machine.Answers(StateAgreed).When(machine.Commanded(CommandAgree)).
			Stay(machine.Drop(machine.DropDuplicate)).
			Because("once is enough"),
	)
}

// exchangeReports returns the rows for progress before the answer.
func exchangeReports() []machine.Row {
	asked, agreed := machine.Asks(StateAsked), machine.Asks(StateAgreed)
	return []machine.Row{
		asked.When(machine.Receive(performatives.ActStatusUpdate)).
			Goto(StateAgreed, machine.Report(ReportProgress)).
			Because("it overtook the agreement, which it implies"),
		agreed.When(machine.Receive(performatives.ActStatusUpdate)).
			Stay(machine.Report(ReportProgress)).
			Because("as often as there is news; the last answer says all of it once more, so that a lost one does no harm"),
		agreed.When(machine.Receive(performatives.ActAgree)).
			Stay(machine.Drop(machine.DropLate)).
			Because("progress overtook it, and said more"),
		machine.Answers(StateAnswering).When(machine.Commanded(CommandReport)).
			Goto(StateAgreed, machine.Send(performatives.ActAgree)).
			Because("a report implies the agreement, and a repeated act is answered with that; the last answer says the news again"),
		machine.Answers(StateAgreed).When(machine.Commanded(CommandReport)).
			Stay(machine.Send(performatives.ActStatusUpdate)).
			Because("as often as there is news"),
	}
}
