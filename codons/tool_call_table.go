package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ToolCallTable returns the codon of a tool call (bridge, Request/Response Flow;
// addenda §2). It is a delegation without its acceptance, its progress and its
// further rounds: who wants those delegates the tool's task.
func ToolCallTable() machine.Table {
	t := exchange{
		name: "tool-call", title: "Tool call",
		purpose: "One agent has another run a tool: a TASK_REQUEST whose task type is the tool's name and whose parameters are its arguments. " +
			"Arguments that do not fit the tool's schema are not understood, with the reason; a tool that is not there is rejected.",
		source:  "bridge, Request/Response Flow and Error Handling; addenda §2; FIPA Request Interaction Protocol (SC00026H)",
		opening: performatives.ActTaskRequest,
		denial:  &answerAct{commandRefuse, performatives.ActTaskReject, stateRejected, "never taken on (acl §4.5)"},
		opened:  "the agent needs a tool of another",
		job:     "the arguments are checked, then the tool runs",
		answers: []answerAct{
			{commandAnswer, performatives.ActInformResult, stateAnswered, "the tool's result, or its no (addenda §2)"},
		},
	}.table()
	t.Rows = append(t.Rows, asks(stateAsked).When(
		machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate),
	).
		Stay(machine.Report(reportProgress)).
		Because("a peer outside takes the call for a delegation; its result is the same"))
	return t
}
