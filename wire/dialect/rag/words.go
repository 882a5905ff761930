package rag

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// ErrorCodes has the error_code of each reason in an ERROR_MESSAGE, and the reason as which it is
// read (addenda §3b).
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"UNKNOWN_MESSAGE_TYPE": {performatives.CodeUnknownPerformative, performatives.CodeIncapable, performatives.CodeUnknownAction},
	"INVALID_MESSAGE": {
		performatives.CodeInvalidPayload, performatives.CodeParsingError, performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID,
		performatives.CodeUnexpectedAct, performatives.CodeConversationEnded, performatives.CodeUnknownReference, performatives.CodeCannotDecide,
	},
	"BUSY": {performatives.CodeBusy},
	"UNAUTHORIZED": {
		performatives.CodeUnauthorized, performatives.CodeForbidden, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	"RATE_LIMITED": {performatives.CodeRateLimited},
	"AGENT_NOT_FOUND": {
		performatives.CodeUnknownAgent, performatives.CodeStopped, performatives.CodeMoved, performatives.CodeDisconnected,
		performatives.CodeNoMatch,
	},
	"TIMEOUT": {performatives.CodeTimeout, performatives.CodeExpired},
	"INTERNAL_ERROR": {
		performatives.CodeInternal, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeMiddleware,
		performatives.CodeUnspecified, performatives.CodeFailed, performatives.CodeStillRunning, performatives.CodeBudget,
	},
})
