package performatives

// Code is the reason of a refusal or a failure, as it travels in a message. A protocol may have
// words of its own for the same reason, which its package knows. A Code is an error, so that
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
	CodeUnsupportedLanguage Code = "unsupported_language"
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
	CodeUnknownReference  Code = "unknown_reference"  // the agent has no value of that reference (addenda §9)
	CodeCannotDecide      Code = "cannot_decide"      // the agent does not know whether that statement is true (addenda §9)
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

// CodeTraits is what a [Code] says about the message that it refuses.
type CodeTraits struct {
	Code    Code
	Carrier Performative // the act that carries it when it answers a TASK_REQUEST
	Retry   bool         // the same message may succeed later, unchanged
	Text    string       // a sentence that is safe to show to a peer
}

var codeTable = []CodeTraits{
	{CodeUnknownPerformative, ActNotUnderstood, false, "the performative is unknown"},
	{CodeParsingError, ActNotUnderstood, false, "the message cannot be parsed"},
	{CodeUnknownOntology, ActNotUnderstood, false, "the ontology is unknown"},
	{CodeUnsupportedLanguage, ActNotUnderstood, false, "the language of the payload is not supported"},
	{CodeInvalidPayload, ActNotUnderstood, false, "the message lacks a field or has a wrong one"},
	{CodeInvalidID, ActNotUnderstood, false, "the id of an agent has characters that ids cannot have"},
	{CodeUnexpectedAct, ActNotUnderstood, false, "the act is not expected at this point of the conversation"},
	{CodeBusy, ActTaskReject, true, "the agent is busy"},
	{CodeIncapable, ActTaskReject, false, "the agent cannot do this"},
	{CodeUnauthorized, ActTaskReject, false, "authentication failed"},
	{CodeForbidden, ActTaskReject, false, "this is not permitted"},
	{CodeHandshakeRequired, ActTaskReject, false, "shake hands first"},
	{CodeRateLimited, ActTaskReject, true, "too many messages"},
	{CodeUnknownAgent, ActTaskReject, false, "there is no such agent"},
	{CodeUnknownAction, ActFailure, false, "there is no such action"},
	{CodeUnknownReference, ActTaskReject, false, "there is no such reference"},
	{CodeCannotDecide, ActTaskReject, false, "the agent cannot decide the statement"},
	{CodeStopped, ActTaskReject, true, "the agent has stopped"},
	{CodeMoved, ActFailure, true, "the agent moves to another node, and has given up the work"},
	{CodeExpired, ActTaskReject, false, "the deadline had passed before the work began"},
	{CodeCanceled, ActTaskReject, false, "the request was cancelled"},
	{CodeConversationEnded, ActFailure, false, "the conversation has ended"},
	{CodeRejected, ActTaskReject, false, "the proposal was not taken"},
	{CodeMiddleware, ActTaskReject, true, "a middleware of the node failed"},
	{CodeUnspecified, ActTaskReject, false, "no reason was given"},
	{CodeSealRequired, ActTaskReject, false, "the payload must be sealed"},
	{CodeUnknownKey, ActTaskReject, false, "there is no trusted key of the agent"},
	{CodeInvalidSeal, ActTaskReject, false, "the sealed payload is not authentic"},
	{CodeWrongReceiver, ActTaskReject, false, "the payload was sealed for another agent"},
	{CodeSealExpired, ActTaskReject, false, "the sealed payload is too old, or from the future"},
	{CodeReplayed, ActTaskReject, false, "the sealed payload has been received before"},
	{CodeTimeout, ActFailure, true, "the deadline passed before the work was done"},
	{CodeDisconnected, ActFailure, true, "the agent disconnected"},
	{CodeFailed, ActFailure, false, "the work failed"},
	{CodeStillRunning, ActFailure, false, "the work was cancelled and has not stopped yet"},
	{CodeNoMatch, ActFailure, true, "no agent was found for this"},
	{CodeBudget, ActFailure, false, "the budget does not suffice"},
	{CodeInternal, ActFailure, true, "the agent failed"},
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
