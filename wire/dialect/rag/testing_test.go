package rag

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// counter makes stamps that count.
type counter struct{ n int }

func (c *counter) Stamp() performatives.Stamp {
	c.n++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("own-%d", c.n)), Time: noon}
}

var noon = time.Date(2025, 1, 30, 12, 0, 0, 0, time.UTC)

func codecOptions() wire.CodecOptions {
	return wire.CodecOptions{Local: "hub", Stamper: &counter{}, MaxBytes: 1 << 20}
}

func open(t testing.TB, with ...func(*wire.CodecOptions)) *codec {
	t.Helper()
	o := codecOptions()
	for _, f := range with {
		f(&o)
	}
	c, err := Dialect{}.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*codec)
}

// items decodes a frame.
func (c *codec) items(data string) (all []wire.Inbound) {
	c.Decode([]byte(data), func(in wire.Inbound) { all = append(all, in) })
	return all
}

// accept decodes a frame that is one message.
func accept(t testing.TB, c *codec, data string) *performatives.Message {
	t.Helper()
	all := c.items(data)
	if len(all) != 1 || all[0].Err != nil || all[0].Message == nil {
		t.Fatalf("%+v of %s", all, data)
	}
	return all[0].Message
}

// write encodes a message as one frame.
func write(t testing.TB, c *codec, m *performatives.Message) string {
	t.Helper()
	out, err := wiretest.Encode(t, c, m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// exact returns a JSON value with exact numbers.
func exact(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, data []byte,
) any {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// frameOf returns a frame with those members, after the usual ones.
func frameOf(kind, from, to, trace, payload string, more ...string) string {
	return fmt.Sprintf(`{"type":%q,"sender":%q,"receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s%s}`,
		kind, from, to, trace, payload, strings.Join(more, ""))
}

// errorOf returns the payload of an ERROR_MESSAGE.
func errorOf(t testing.TB, answer []byte) (code, text, field string) {
	t.Helper()
	var e struct {
		Type    string
		Payload struct {
			Code      string `json:"error_code"`
			Message   string `json:"error_message"`
			Field     string
			Retry     *bool  `json:"retry_possible"`
			Suggested string `json:"suggested_action"`
		}
	}
	if err := json.Unmarshal(answer, &e); err != nil || e.Type != typeError || e.Payload.Retry == nil || e.Payload.Suggested == "" {
		t.Fatalf("%v: %s", err, answer)
	}
	return e.Payload.Code, e.Payload.Message, e.Payload.Field
}
