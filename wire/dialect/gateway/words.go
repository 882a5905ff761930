package gateway

import (
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// ErrorCodes has the code of each reason in a JSON-RPC error, in decimal, and the reason as which
// it is read.
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"-32601": {performatives.CodeUnknownAction, performatives.CodeUnknownPerformative},
	"-32700": {performatives.CodeParsingError},
	"-32602": {performatives.CodeInvalidPayload, performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID},
	"-32600": {performatives.CodeUnexpectedAct, performatives.CodeConversationEnded},
	"-32004": {
		performatives.CodeStopped, performatives.CodeBusy, performatives.CodeMoved, performatives.CodeExpired, performatives.CodeTimeout,
		performatives.CodeDisconnected,
	},
	"-32003": {performatives.CodeUnknownAgent, performatives.CodeIncapable, performatives.CodeNoMatch, performatives.CodeUnknownReference, performatives.CodeCannotDecide},
	"-32001": {
		performatives.CodeUnauthorized, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	"-32002": {performatives.CodeForbidden},
	"-32000": {performatives.CodeRateLimited},
	"-32603": {
		performatives.CodeInternal, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeMiddleware,
		performatives.CodeUnspecified, performatives.CodeFailed, performatives.CodeStillRunning, performatives.CodeBudget,
	},
})
