package bridge

import "github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"

// member is a member of the envelope that this dialect knows (bridge, Base Message Structure;
// the last two are those of addenda §2 and §8), in the order in which they are written.
type member uint8

const (
	memID member = iota
	memType
	memSender
	memReceiver
	memTimestamp
	memCorrelation
	memPriority
	memPayload
	memAccepted // of a handshake_response
	memMetadata // extension
	memberCount
)

var memberNames = exchange.Names{
	"message_id", "message_type", "sender_id", "receiver_id", "timestamp", "correlation_id", "priority", "payload", "accepted", "metadata",
}

// memberSet is a set of members, one bit each.
type memberSet uint16

func (s memberSet) has(m member) bool { return s&(1<<m) != 0 }
