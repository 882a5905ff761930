package gateway

import (
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The prefixes of members of the envelope and of the JSON-RPC message in the metadata of a
// message. Members of the envelope's metadata have no prefix.
const (
	prefixEnvelope = "envelope."
	prefixPayload  = "mcp_payload."

	metadataCorrelation = prefixEnvelope + "correlation_id" // correlation_id of a request, for tracing
	metadataMethod      = prefixPayload + "method"          // method of a notification
)

// readMetadata reads the members of metadata. Two of them are fields of the message.
func (e *envelope) readMetadata(v []byte) {
	if !jsonscan.IsNone(v) && !jsonscan.Is(v, '{') {
		e.Invalid("metadata", "an object", v)
	}
	for name, v := range jsonscan.Members(v) {
		switch name := string(name); {
		case name == "timeout_ms" && jsonscan.IsNull(v):
		case name == "timeout_ms":
			ms, _ := strconv.ParseFloat(string(v), 64) // 0 if it is no number
			if ms <= 0 || ms > float64(maxTimeout/time.Millisecond) {
				e.Refuse(exchange.Wrong("metadata.timeout_ms", "a number of milliseconds above 0"))
			}
			e.timeout = max(time.Duration(ms*float64(time.Millisecond)), 1)
		case name != "priority":
			e.keep(name, v)
		case !jsonscan.IsNull(v):
			p, ok := exchange.Priority(v)
			if !ok {
				e.Refuse(exchange.Wrong("metadata.priority", "low, medium, normal, high, urgent or 1 to 5"))
			}
			e.priority = p
			e.keep(name, v) // to be written unchanged
		}
	}
}

// maxTimeout is the longest deadline of a request.
const maxTimeout = 100 * 365 * 24 * time.Hour

// keep stores a member without a field in the metadata. It drops a member with the name
// of a credential: messages may be logged and shown.
func (e *envelope) keep(name string, v []byte) {
	if secret(name) || e.Refusal != nil { // a refused envelope makes no message
		return
	}
	switch _, twice := e.metadata[name]; {
	case twice:
		e.Wrong("", "no second %.64q", strings.TrimPrefix(name, prefixEnvelope))
	case len(e.metadata) >= maxMembers:
		e.Wrong("", "at most %d members", maxMembers)
	default:
		exchange.Keep(&e.metadata, name, v)
	}
}

// public is [exchange.Rest] without the members with the name of a credential.
func public(members *performatives.Members) func(name string, v []byte) {
	rest := exchange.Rest(members)
	return func(name string, v []byte) {
		if !secret(name) {
			rest(name, v)
		}
	}
}

// secret reports whether a member has the name of a credential.
func secret(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, prefixEnvelope), prefixPayload)
	return spells(name, "authtoken") || spells(name, "authorization")
}

// spells reports whether name is word, without regard to case, - and _.
func spells(name, word string) bool {
	for _, c := range []byte(name) {
		switch {
		case c == '_' || c == '-':
			continue
		case word == "" || c|0x20 != word[0]:
			return false
		}
		word = word[1:]
	}
	return word == ""
}

// writeMetadata writes the metadata of a message, with the fields that wire writes there: the
// priority, as it came if it still is that, and the timeout. The further members of its envelope
// come first.
func writeMetadata(b *jsonscan.Builder, h header) {
	if h.message == nil {
		return
	}
	own, outer := performatives.Members{}, performatives.Members{}
	for name, v := range h.message.AllMetadata() {
		switch of, isOuter := strings.CutPrefix(name, prefixEnvelope); {
		case secret(name), strings.HasPrefix(name, prefixPayload):
		case !isOuter:
			own[name] = v
		case envelopeMembers.Find([]byte(of)) == len(envelopeMembers):
			outer[of] = v
		}
	}
	if came, ok := exchange.Priority(own["priority"]); !ok || came != h.message.Priority() {
		delete(own, "priority")
		if p := h.message.Priority(); p != performatives.Normal {
			own["priority"] = jsonscan.AppendQuoted(nil, p.String())
		}
	}
	if h.timeout > 0 {
		own["timeout_ms"] = strconv.AppendInt(nil, max(h.timeout.Milliseconds(), 1), 10)
	}
	b.Sorted(outer)
	if len(own) > 0 {
		b.Open("metadata")
		b.Sorted(own)
		b.End()
	}
}
