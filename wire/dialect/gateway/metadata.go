package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
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
	if jsonscan.IsNull(v) {
		return
	}
	if !jsonscan.Is(v, '{') {
		e.wrong("metadata", "an object", v)
		return
	}
	for name, v := range jsonscan.Members(v) {
		if e.refusal != nil {
			return
		}
		switch name := string(name); name {
		case "timeout_ms":
			e.readTimeout(v)
		case "priority":
			e.readPriority(v)
		default:
			e.keep(name, v)
		}
	}
}

// maxTimeout is the longest deadline of a request.
const maxTimeout = 100 * 365 * 24 * time.Hour

func (e *envelope) readTimeout(v []byte) {
	ms, err := strconv.ParseFloat(string(v), 64)
	if jsonscan.IsNull(v) {
		return
	}
	if err != nil || ms <= 0 || ms > float64(maxTimeout/time.Millisecond) {
		e.refuse(performatives.CodeInvalidPayload, "metadata.timeout_ms", "metadata.timeout_ms: want a number of milliseconds above 0")
		return
	}
	e.timeout = max(time.Duration(ms*float64(time.Millisecond)), 1)
}

// readPriority reads the priority, and keeps its text, so that it is written unchanged.
func (e *envelope) readPriority(v []byte) {
	if jsonscan.IsNull(v) {
		return
	}
	p, ok := priorityOf(v)
	if !ok {
		e.refuse(performatives.CodeInvalidPayload, "metadata.priority", "metadata.priority: want low, medium, normal, high, urgent or 1 to 5")
		return
	}
	e.priority = p
	e.keep("priority", v)
}

func priorityOf(v []byte) (performatives.Priority, bool) {
	text := v
	if jsonscan.Is(v, '"') {
		text = jsonscan.TextBytes(v)
	}
	p, err := performatives.ParsePriority(string(text))
	return p, err == nil
}

// keep stores a member without a field in the metadata. It drops a member with the name
// of a credential: messages may be logged and shown.
func (e *envelope) keep(name string, v []byte) {
	if secret(name) {
		return
	}
	if text := unfit(e.metadata, name, strings.TrimPrefix(name, prefixEnvelope)); text != "" {
		e.refuse(performatives.CodeUnexpectedAct, "", text)
		return
	}
	if e.metadata == nil {
		e.metadata = make(performatives.Members)
	}
	e.metadata[name] = bytes.Clone(v)
}

// unfit returns the reason why one more member cannot be stored, or nothing.
func unfit(members performatives.Members, name, written string) string {
	if _, twice := members[name]; twice {
		return fmt.Sprintf("want no second %.64q", written)
	}
	if len(members) >= maxMembers {
		return fmt.Sprintf("want at most %d members", maxMembers)
	}
	return ""
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

// bearer returns a token without the word Bearer.
func bearer(token string) string {
	const word = "bearer "
	if len(token) > len(word) && strings.EqualFold(token[:len(word)], word) {
		return strings.TrimLeft(token[len(word):], " ")
	}
	return token
}

// appendMetadata appends the metadata of a message, and the further members of its
// envelope.
func appendMetadata(dst []byte, h header) ([]byte, error) {
	members, err := metadataOf(h)
	if err != nil {
		return dst, err
	}
	names := slices.AppendSeq(make([]string, 0, len(members)), maps.Keys(members))
	slices.Sort(names)
	own := names[:0]
	for _, name := range names {
		switch of, outer := strings.CutPrefix(name, prefixEnvelope); {
		case strings.HasPrefix(name, prefixPayload):
		case !outer:
			own = append(own, name)
		case memberBit([]byte(of)) == 0:
			dst = append(jsonscan.AppendQuoted(append(dst, ','), of), ':')
			dst = append(dst, members[name]...)
		}
	}
	if len(own) == 0 {
		return dst, nil
	}
	dst = append(dst, `,"metadata":{`...)
	for i, name := range own {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(jsonscan.AppendQuoted(dst, name), ':'), members[name]...)
	}
	return append(dst, '}'), nil
}

// metadataOf returns the checked metadata of a message, with the fields that wire writes
// there: the priority and the timeout.
func metadataOf(h header) (performatives.Members, error) {
	if h.message == nil {
		return nil, nil //nolint:nilnil // nil is no metadata
	}
	var members performatives.Members
	put := func(name string, v []byte) {
		if members == nil {
			members = make(performatives.Members)
		}
		members[name] = v
	}
	for name, v := range h.message.AllMetadata() {
		if !jsonscan.Valid(v) {
			return nil, errors.New("gateway: metadata is no JSON")
		}
		if name != "priority" && !secret(name) {
			put(name, v)
		}
	}
	if p := h.message.Priority(); p != performatives.Normal || known(h.message, p) {
		put("priority", prioritized(h.message, p))
	}
	if h.timeout > 0 {
		ms, _ := json.Marshal(max(h.timeout.Milliseconds(), 1)) // a number always marshals
		put("timeout_ms", ms)
	}
	return members, nil
}

// known reports whether the metadata has the text of the message's priority, which is then
// written unchanged.
func known(m *performatives.Message, p performatives.Priority) bool {
	v, ok := m.Metadata("priority")
	if !ok {
		return false
	}
	own, fits := priorityOf(v)
	return fits && own == p
}

func prioritized(m *performatives.Message, p performatives.Priority) []byte {
	if v, ok := m.Metadata("priority"); ok && known(m, p) {
		return v
	}
	return jsonscan.AppendQuoted(nil, p.String())
}
