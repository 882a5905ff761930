package rag

import "github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"

// member is a member of the envelope (Base Message Format).
type member uint8

const (
	memType member = iota
	memSender
	memReceiver
	memTrace
	memTimestamp
	memPayload
	memMetadata
	memToken // extension
)

var memberNames = exchange.Names{"type", "sender", "receiver", "trace_id", "timestamp", "payload", "metadata", "auth_token"}
