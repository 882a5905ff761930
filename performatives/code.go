package performatives

// Code is the reason of a refusal or a failure, as it travels in a message. Each
// specification has words of its own for the same reason; [CodeTraits] is the one
// table of them. A Code is an error, so that
//
//	errors.Is(err, performatives.CodeBusy)
//
// asks whether err is a refusal for that reason.
type Code string

// The codes. A code that acl names keeps acl's spelling (acl §4.5, §4.7,
// addenda §3); the rest follow it.
const (
	// Of a message that could not be understood.

	CodeUnknownPerformative Code = "unknown_performative"
	CodeParsingError        Code = "parsing_error"
	CodeUnknownOntology     Code = "unknown_ontology"
	CodeInvalidPayload      Code = "invalid_payload_structure"
	CodeInvalidID           Code = "invalid_id"     // the id of an agent could look like another one: see [CheckID]
	CodeUnexpectedAct       Code = "unexpected_act" // the conversation accepts no such act in its state

	// Of a message or task that was not taken on.

	CodeBusy              Code = "busy"               // a mailbox or a concurrency limit is full; retry later
	CodeIncapable         Code = "incapable"          // the agent does not perform such tasks
	CodeUnauthorized      Code = "unauthorized"       // the sender has not authenticated
	CodeForbidden         Code = "forbidden"          // the sender has authenticated and has no permission
	CodeHandshakeRequired Code = "handshake_required" // the sender must send the handshake first
	CodeRateLimited       Code = "rate_limited"       // too many messages; retry later
	CodeUnknownAgent      Code = "agent_not_found"    // no agent has that id
	CodeUnknownAction     Code = "action_not_found"   // the agent has no action of that name
	CodeStopped           Code = "agent_stopped"      // the agent or its node stops or has stopped
	CodeMoved             Code = "moved"              // the agent moves to another node of the cluster, and the work was given up
	CodeExpired           Code = "deadline_expired"   // ReplyBy passed before the work began
	CodeCanceled          Code = "canceled"           // the initiator withdrew it
	CodeConversationEnded Code = "conversation_ended" // the conversation is over
	CodeRejected          Code = "rejected"           // the proposal was not taken
	CodeMiddleware        Code = "middleware_failed"  // a middleware of the node failed, or did not return in time
	CodeUnspecified       Code = "unspecified"        // the peer gave no reason

	// Of a sealed payload: see [Message.Sealed].

	CodeSealRequired  Code = "seal_required"  // the payload is not sealed, and the agent takes no others
	CodeUnknownKey    Code = "unknown_key"    // there is no trusted key of that agent, or not that one
	CodeInvalidSeal   Code = "invalid_seal"   // it cannot be decrypted, its signature is wrong, or it belongs to another message
	CodeWrongReceiver Code = "wrong_receiver" // it was sealed for another agent
	CodeSealExpired   Code = "seal_expired"   // it is too old, or from the future
	CodeReplayed      Code = "replayed"       // it has been received before

	// Of work that was taken on and could not be carried out.

	CodeTimeout      Code = "timeout"          // ReplyBy passed before the answer
	CodeFailed       Code = "execution_failed" // the handler returned an error
	CodeDisconnected Code = "disconnected"     // the connection to the agent was lost before its answer
	CodeStillRunning Code = "still_running"    // cancelled, and the handler has not returned
	CodeNoMatch      Code = "no_match"         // no agent was found that can perform it and accepts it
	CodeBudget       Code = "budget_exceeded"  // the allowance for it does not suffice
	CodeInternal     Code = "internal_error"   // a panic, or a fault of the runtime
)

// CodeTraits is how one [Code] appears in each of the specifications.
type CodeTraits struct {
	Code    Code
	Carrier Performative // the act that carries it when it answers a TASK_REQUEST
	Retry   bool         // the same message may succeed later, unchanged
	Text    string       // a sentence that is safe to show to a peer

	Bridge  string // error_code of a bridge error message
	RAG     string // error_code of a rag ERROR_MESSAGE
	RossNet string // error_code of a rossnet TASK_FAIL or ERROR
	Wire    string // error.code of the wire envelope
	HTTP    int    // status of an HTTP answer: the equivalent of Wire
	JSONRPC int    // error code in an mcp_payload
}

