package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// header is an envelope that goes out, without its payload.
type header struct {
	id          string
	time        time.Time
	source      string
	target      string
	correlation []byte // as JSON; nil for none
	timeout     time.Duration
	message     *performatives.Message // whose metadata go out; nil for none
	fault       []byte                 // the error object; nil for none
}

// appendEnvelope appends an envelope with a payload, in the order in which wire lists
// the members.
func (c *codec) appendEnvelope(dst []byte, h header, payload []byte) ([]byte, error) {
	start := len(dst)
	dst = appendString(append(dst, `{"id":`...), h.id)
	dst = appendTime(append(dst, `,"timestamp":`...), h.time)
	dst = appendString(append(dst, `,"source":`...), h.source)
	if h.target != "" {
		dst = appendString(append(dst, `,"target_namespace":`...), h.target)
	}
	if token := c.token(); token != "" {
		dst = appendString(append(dst, `,"auth_token":`...), "Bearer "+token)
	}
	if h.correlation != nil {
		dst = append(append(dst, `,"correlation_id":`...), h.correlation...)
	}
	dst, err := appendMetadata(dst, h)
	if err != nil {
		return dst[:start], err
	}
	if h.fault != nil {
		dst = append(append(dst, `,"error":`...), h.fault...)
	}
	dst = append(append(append(dst, `,"mcp_payload":`...), payload...), '}')
	if !utf8.Valid(dst[start:]) {
		return dst[:start], errNoUTF8
	}
	return dst, nil
}

var errNoUTF8 = errors.New("gateway: want UTF-8")

// token is what each message of the end carries that opened the connection.
func (c *codec) token() string {
	if !c.session.Initiator || c.session.Token == nil {
		return ""
	}
	return c.session.Token()
}

// correlated is the correlation_id of the answer to an envelope of that id.
func correlated(id string) []byte {
	if id == "" {
		return nil
	}
	return appendString(nil, id)
}

// appendMetadata appends the metadata of a message, and the members of its envelope
// that no field stands for.
func appendMetadata(dst []byte, h header) ([]byte, error) {
	members, err := metadataOf(h)
	if err != nil {
		return dst, err
	}
	var own []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch of, outer := strings.CutPrefix(name, prefixEnvelope); {
		case strings.HasPrefix(name, prefixPayload):
		case !outer:
			own = append(own, name)
		case memberBit([]byte(of)) == 0:
			dst = append(appendString(append(dst, ','), of), ':')
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
		dst = append(append(appendString(dst, name), ':'), members[name]...)
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
		if !json.Valid(v) {
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
	own, fits := priorityOf(v)
	return ok && fits && own == p
}

func prioritized(m *performatives.Message, p performatives.Priority) []byte {
	if v, ok := m.Metadata("priority"); ok && known(m, p) {
		return v
	}
	return appendString(nil, p.String())
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := marshal(s) // a string always marshals
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// marshal returns v as JSON, with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// appendRPC appends a JSON-RPC message: the members in the order given, of which those
// without a value are left out.
func appendRPC(dst []byte, members ...member) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	for _, m := range members {
		if m.value != nil {
			dst = append(append(append(append(dst, ',', '"'), m.name...), '"', ':'), m.value...)
		}
	}
	return append(dst, '}')
}

type member struct {
	name  string
	value []byte
}
