package gateway

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// header has the members of an outgoing envelope, without its payload.
type header struct {
	id          string
	time        time.Time
	source      string
	target      string
	correlation []byte // as JSON; nil for none
	timeout     time.Duration
	message     *performatives.Message // the source of the metadata; nil for none
	fault       []byte                 // the error object; nil for none
}

// headerOf returns the header of a message that answers the envelope with that id; empty = none.
func headerOf(m *performatives.Message, correlation string) header {
	return header{
		id: string(m.ID()), time: m.Timestamp(), source: string(m.Sender()), correlation: correlated(correlation), message: m,
	}
}

// ownHeader returns the header of an answer that the codec itself makes.
func (c *codec) ownHeader(o *address) header {
	s := c.stamp()
	return header{id: string(s.ID), time: s.Time, source: string(c.session.Local), correlation: correlated(o.Correlation)}
}

// appendEnvelope appends an envelope with a payload, or the payload alone to a session without
// envelopes.
func (c *codec) appendEnvelope(dst []byte, h header, payload []byte) ([]byte, error) {
	if c.bare() {
		if !utf8.Valid(payload) {
			return dst, errNoUTF8
		}
		return append(dst, payload...), nil
	}
	b := jsonscan.OpenObject(dst)
	c.writeHeader(&b, h)
	b.Raw("mcp_payload", payload)
	return closed(dst, &b)
}

// appendCall appends the envelope of a request, or that of a notification for a nil id. Params
// writes the member params.
func (c *codec) appendCall(dst []byte, h header, method string, id []byte, params func(*jsonscan.Builder) error) ([]byte, error) {
	b, bare := jsonscan.OpenObject(dst), c.bare()
	if !bare {
		c.writeHeader(&b, h)
		b.Open("mcp_payload")
	}
	b.Raw("jsonrpc", []byte(jsonrpcVersion))
	b.Text("method", method)
	if err := params(&b); err != nil {
		return dst, err
	}
	if id != nil {
		b.Raw("id", id)
	}
	for name, v := range h.message.AllMetadata() {
		if of, ok := strings.CutPrefix(name, prefixPayload); ok && jsonscan.Valid(v) && rpcMembers.Find([]byte(of)) == len(rpcMembers) {
			b.Raw(of, v)
		}
	}
	if !bare {
		b.End()
	}
	return closed(dst, &b)
}

// writeHeader writes the members of an envelope but its payload, in the order of wire.
func (c *codec) writeHeader(b *jsonscan.Builder, h header) {
	b.Text("id", h.id)
	b.Name("timestamp")
	b.JSON = h.time.UTC().AppendFormat(b.JSON, timeFormat)
	b.Text("source", h.source)
	if h.target != "" {
		b.Text("target_namespace", h.target)
	}
	if token := c.token(); token != "" {
		b.Text("auth_token", "Bearer "+token)
	}
	if h.correlation != nil {
		b.Raw("correlation_id", h.correlation)
	}
	writeMetadata(b, h)
	if h.fault != nil {
		b.Raw("error", h.fault)
	}
}

// closed returns the object that is appended to dst.
func closed(dst []byte, b *jsonscan.Builder) ([]byte, error) {
	out, err := b.Close()
	if err == nil && !utf8.Valid(out[len(dst):]) {
		err = errNoUTF8
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

var errNoUTF8 = errors.New("gateway: want UTF-8")

// token returns the token of each message. Only the end that opened the connection has one.
func (c *codec) token() string {
	if !c.session.Initiator || c.session.Token == nil {
		return ""
	}
	return c.session.Token()
}

// correlated returns the correlation_id of the answer to an envelope with that id.
func correlated(id string) []byte {
	if id == "" {
		return nil
	}
	return jsonscan.AppendQuoted(nil, id)
}

// timeFormat is the format of wire for times: in UTC, with exactly milliseconds.
const timeFormat = `"2006-01-02T15:04:05.000Z"`

// appendRPC appends a JSON-RPC message: the members in the order given, of which those
// without a value are left out.
func appendRPC(dst []byte, members ...member) []byte {
	size := len(`{"jsonrpc":"2.0"}`)
	for _, m := range members {
		size += len(m.name) + len(m.value) + len(`,"":`)
	}
	dst = append(slices.Grow(dst, size), `{"jsonrpc":"2.0"`...)
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
