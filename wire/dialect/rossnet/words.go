package rossnet

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// ErrorCodes has the error_code of each reason in TASK_FAIL and ERROR (rossnet §7), and the reason
// as which it is read.
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"E003": {
		performatives.CodeInvalidPayload, performatives.CodeUnknownPerformative, performatives.CodeParsingError,
		performatives.CodeUnknownOntology, performatives.CodeInvalidID, performatives.CodeUnexpectedAct,
		performatives.CodeConversationEnded,
	},
	"E009": {performatives.CodeBusy},
	"E005": {performatives.CodeIncapable, performatives.CodeUnknownAction, performatives.CodeNoMatch},
	"E001": {
		performatives.CodeUnauthorized, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	"E002": {performatives.CodeForbidden},
	"E007": {
		performatives.CodeStopped, performatives.CodeRateLimited, performatives.CodeMoved, performatives.CodeDisconnected,
		performatives.CodeBudget,
	},
	"E004": {performatives.CodeUnknownAgent},
	"E006": {performatives.CodeTimeout, performatives.CodeExpired},
	"E999": {
		performatives.CodeFailed, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeUnspecified,
		performatives.CodeStillRunning,
	},
	"E008": {performatives.CodeInternal, performatives.CodeMiddleware},
})