var codeTable = []CodeTraits{
	{CodeUnknownPerformative, ActNotUnderstood, false, "the performative is unknown", "INVALID_ARGUMENTS", "UNKNOWN_MESSAGE_TYPE", "E003", "INVALID_REQUEST", 400, -32601},
	{CodeParsingError, ActNotUnderstood, false, "the message cannot be parsed", "INVALID_ARGUMENTS", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32700},
	{CodeUnknownOntology, ActNotUnderstood, false, "the ontology is unknown", "INVALID_ARGUMENTS", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32602},
	{CodeInvalidPayload, ActNotUnderstood, false, "the message lacks a field or has a wrong one", "INVALID_ARGUMENTS", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32602},
	{CodeInvalidID, ActNotUnderstood, false, "the id of an agent has characters that ids cannot have", "INVALID_ARGUMENTS", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32602},
	{CodeUnexpectedAct, ActNotUnderstood, false, "the act is not expected at this point of the conversation", "INVALID_ARGUMENTS", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32600},
	{CodeBusy, ActTaskReject, true, "the agent is busy", "INTERNAL_ERROR", "BUSY", "E009", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeIncapable, ActTaskReject, false, "the agent cannot do this", "TOOL_NOT_FOUND", "UNKNOWN_MESSAGE_TYPE", "E005", "NOT_FOUND", 404, -32003},
	{CodeUnauthorized, ActTaskReject, false, "authentication failed", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeForbidden, ActTaskReject, false, "this is not permitted", "UNAUTHORIZED", "UNAUTHORIZED", "E002", "FORBIDDEN", 403, -32002},
	{CodeHandshakeRequired, ActTaskReject, false, "shake hands first", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeRateLimited, ActTaskReject, true, "too many messages", "INTERNAL_ERROR", "RATE_LIMITED", "E007", "RATE_LIMIT_EXCEEDED", 429, -32000},
	{CodeUnknownAgent, ActTaskReject, false, "there is no such agent", "INTERNAL_ERROR", "AGENT_NOT_FOUND", "E004", "NOT_FOUND", 404, -32003},
	{CodeUnknownAction, ActFailure, false, "there is no such action", "TOOL_NOT_FOUND", "UNKNOWN_MESSAGE_TYPE", "E005", "NOT_FOUND", 404, -32601},
	{CodeStopped, ActTaskReject, true, "the agent has stopped", "INTERNAL_ERROR", "AGENT_NOT_FOUND", "E007", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeMoved, ActFailure, true, "the agent moves to another node, and has given up the work", "INTERNAL_ERROR", "AGENT_NOT_FOUND", "E007", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeExpired, ActTaskReject, false, "the deadline had passed before the work began", "TIMEOUT", "TIMEOUT", "E006", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeCanceled, ActTaskReject, false, "the request was cancelled", "EXECUTION_FAILED", "INTERNAL_ERROR", "E999", "INVALID_REQUEST", 400, -32603},
	{CodeConversationEnded, ActFailure, false, "the conversation has ended", "INTERNAL_ERROR", "INVALID_MESSAGE", "E003", "INVALID_REQUEST", 400, -32600},
	{CodeRejected, ActTaskReject, false, "the proposal was not taken", "EXECUTION_FAILED", "INTERNAL_ERROR", "E999", "INVALID_REQUEST", 400, -32603},
	{CodeMiddleware, ActTaskReject, true, "a middleware of the node failed", "INTERNAL_ERROR", "INTERNAL_ERROR", "E008", "INTERNAL_ERROR", 500, -32603},
	{CodeUnspecified, ActTaskReject, false, "no reason was given", "EXECUTION_FAILED", "INTERNAL_ERROR", "E999", "INTERNAL_ERROR", 500, -32603},
	{CodeSealRequired, ActTaskReject, false, "the payload must be sealed", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeUnknownKey, ActTaskReject, false, "there is no trusted key of the agent", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeInvalidSeal, ActTaskReject, false, "the sealed payload is not authentic", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeWrongReceiver, ActTaskReject, false, "the payload was sealed for another agent", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeSealExpired, ActTaskReject, false, "the sealed payload is too old, or from the future", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeReplayed, ActTaskReject, false, "the sealed payload has been received before", "UNAUTHORIZED", "UNAUTHORIZED", "E001", "UNAUTHORIZED", 401, -32001},
	{CodeTimeout, ActFailure, true, "the deadline passed before the work was done", "TIMEOUT", "TIMEOUT", "E006", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeDisconnected, ActFailure, true, "the agent disconnected", "INTERNAL_ERROR", "AGENT_NOT_FOUND", "E007", "SERVICE_UNAVAILABLE", 503, -32004},
	{CodeFailed, ActFailure, false, "the work failed", "EXECUTION_FAILED", "INTERNAL_ERROR", "E999", "INTERNAL_ERROR", 500, -32603},
	{CodeStillRunning, ActFailure, false, "the work was cancelled and has not stopped yet", "EXECUTION_FAILED", "INTERNAL_ERROR", "E999", "INTERNAL_ERROR", 500, -32603},
	{CodeNoMatch, ActFailure, true, "no agent was found for this", "TOOL_NOT_FOUND", "AGENT_NOT_FOUND", "E005", "NOT_FOUND", 404, -32003},
	{CodeBudget, ActFailure, false, "the budget does not suffice", "EXECUTION_FAILED", "INTERNAL_ERROR", "E007", "INTERNAL_ERROR", 500, -32603},
	{CodeInternal, ActFailure, true, "the agent failed", "INTERNAL_ERROR", "INTERNAL_ERROR", "E008", "INTERNAL_ERROR", 500, -32603},
}

var codeIndex = func() map[Code]CodeTraits {
	m := make(map[Code]CodeTraits, len(codeTable))
	for _, t := range codeTable {
		m[t.Code] = t
	}
	return m
}()

// Codes returns the table of codes, in the order of their constants. The slice
// is the caller's.
func Codes() []CodeTraits { return append([]CodeTraits(nil), codeTable...) }

// Traits returns the row of c in the table. An unknown code, such as one that a peer
// invented, has the row of [CodeInternal] under its own name, without Retry.
func (c Code) Traits() CodeTraits {
	t, ok := codeIndex[c]
	if !ok {
		t = codeIndex[CodeInternal]
		t.Code, t.Retry = c, false
	}
	return t
}

// Known reports whether c is in the table.
func (c Code) Known() bool { _, ok := codeIndex[c]; return ok }

// Error returns the code itself, so that a Code can be the target of errors.Is.
func (c Code) Error() string { return string(c) }
