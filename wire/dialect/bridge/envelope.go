package bridge

import "github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"

// The members of the envelope that this dialect knows (bridge, Base Message Structure; the last two
// are those of addenda §2 and §8), in the order in which they are written.
const (
	memID = iota
	memType
	memSender
	memReceiver
	memTimestamp
	memCorrelation
	memPriority
	memPayload
	memAccepted // of a handshake_response
	memMetadata // extension
)

var memberNames = exchange.Names{
	"message_id", "message_type", "sender_id", "receiver_id", "timestamp", "correlation_id", "priority", "payload", "accepted", "metadata",
}
