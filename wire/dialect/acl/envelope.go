package acl

import (
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// member is a member of the envelope that this dialect knows (acl §3; the
// extensions are those of addenda §1), in the order in which they are written.
type member uint8

const (
	memVersion member = iota
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
	memberCount
)

var memberNames = [memberCount]string{
	"mcp_version", "message_id", "performative", "sender", "receiver", "in_reply_to", "reply_with",
	"conversation_id", "reply_by", "protocol", "message_type", "trace", "budget", "language", "ontology", "timestamp", "payload",
}

// memberOf returns the member of that name, or memberCount for an unknown name. At most
// five names have the same length, so that this is faster than a map.
func memberOf(name []byte) member {
	if len(name) >= len(byLength) {
		return memberCount
	}
	for _, m := range byLength[len(name)] {
		if memberNames[m] == string(name) {
			return m
		}
	}
	return memberCount
}

// byLength lists the members by the length of their names.
var byLength = func() (table [16][]member) {
	for m, name := range memberNames {
		table[len(name)] = append(table[len(name)], member(m))
	}
	return table
}()

// memberSet is a set of members, one bit each.
type memberSet uint32

func setOf(ms ...member) (set memberSet) {
	for _, m := range ms {
		set |= 1 << m
	}
	return set
}

func (s memberSet) has(m member) bool { return s&(1<<m) != 0 }

// optional has the members that are written if and only if their field is set.
var optional = ^setOf(memVersion, memID, memConversation, memLanguage, memTimestamp, memPayload)

// envelope has the members of a message whose JSON has been checked, before they are
// decoded. All slices refer to the scanned data.
type envelope struct {
	values  [memberCount][]byte // each value as JSON text; nil = absent
	unknown []exchange.Member
	payload payloadView
}

// scan finds the members of the envelope in s. When it reports false, s has the error,
// and e has the members before it.
func (e *envelope) scan(s *jsonscan.Scanner) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		name, more, ok := s.Key(first)
		switch {
		case !ok:
			return false
		case !more:
			return s.End()
		case !e.member(s, name):
			return false
		}
	}
}

func (e *envelope) member(s *jsonscan.Scanner, quoted []byte) bool {
	at := s.Pos
	name, ok := s.Name(quoted)
	if !ok {
		return s.Fail(at, "a name without half a surrogate pair")
	}
	m := memberOf(name)
	if m == memberCount {
		return e.foreign(s, name)
	}
	if e.values[m] != nil {
		return s.Fail(at, "no second "+memberNames[m])
	}
	if m == memPayload && s.Peek() == '{' {
		from := s.Pos
		ok = e.payload.scan(s)
		e.values[m] = s.Data[from:s.Pos]
		return ok
	}
	value, ok := s.Taken()
	e.values[m] = value
	return ok
}

func (e *envelope) foreign(s *jsonscan.Scanner, name []byte) bool {
	at := s.Pos
	value, ok := s.Taken()
	if !ok {
		return false
	}
	if len(e.unknown) == exchange.MaxUnknown {
		return s.Fail(at, "no more unknown members")
	}
	e.unknown = append(e.unknown, exchange.Member{Name: string(name), Value: value})
	return true
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
