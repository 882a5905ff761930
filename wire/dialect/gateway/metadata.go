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

// The prefixes under which the message's metadata has members of the envelope and of
// the JSON-RPC message that no field stands for. Members of the envelope's own metadata
// have none.
const (
	prefixEnvelope = "envelope."
	prefixPayload  = "mcp_payload."

	metadataCorrelation = prefixEnvelope + "correlation_id" // of a request, for tracing
	metadataMethod      = prefixPayload + "method"          // of a notification
)

// readMetadata reads the members of metadata, of which two are fields of the message.
func (e *envelope) readMetadata(v []byte) {
	w := walk(v)
	if isNull(v) {
		return
	}
	if !w.enter('{') {
		e.wrong("metadata", "an object", v)
		return
	}
	for {
		name, v, ok := w.member()
		if !ok || e.refusal != nil {
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
	if isNull(v) {
		return
	}
	if err != nil || ms <= 0 || ms > float64(maxTimeout/time.Millisecond) {
		e.refuse(performatives.CodeInvalidPayload, "metadata.timeout_ms", "metadata.timeout_ms: want a number of milliseconds above 0")
		return
	}
	e.timeout = max(time.Duration(ms*float64(time.Millisecond)), 1)
}

// readPriority keeps what it reads, so that it is written again as it came.
func (e *envelope) readPriority(v []byte) {
	if isNull(v) {
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
	if is(v, '"') {
		text = unquote(v)
	}
	p, err := performatives.ParsePriority(string(text))
	return p, err == nil
}

// keep keeps a member that no field stands for. One that looks like a credential is
// not kept: what is in a message may be logged and shown.
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

// unfit says why one more member is not kept, or nothing.
func unfit(members performatives.Members, name, written string) string {
	if _, twice := members[name]; twice {
		return fmt.Sprintf("want no second %.64q", written)
	}
	if len(members) >= maxMembers {
		return fmt.Sprintf("want at most %d members", maxMembers)
	}
	return ""
}

// secret reports whether a member is called like a credential.
func secret(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, prefixEnvelope), prefixPayload)
	return spells(name, "authtoken") || spells(name, "authorization")
}

// spells reports whether name is word, whatever the case and the dashes.
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

// bearer takes the word Bearer off a token.
func bearer(token string) string {
	const word = "bearer "
	if len(token) > len(word) && strings.EqualFold(token[:len(word)], word) {
		return strings.TrimLeft(token[len(word):], " ")
	}
	return token
}

// appendMetadata appends the metadata of a message, and the members of its envelope
// that no field stands for.
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

// metadataOf collects the members of a message's metadata, checked, with what wire
// says there and we in fields.
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
		if !valid(v) {
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

// known reports whether the message came with its priority, so that it is written
// again as it came.
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
