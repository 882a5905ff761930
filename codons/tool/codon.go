package tool

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the codon of a tool call: its table, its payloads and its documentation.
var Codon = codons.MustDefine(codons.Definition{
	Table: table(),
	Payloads: []codons.Payload{
		{Act: performatives.ActTaskRequest, Type: performatives.TaskRequest{}, Doc: "task_type is the name of the tool, and task_parameters are its arguments"},
		{Act: performatives.ActInformResult, Type: performatives.InformResult{}, Commands: []string{standard.CommandAnswer}, Doc: "result_details is the result of the tool; a task_status other than success says that the tool could not do it"},
		{Act: performatives.ActTaskReject, Type: performatives.TaskReject{}, Doc: "the agent has no such tool, or the caller may not use it"},
	},
	Outcomes: map[machine.State]string{
		standard.StateAnswered: "the result, or a *tool.Error for a task_status other than success",
		standard.StateRejected: "an `EndError` with the code and the text that the peer gave",
	},
	Example: "ExampleCall",
})

// table returns the table of a tool call (bridge, Request/Response Flow; addenda §2): a
// delegation without acceptance, progress and further rounds.
func table() machine.Table {
	t := standard.Exchange{
		Name: "tool-call", Title: "Tool call",
		Purpose: "One agent has another run a tool: a TASK_REQUEST whose task type is the tool's name and whose parameters are its arguments. " +
			"Arguments that do not fit the tool's schema are not understood, with the reason. A call of a tool that the agent does not have is rejected.",
		Source:  "bridge, Request/Response Flow and Error Handling; addenda §2; FIPA Request Interaction Protocol (SC00026H)",
		Opening: performatives.ActTaskRequest,
		Denial:  &standard.AnswerAct{Command: standard.CommandRefuse, Act: performatives.ActTaskReject, End: standard.StateRejected, Why: "the call was not taken on (acl §4.5)"},
		Opened:  "the agent needs a tool of another",
		Job:     "the arguments are checked, then the tool runs",
		Answers: []standard.AnswerAct{
			{Command: standard.CommandAnswer, Act: performatives.ActInformResult, End: standard.StateAnswered, Why: "the result of the tool, whether success or failure (addenda §2)"},
		},
	}.Own()
	t.Rows = append(t.Rows, machine.Asks(standard.StateAsked).When(
		machine.Receive(performatives.ActTaskAccept), machine.Receive(performatives.ActStatusUpdate),
	).
		Stay(machine.Report(standard.ReportProgress)).
		Because("a peer outside of the runtime may answer as in a delegation; its result is the same"))
	return t
}
