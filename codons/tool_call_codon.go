package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

func toolCallCodon() Codon {
	return Codon{
		Table: ToolCallTable(),
		Payloads: []Payload{
			{performatives.ActTaskRequest, performatives.TaskRequest{}, "task_type is the tool's name, and task_parameters its arguments"},
			{performatives.ActInformResult, performatives.InformResult{}, "result_details is the tool's result; a task_status that is no success is its no"},
			{performatives.ActTaskReject, performatives.TaskReject{}, "there is no such tool, or the caller may not use it"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL"},
		},
		Sees: map[machine.State]string{
			stateAnswered: "the result, or a *ToolError where the tool says no",
		},
		Example: "ExampleCallTool",
	}
}
