package tool

import (
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Codon is the codon of a tool call: its table, its payloads and its documentation.
var Codon = codons.MustDefine(codons.Definition{
	Table:    table(),
	Complete: true,
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
