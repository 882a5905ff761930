package rossnet

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The message types (addenda §4).
const (
	kindAssign      = "TASK_ASSIGN"
	kindAcknowledge = "TASK_ACKNOWLEDGE"
	kindStatus      = "STATUS_UPDATE"
	kindComplete    = "TASK_COMPLETE"
	kindFail        = "TASK_FAIL"
	kindRegister    = "DISCOVERY_REGISTER"
	kindQuery       = "DISCOVERY_QUERY"
	kindResponse    = "DISCOVERY_RESPONSE"
	kindAck         = "DISCOVERY_ACK"
	kindPing        = "PING"
	kindPong        = "PONG"
	kindError       = "ERROR"
	kindUserRequest = "PROCESS_USER_REQUEST" // of the field (addenda §9)
)

// natural has the act of each type of the specification, and of the name of each act. That of
// TASK_ACKNOWLEDGE depends on its status.
var natural = exchange.WithActs(map[string]performatives.Performative{
	kindAssign: performatives.ActTaskRequest, kindAcknowledge: performatives.ActTaskAccept, kindStatus: performatives.ActStatusUpdate,
	kindComplete: performatives.ActInformResult, kindFail: performatives.ActFailure, kindError: performatives.ActFailure,
	kindRegister: performatives.ActQueryCapabilities, kindAck: performatives.ActInformCapabilities,
	kindQuery: performatives.ActQueryRef, kindResponse: performatives.ActInformRef,
	kindPing: 0, kindPong: 0, kindUserRequest: performatives.ActTaskRequest,
})

// Reserves reports whether the dialect has a type of that name itself: one of the specification, or
// the name of an act. A message type of an application should have another name.
func Reserves(name string) bool {
	_, known := natural[name]
	return known
}

// noes has the types of refusals, of failures and of the answer to a PING. A message of such a type
// gets no ERROR, except for a malformed TASK_FAIL.
var noes = []string{kindError, kindFail, kindPong, "NOT_UNDERSTOOD", "FAILURE", "REFUSE"}

// startsWork reports whether an act asks for something new.
func startsWork(act performatives.Performative) bool {
	return act.ExpectsReply() && !act.IsReply() && act != performatives.ActPropose && act != performatives.ActCancel
}

const (
	// codeRejected is the error_code of each TASK_ACKNOWLEDGE that rejects a task, and of nothing
	// else (addenda §9). reason_code has the reason; without it, the worker is busy.
	codeRejected = "E009"

	// codeDependency says that a service has failed which the worker needs. It is read as
	// dependencyFailed, unless a reason_code is beside it.
	codeDependency = "E007"
)

const dependencyFailed performatives.Code = "dependency_failed"

// ErrorCodes has the error_code of each reason in TASK_FAIL and ERROR (rossnet §7), and the reason
// as which it is read.
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"E003": slices.Concat(exchange.Malformed, []performatives.Code{performatives.CodeConversationEnded}),
	"E005": exchange.Unable,
	"E001": exchange.Untrusted,
	"E002": {performatives.CodeForbidden},
	codeDependency: {
		performatives.CodeBusy, performatives.CodeRateLimited, performatives.CodeMoved, performatives.CodeDisconnected,
		performatives.CodeBudget,
	},
	"E004": {performatives.CodeUnknownAgent, performatives.CodeStopped},
	"E006": exchange.Late,
	"E999": exchange.Failed,
	"E008": {performatives.CodeInternal, performatives.CodeMiddleware},
})
