package rossnet

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the envelope (rossnet §3).
const (
	memHeader  = "mcp_header"
	memPayload = "payload"
)

var envelopeNames = exchange.Names{memHeader, memPayload}

// The members of mcp_header (rossnet §3), and those that clients in the field write (addenda §4).
const (
	memID = iota
	memCorrelation
	memSender
	memRecipient
	memAgent   // of the field
	memService // of the field
	memTimestamp
	memVersion
	memKind
	memToken
	memTask
)

// headerNames has their names, in the order of the specification.
var headerNames = exchange.Names{
	"message_id", "correlation_id", "sender_id", "recipient_id", "target_agent_id", "target_service", "timestamp", "version",
	"message_type", "auth_token", "task_metadata",
}

// isOfHeader reports whether mcp_header has a member of that name.
func isOfHeader(name string) bool { return headerNames.Find([]byte(name)) < len(headerNames) }

// scan checks the JSON and finds the members of the header. After a refusal, d has the members that
// were found before the fault.
func (d *decoder) scan(data []byte) {
	d.Names, d.Path = headerNames, memHeader+"."
	s, bad := exchange.Open(data, d.codec.opts.MaxBytes, d.codec.depth)
	if bad == nil && !d.envelope.Scan(&s, envelopeNames) {
		bad = exchange.Broken(s.Problem())
	}
	header := d.envelope.Values[0]
	d.payload = d.envelope.Values[1]
	if jsonscan.Is(header, '{') {
		s := jsonscan.Scanner{Data: header, Depth: exchange.MaxDepth}
		if !d.Scan(&s, headerNames) && bad == nil {
			bad = exchange.Broken(memHeader + ": " + s.Problem())
		}
	} else if bad == nil {
		bad = exchange.Invalid(memHeader, "an object", header)
	}
	d.Refusal = bad
}

// membersOf returns the members of an object that has been scanned before. No member may come
// twice.
func membersOf(path string, object []byte) (all performatives.Members, bad *performatives.Refusal) {
	all = make(performatives.Members)
	for n, v := range jsonscan.Members(object) {
		name := string(n)
		if _, twice := all[name]; twice {
			return all, exchange.Broken(path + ": want no second " + name)
		}
		if len(all) == exchange.MaxUnknown {
			return all, exchange.Wrong(path, "at most 1,024 members")
		}
		all[name] = v
	}
	return all, nil
}
