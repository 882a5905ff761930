package bridge

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func FuzzDecode(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Message))
		f.Add([]byte(v.Message)[:len(v.Message)*2/3])
	}
	for _, text := range wellFormed {
		f.Add([]byte(text))
		f.Add([]byte("[" + text + "," + text + "]"))
		f.Add([]byte(beside(text, `"route":{"hop_limit":1,"path":["n2"]}`)))
	}
	f.Add([]byte(frame("m-1", "error", "agent-1", "Bob", "", `{"error_code":"INTERNAL_ERROR","error_message":"x","details":{"reason_code":"busy","retry_after_ms":250}}`)))
	packed, _ := compressed([]byte(`{"event_type":"` + long + `"}`))
	f.Add([]byte(beside(frame("m-1", "notification", "agent-1", "Bob", "", string(packed)), `"payload_encoding":"gzip"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newCodec(t, wire.CodecOptions{MaxBytes: 1 << 16})
		m, err := c.Decode(data)
		if err != nil {
			checkAnswerable(t, c, err)
		} else {
			checkRewritten(t, c, m, data)
		}
		play(t, greeted(t, wire.CodecOptions{Local: "node", MaxBytes: 1 << 16, MaxPending: 8}), data)
		play(t, extended(t, wire.CodecOptions{Local: "node", MaxBytes: 1 << 16, MaxPending: 8}), data)
	})
}

// checkRewritten checks that a decoded message is written with the same meaning, and a copy of it
// as the same act between the same agents.
func checkRewritten(t *testing.T, c *Codec, m *performatives.Message, data []byte) {
	t.Helper()
	out, err := c.Encode(m)
	if err != nil {
		t.Fatalf("decoded and can't be written: %v", err)
	}
	if diff := cmp.Diff(meaning(t, data), meaning(t, out)); diff != "" {
		t.Fatalf("-came +went:\n%s", diff)
	}
	copied, err := m.With(func(*performatives.Envelope) {})
	if err != nil {
		t.Fatal(err)
	}
	if out, err = c.Encode(copied); err != nil {
		t.Fatalf("a copy: %v", err)
	}
	again, err := c.Decode(out)
	if err != nil {
		t.Fatalf("a copy is refused: %v\n%s", err, out)
	}
	if again.Performative() != m.Performative() || again.Sender() != m.Sender() || again.Receiver() != m.Receiver() ||
		again.ConversationID() != m.ConversationID() || again.InReplyTo() != m.InReplyTo() || again.MessageType() != m.MessageType() {
		t.Fatalf("%+v became %+v\n%s", m.Envelope(), again.Envelope(), out)
	}
}

// checkAnswerable checks that an error has a code, and that the answer it makes can be read.
func checkAnswerable(t *testing.T, c *Codec, err error) {
	t.Helper()
	bad, ok := err.(*DecodeError) //nolint:errorlint // Decode returns it itself
	if !ok || !bad.Refusal.Code.Known() || bad.Refusal.Text == "" {
		t.Fatalf("got error %#v", err)
	}
	answer := bad.Answer("node", c.opts.Stamper.Stamp())
	if (answer == nil) != (bad.Type == "error") {
		t.Fatalf("answer %s to %+v", answer, bad)
	}
	if answer == nil {
		return
	}
	if _, err := c.Decode(answer); err != nil {
		t.Fatalf("the answer is refused: %v\n%s", err, answer)
	}
}

// play passes a frame to a session in which agent-1 has shaken hands, answers and refuses what
// comes of it, and checks that nothing stays pending.
func play(t *testing.T, p *peer, data []byte) {
	t.Helper()
	p.send(asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.ID = "ask-1" }))
	items := p.all(string(data))
	if len(items) == 0 {
		t.Fatal("nothing came of it")
	}
	for _, in := range items {
		if in.Err != nil && (in.Err.Text == "" || in.Message != nil) {
			t.Fatalf("got %+v", in)
		}
		if in.Message == nil || !in.Message.Performative().ExpectsReply() {
			continue
		}
		if answer := in.Message.Refuse("node", stampOf(), performatives.CodeBusy, ""); answer != nil {
			if _, err := wiretest.Encode(t, p.codec, answer); err != nil {
				t.Fatal(err)
			}
		}
		if answer := wiretest.Refuse(t, p.codec, in, performatives.CodeBusy); answer == nil {
			t.Fatalf("no answer to %s", data)
		}
	}
	s := p.codec.(*session)
	if s.calls.Len() > 0 || s.asks.Len() > 1 || s.asks.Len() != s.parties.Len() {
		t.Fatalf("pending: %+v, %+v", s.calls, s.asks)
	}
}

// A hostile message must not take much more memory than its length.
func TestDecodeAllocationIsBounded(t *testing.T) {
	const size = 1 << 20
	c := newCodec(t, wire.CodecOptions{})
	const begin = `{"message_id":"m","message_type":"request","sender_id":"a","receiver_id":"b",`
	for name, text := range map[string]string{
		"unknown members":  `{` + strings.Repeat(`"a":1,`, size/6),
		"nested":           `{"x":` + strings.Repeat(`[`, size),
		"long id":          `{"message_id":"` + strings.Repeat(`\n`, size/2) + `"}`,
		"payload members":  begin + `"payload":{` + strings.Repeat(`"a":1,`, size/6) + `"tool_name":1}}`,
		"metadata members": begin + `"payload":{},"metadata":{` + strings.Repeat(`"a":1,`, size/6) + `"trace":1}}`,
		"truncated":        `{"payload":{"a":"` + strings.Repeat(`x`, size),
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
