package bridge

import "github.com/ribosome-agents/ribosome/internal/jsonscan"

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

var memberNames = [memberCount]string{
	"message_id", "message_type", "sender_id", "receiver_id", "timestamp", "correlation_id", "priority", "payload", "accepted", "metadata",
}

// memberOf returns the member of that name, or memberCount for an unknown name.
func memberOf(name []byte) member {
	for m, n := range memberNames {
		if n == string(name) {
			return member(m)
		}
	}
	return memberCount
}

// memberSet is a set of members, one bit each.
type memberSet uint16

func (s memberSet) has(m member) bool { return s&(1<<m) != 0 }

// envelope has the members of a message whose JSON has been checked, before they are
// decoded. All slices refer to the scanned data.
type envelope struct {
	values  [memberCount][]byte // each value as JSON text; nil = absent
	unknown []unknownMember
}

type unknownMember struct {
	name  string
	value []byte
}

// maxUnknown bounds the unknown members of each object of a message. A message of many tiny
// members would otherwise take many times its length in memory.
const maxUnknown = 1024

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
	if m < memberCount && e.values[m] != nil {
		return s.Fail(at, "no second "+memberNames[m])
	}
	value, ok := s.Taken()
	switch {
	case !ok:
		return false
	case m < memberCount:
		e.values[m] = value
		return true
	case len(e.unknown) == maxUnknown:
		return s.Fail(at, "no more unknown members")
	}
	e.unknown = append(e.unknown, unknownMember{string(name), value})
	return true
}
