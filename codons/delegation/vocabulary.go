package delegation

import "github.com/ribosome-agents/ribosome/codons/machine"

// States of a delegation that other codons do not have.
const (
	StateRequested   machine.State = "requested"    // initiator: the task was sent and has no answer yet
	StateInputNeeded machine.State = "input_needed" // a partial result asks for more input
)

// CommandNeedInput sends a partial result and a request for more input. It is a command of
// the responder.
const CommandNeedInput = "need_input"

// TagInput marks an INFORM_RESULT that asks for input: task_status
// partial_success with result_details.request_for_user (addenda §3).
const TagInput = "input"

// Reports of a delegation to its initiator.
const (
	ReportAccepted = "accepted" // the payload of a TASK_ACCEPT
	ReportInput    = "input"    // the partial result, with the input that the worker needs
)
