package acl

import "github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"

// The members of the envelope that this dialect knows (acl §3; the extensions are those of addenda
// §1), in the order in which they are written.
const (
	memVersion = iota
	memID
	memPerformative
	memSender
	memReceiver
	memInReplyTo
	memReplyWith
	memConversation // extension
	memReplyBy      // extension
	memProtocol     // extension
	memMessageType  // extension (addenda §8)
	memTrace        // extension
	memBudget       // extension
	memLanguage
	memOntology
	memTimestamp
	memPayload
)

var memberNames = exchange.Names{
	"mcp_version", "message_id", "performative", "sender", "receiver", "in_reply_to", "reply_with",
	"conversation_id", "reply_by", "protocol", "message_type", "trace", "budget", "language", "ontology", "timestamp", "payload",
}

// optional has the members that are written if and only if their field is set.
var optional = ^exchange.SetOf(memVersion, memID, memConversation, memLanguage, memTimestamp, memPayload)

// The members of a payload that this dialect reads itself.
const (
	nestedPriority = iota
	nestedStatus
	nestedTask
)

var nestedNames = exchange.Names{"priority", "task_status", "task_type"}
