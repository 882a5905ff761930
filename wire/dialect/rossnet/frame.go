package rossnet

import (
	"fmt"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the envelope and of mcp_header (rossnet §3), and those that clients in the field
// write (addenda §4).
const (
	memHeader      = "mcp_header"
	memPayload     = "payload"
	memID          = "message_id"
	memCorrelation = "correlation_id"
	memSender      = "sender_id"
	memRecipient   = "recipient_id"
	memAgent       = "target_agent_id" // of the field
	memService     = "target_service"  // of the field
	memTimestamp   = "timestamp"
	memVersion     = "version"
	memKind        = "message_type"
	memToken       = "auth_token"
	memTask        = "task_metadata"
)

// headerNames has the members of mcp_header in the order of the specification.
var headerNames = []string{
	memID, memCorrelation, memSender, memRecipient, memAgent, memService, memTimestamp, memVersion, memKind, memToken, memTask,
}

// frame has the members of an envelope, before they are decoded. All values are slices of the data.
type frame struct {
	header  map[string][]byte
	payload []byte // nil = absent
	unknown map[string][]byte
}

// scan checks the JSON and finds the members. After a refusal, f has the members that were found
// before the fault.
func (f *frame) scan(data []byte, maxBytes, depth int) *performatives.Refusal {
	s, fault := exchange.Open(data, maxBytes, depth)
	if fault == nil && (!s.Value() || !s.End()) {
		fault = exchange.Broken(s.Problem())
	}
	if fault != nil {
		return fault
	}
	top, fault := membersOf("message", data)
	f.payload = top[memPayload]
	header := top[memHeader]
	delete(top, memPayload)
	delete(top, memHeader)
	f.unknown = top
	if fault != nil {
		return fault
	}
	if !jsonscan.Is(header, '{') {
		return exchange.Invalid(memHeader, "an object", header)
	}
	f.header, fault = membersOf(memHeader, header)
	return fault
}

// membersOf returns the members of an object that has been scanned before. No member may come
// twice.
func membersOf(path string, object []byte) (all map[string][]byte, fault *performatives.Refusal) {
	all = make(map[string][]byte)
	for n, v := range jsonscan.Members(object) {
		name := string(n)
		_, twice := all[name]
		switch {
		case twice:
			return all, &performatives.Refusal{Code: performatives.CodeParsingError, Field: path, Text: fmt.Sprintf("%s: want no second %.64q", path, name)}
		case len(all) == exchange.MaxUnknown:
			return all, &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: path, Text: path + ": want at most 1,024 members"}
		default:
			all[name] = v
		}
	}
	return all, nil
}
