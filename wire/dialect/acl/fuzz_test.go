package acl

import (
	"errors"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Message))
		f.Add([]byte(v.Message)[:len(v.Message)*2/3])
	}
	f.Add([]byte(`{"sender":{"agent_id":"a"},"receiver":{"agent_id":"b"},"message_id":"m","conversation_id":"c","in_reply_to":"r",` +
		`"performative":"REFUSE","timestamp":"2025-01-30T10:31:00Z","payload":{"reason_code":"busy","retry_after_ms":250}}`))
	c := newCodec(f, wire.CodecOptions{MaxBytes: 1 << 16})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := c.Decode(data)
		if err != nil {
			checkAnswerable(t, c, err)
			return
		}
		out, err := c.Encode(m)
		if err != nil {
			t.Fatalf("decoded and can't be written: %v", err)
		}
		if diff := cmp.Diff(meaning(t, data), meaning(t, out)); diff != "" {
			t.Fatalf("-came +went:\n%s", diff)
		}
		for _, style := range []Style{Spec, IDE} {
			checkReadable(t, c, m, style)
		}
	})
}

// checkAnswerable checks that an error has a code, and that the answer it makes
// can be written and read.
func checkAnswerable(t *testing.T, c *Codec, err error) {
	t.Helper()
	var bad *DecodeError
	if !errors.As(err, &bad) || !bad.Refusal.Code.Known() || bad.Refusal.Text == "" {
		t.Fatalf("got error %#v", err)
	}
	answer := bad.NotUnderstood("gateway", wire.SystemStamper{}.Stamp())
	if (answer == nil) != (bad.Sender == "" || bad.Act == performatives.ActNotUnderstood) {
		t.Fatalf("answer %v to %+v", answer, bad)
	}
	if answer != nil {
		checkReadable(t, c, answer, bad.Style)
	}
}

// checkReadable checks that m in either style is read as the same act between the
// same agents.
func checkReadable(t *testing.T, c *Codec, m *performatives.Message, style Style) {
	t.Helper()
	out, err := c.AppendAs(nil, m, style)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Decode(out)
	if err != nil {
		t.Fatalf("style %d is refused: %v\n%s", style, err, out)
	}
	if again.Performative() != m.Performative() || !again.Sender().Is(m.Sender()) || !again.Receiver().Is(m.Receiver()) {
		t.Fatalf("style %d: %s %q→%q became %s %q→%q", style, m.Performative(), m.Sender(), m.Receiver(),
			again.Performative(), again.Sender(), again.Receiver())
	}
}

// A hostile message must not take much more memory than its length.
func TestDecodeAllocationIsBounded(t *testing.T) {
	racetest.Skip(t)
	const size = 1 << 20
	c := newCodec(t, wire.CodecOptions{})
	for name, text := range map[string]string{
		"unknown members": `{` + strings.Repeat(`"a":1,`, size/6),
		"nested":          `{"x":` + strings.Repeat(`[`, size),
		"long id":         `{"message_id":"` + strings.Repeat(`\n`, size/2) + `"}`,
		"sender members":  `{"sender":{` + strings.Repeat(`"a":1,`, size/6) + `"agent_id":"x"}}`,
		"truncated":       `{"payload":{"a":"` + strings.Repeat(`x`, size),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			_, err := c.Decode([]byte(text))
			goruntime.ReadMemStats(&after)
			if err == nil {
				t.Error("accepted")
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*size {
				t.Errorf("%d bytes allocated for %d", got, len(text))
			}
		})
	}
}
