package rossnet

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

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
	"E003": {
		performatives.CodeInvalidPayload, performatives.CodeUnknownPerformative, performatives.CodeParsingError,
		performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID, performatives.CodeUnexpectedAct,
		performatives.CodeConversationEnded,
	},
	"E005": {performatives.CodeIncapable, performatives.CodeUnknownAction, performatives.CodeNoMatch, performatives.CodeUnknownReference, performatives.CodeCannotDecide},
	"E001": {
		performatives.CodeUnauthorized, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	"E002": {performatives.CodeForbidden},
	codeDependency: {
		performatives.CodeBusy, performatives.CodeRateLimited, performatives.CodeMoved, performatives.CodeDisconnected,
		performatives.CodeBudget,
	},
	"E004": {performatives.CodeUnknownAgent, performatives.CodeStopped},
	"E006": {performatives.CodeTimeout, performatives.CodeExpired},
	"E999": {
		performatives.CodeFailed, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeUnspecified,
		performatives.CodeStillRunning,
	},
	"E008": {performatives.CodeInternal, performatives.CodeMiddleware},
})
