package bridge

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of an error (bridge, Error Handling).
const (
	errorCode    = "error_code"
	errorMessage = "error_message"
	errorType    = "error_type"
	errorDetails = "details"
)

// The members of details that this dialect writes. reason_code and payload are extensions, as is
// [performatives.MemberRetryAfter].
const (
	detailsReason  = "reason_code" // a performatives.Code, which is more exact than the error_code
	detailsField   = "field"       // the path of the wrong member
	detailsTool    = "tool_name"
	detailsTools   = "available_tools" // of TOOL_NOT_FOUND
	detailsPayload = "payload"         // of a refusal with an application's message type
)

// The standard error codes.
const (
	codeToolNotFound     = "TOOL_NOT_FOUND"
	codeInvalidArguments = "INVALID_ARGUMENTS"
	codeExecutionFailed  = "EXECUTION_FAILED"
	codeTimeout          = "TIMEOUT"
	codeUnauthorized     = "UNAUTHORIZED"
	codeInternal         = "INTERNAL_ERROR"
)

// ErrorCodes has the error_code of each reason, and the reason as which it is read (addenda §2).
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	codeInvalidArguments: {
		performatives.CodeInvalidPayload, performatives.CodeUnknownPerformative, performatives.CodeParsingError,
		performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID, performatives.CodeUnexpectedAct,
	},
	codeInternal: {
		performatives.CodeInternal, performatives.CodeBusy, performatives.CodeRateLimited, performatives.CodeUnknownAgent,
		performatives.CodeStopped, performatives.CodeMoved, performatives.CodeConversationEnded, performatives.CodeMiddleware,
		performatives.CodeDisconnected,
	},
	codeToolNotFound: {performatives.CodeIncapable, performatives.CodeUnknownAction, performatives.CodeNoMatch, performatives.CodeUnknownReference, performatives.CodeCannotDecide},
	codeUnauthorized: {
		performatives.CodeUnauthorized, performatives.CodeForbidden, performatives.CodeHandshakeRequired, performatives.CodeSealRequired,
		performatives.CodeUnknownKey, performatives.CodeInvalidSeal, performatives.CodeWrongReceiver, performatives.CodeSealExpired,
		performatives.CodeReplayed,
	},
	codeTimeout: {performatives.CodeTimeout, performatives.CodeExpired},
	codeExecutionFailed: {
		performatives.CodeFailed, performatives.CodeCanceled, performatives.CodeRejected, performatives.CodeUnspecified,
		performatives.CodeStillRunning, performatives.CodeBudget,
	},
})

// errorTypes has the error_type of each standard code. The text names not_found only.
var errorTypes = map[string]string{
	codeToolNotFound: "not_found", codeInvalidArguments: "validation", codeExecutionFailed: "execution",
	codeTimeout: "timeout", codeUnauthorized: "authorization", codeInternal: "internal",
}

// usualRefusal returns the act of an error with that code (addenda §2).
func usualRefusal(code string) performatives.Performative {
	switch code {
	case codeToolNotFound, codeUnauthorized:
		return performatives.ActTaskReject
	case codeInvalidArguments:
		return performatives.ActNotUnderstood
	}
	return performatives.ActFailure
}

// error reads an ErrorMessage.
func (d *decoder) error(v []byte) {
	var code, message, category, details []byte
	var rest performatives.Members
	d.rest("payload", v, &rest, jsonscan.Find(errorCode, &code), jsonscan.Find(errorMessage, &message), jsonscan.Find(errorType, &category), jsonscan.Find(errorDetails, &details))
	word := d.name(errorCode, "the code of an error", code)
	if !jsonscan.Is(message, '"') {
		d.Invalid(field(errorMessage), "a string", message)
	}
	d.kinded(errorType, "a string", `"`, category)
	d.kinded(errorDetails, "an object", "{", details)
	if d.act != 0 && !refusals.Has(d.act) {
		d.Wrong("metadata.performative", "the act of a refusal, got %s", d.act.String())
	}
	if d.Refusal != nil {
		return
	}
	d.shape.code = word
	d.out.Performative = d.actOr(usualRefusal(word))
	if d.out.MessageType != "" {
		var content []byte
		jsonscan.Read(details, nil, jsonscan.Find(detailsPayload, &content))
		if usual := typedWord(d.out.Performative); word != usual {
			exchange.Keep(&rest, errorCode, code)
		}
		if jsonscan.Text(message) != d.out.MessageType {
			exchange.Keep(&rest, errorMessage, message)
		}
		if jsonscan.Text(category) != errorTypes[word] {
			exchange.Keep(&rest, errorType, category)
		}
		d.typed(d.out.Performative, content, rest)
		return
	}
	exchange.Keep(&rest, errorType, category)
	exchange.Keep(&rest, errorDetails, details)
	var again []byte
	jsonscan.Read(details, nil, jsonscan.Find(performatives.MemberRetryAfter, &again))
	r := performatives.Refusal{
		Act: d.out.Performative, Code: reasonOf(word, details), Text: jsonscan.Text(message), RetryAfter: performatives.ParseRetryAfter(again),
	}
	d.out.Payload = r.Payload(rest)
}

// reasonOf returns the code of an error: the reason_code of its details where that agrees with the
// error_code.
func reasonOf(word string, details []byte) performatives.Code {
	return ErrorCodes.Read(word, jsonscan.Text(jsonscan.Member(details, detailsReason)))
}
