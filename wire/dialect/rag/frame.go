package rag

import "github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"

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
