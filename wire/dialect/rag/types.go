package rag

import (
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The types of the specification (Message Types).
const (
	typeIngestion = "DOCUMENT_INGESTION"
	typeRetrieval = "RETRIEVAL_REQUEST"
	typeRetrieved = "RETRIEVAL_RESULT"
	typeResponse  = "RESPONSE_REQUEST"
	typeResponded = "RESPONSE_RESULT"
	typeError     = "ERROR_MESSAGE"
)

// The types that carry an AgentRegistration and the health of an agent (Custom Agent Extensions,
// Agent Health Monitoring). The specification has the objects, and no type for them.
const (
	typeRegistration = "AGENT_REGISTRATION"
	typeRegistered   = "AGENT_REGISTRATION_RESULT"
	typeStatus       = "AGENT_STATUS"
)

// natural has the act of each type that has one by itself: the types above, and the names of the
// acts.
var natural = exchange.WithActs(map[string]performatives.Performative{
	typeIngestion: performatives.ActTaskRequest, typeRetrieval: performatives.ActTaskRequest, typeResponse: performatives.ActTaskRequest,
	typeRetrieved: performatives.ActInformResult, typeResponded: performatives.ActInformResult, typeError: performatives.ActFailure,
	typeRegistration: performatives.ActQueryCapabilities, typeRegistered: performatives.ActInformCapabilities, typeStatus: performatives.ActQueryCapabilities,
})

// Reserves reports whether the dialect has a type of that name itself: one of the specification, of
// registration and health, or the name of an act. A message type of an application should have
// another name.
func Reserves(name string) bool {
	_, known := natural[name]
	return known
}

// specific has the specification's six types.
var specific = []string{typeIngestion, typeRetrieval, typeRetrieved, typeResponse, typeResponded, typeError}

// taskType returns the type of the task that a message of that type asks for (addenda §2).
func taskType(kind string) string { return strings.ToLower(kind) }

// typeOfTask returns the type of the message that asks for a task, or "" where no type stands for
// exactly that task: the message is then a TASK_REQUEST by name. came is the type of the message
// that was decoded, if any: its case may differ from the usual.
func typeOfTask(task, came string, r *performatives.Registry) string {
	kind := strings.ToUpper(task)
	if taskType(came) == task {
		kind = came
	}
	act, known := natural[kind]
	_, registered := r.MessageTypeAct(kind)
	_, named := performatives.ParsePerformative(kind)
	switch {
	case taskType(kind) != task, performatives.CheckMessageType(kind) != nil, registered:
		return ""
	case known && (act != performatives.ActTaskRequest || named == nil):
		return ""
	}
	return kind
}

// The members of the envelope (Base Message Format).
const (
	memType = iota
	memSender
	memReceiver
	memTrace
	memTimestamp
	memPayload
	memMetadata
	memToken // extension
)

var memberNames = exchange.Names{"type", "sender", "receiver", "trace_id", "timestamp", "payload", "metadata", "auth_token"}

// ErrorCodes has the error_code of each reason in an ERROR_MESSAGE, and the reason as which it is
// read (addenda §3b).
var ErrorCodes = wire.WordsOf(map[string][]performatives.Code{
	"UNKNOWN_MESSAGE_TYPE": {performatives.CodeUnknownPerformative, performatives.CodeIncapable, performatives.CodeUnknownAction},
	"INVALID_MESSAGE": {
		performatives.CodeInvalidPayload, performatives.CodeParsingError, performatives.CodeUnknownOntology, performatives.CodeUnsupportedLanguage, performatives.CodeInvalidID,
		performatives.CodeUnexpectedAct, performatives.CodeConversationEnded, performatives.CodeUnknownReference, performatives.CodeCannotDecide,
	},
	"BUSY":         {performatives.CodeBusy},
	"UNAUTHORIZED": slices.Concat(exchange.Untrusted, []performatives.Code{performatives.CodeForbidden}),
	"RATE_LIMITED": {performatives.CodeRateLimited},
	"AGENT_NOT_FOUND": {
		performatives.CodeUnknownAgent, performatives.CodeStopped, performatives.CodeMoved, performatives.CodeDisconnected,
		performatives.CodeNoMatch,
	},
	"TIMEOUT":        exchange.Late,
	"INTERNAL_ERROR": slices.Concat([]performatives.Code{performatives.CodeInternal, performatives.CodeMiddleware, performatives.CodeBudget}, exchange.Failed),
})
