package rag

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

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
	memberCount
)

var memberNames = [memberCount]string{"type", "sender", "receiver", "trace_id", "timestamp", "payload", "metadata", "auth_token"}

// memberOf returns the member of that name, or memberCount for an unknown name.
func memberOf(name string) member {
	for m, known := range memberNames {
		if known == name {
			return member(m)
		}
	}
	return memberCount
}

// maxUnknown bounds the unknown members of an envelope, and the members of its metadata. A message of many tiny members
// would otherwise take many times its length in memory.
const maxUnknown = 1024

// frame has the members of an envelope, before they are decoded. All values are slices of the data.
type frame struct {
	values  [memberCount][]byte // nil = absent
	unknown []named
}

type named struct {
	name  string
	value []byte
}

// scan checks the JSON and finds the members. After a refusal, f has the members before the fault.
func (f *frame) scan(data []byte, maxBytes, depth int) *performatives.Refusal {
	broken := func(text string) *performatives.Refusal {
		return &performatives.Refusal{Code: performatives.CodeParsingError, Text: text}
	}
	switch {
	case maxBytes > 0 && len(data) > maxBytes:
		return broken(fmt.Sprintf("want at most %d bytes, got %d", maxBytes, len(data)))
	case !utf8.Valid(data):
		return broken("want UTF-8, got other bytes")
	}
	s := jsonscan.Scanner{Data: data, Depth: depth}
	if s.Peek() != '{' && s.Value() && s.End() {
		return invalid("message", "an object", bytes.TrimLeft(data, " \t\r\n"))
	}
	if s.Want != "" || !f.members(&s) {
		return broken(s.Problem())
	}
	return nil
}

func (f *frame) members(s *jsonscan.Scanner) bool {
	if !s.Open('{') {
		return false
	}
	for first := true; ; first = false {
		quoted, more, ok := s.Key(first)
		switch {
		case !ok:
			return false
		case !more:
			return s.End()
		case !f.member(s, quoted):
			return false
		}
	}
}

func (f *frame) member(s *jsonscan.Scanner, quoted []byte) bool {
	at := s.Pos
	text, ok := s.Name(quoted)
	if !ok {
		return s.Fail(at, "a name without half a surrogate pair")
	}
	name := string(text)
	value, ok := s.Taken()
	if !ok {
		return false
	}
	if m := memberOf(name); m != memberCount {
		if f.values[m] != nil {
			return s.Fail(at, "no second "+name)
		}
		f.values[m] = value
		return true
	}
	if len(f.unknown) == maxUnknown {
		return s.Fail(at, "no more unknown members")
	}
	f.unknown = append(f.unknown, named{name, value})
	return true
}

// invalid is the refusal of a member with a value of the wrong kind.
func invalid(field, want string, got []byte) *performatives.Refusal {
	return &performatives.Refusal{
		Code: performatives.CodeInvalidPayload, Field: field, Text: fmt.Sprintf("%s: want %s, got %s", field, want, jsonscan.KindOf(got)),
	}
}
