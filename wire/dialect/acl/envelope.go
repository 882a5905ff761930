package acl

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

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

// envelope has the members of a message whose JSON has been checked, before they are
// decoded. All slices refer to the scanned data.
type envelope struct {
	exchange.Members
	payload payloadView
}

// scan finds the members of the envelope in s. When it reports false, s has the error,
// and e has the members before it.
func (e *envelope) scan(s *jsonscan.Scanner) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		i, name, more, ok := e.Name(s, memberNames, first)
		switch {
		case !ok:
			return false
		case !more:
			return s.End()
		case i == memPayload && s.Peek() == '{':
			from := s.Pos
			ok = e.payload.scan(s)
			e.Values[i] = s.Data[from:s.Pos]
		default:
			ok = e.Value(s, i, name)
		}
		if !ok {
			return false
		}
	}
}

// payloadView has the members of a payload that this dialect reads itself, as JSON text.
// Of a member that occurs twice the last counts, as in encoding/json.
type payloadView struct {
	priority   []byte
	priorityAt int // its offset in the scanned data
	taskStatus []byte
	taskType   []byte
}

// scan reads an object as payload.
func (v *payloadView) scan(s *jsonscan.Scanner) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		if !ok || !more {
			return ok
		}
		name, _ := s.Name(quoted)
		value, ok := s.Taken()
		if !ok {
			return false
		}
		v.note(name, value, s.Pos-len(value))
	}
}

func (v *payloadView) note(name, value []byte, at int) {
	switch string(name) {
	case "priority":
		v.priority, v.priorityAt = value, at
	case "task_status":
		v.taskStatus = value
	case "task_type":
		v.taskType = value
	}
}
