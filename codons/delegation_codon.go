package codons

import (
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// delegationCodon is [DelegationTable] with what its documentation adds.
func delegationCodon() Codon {
	return Codon{
		Table:   DelegationTable(),
		Example: "ExampleDelegate",
		Tag:     (*Delegated)(nil).tag,
		Sees: map[machine.State]string{
			stateCompleted: "the result; the partial one where a further round was not served, and Delegated.Unserved says why",
		},
		Payloads: []Payload{
			{performatives.ActTaskRequest, performatives.TaskRequest{}, "the task; in a further round, what the worker still needed"},
			{performatives.ActTaskAccept, performatives.TaskAccept{}, "the task is taken on, perhaps with an estimate"},
			{performatives.ActTaskReject, performatives.TaskReject{}, "it is not, and why"},
			{performatives.ActStatusUpdate, performatives.StatusUpdate{}, "how far the work has come"},
			{performatives.ActInformResult, performatives.InformResult{}, "the result. A partial one whose `request_for_user` says what is missing asks for a further round"},
			{performatives.ActInform, performatives.Receipt{}, "the receipt for a CANCEL: nothing runs any more"},
		},
	}
}
