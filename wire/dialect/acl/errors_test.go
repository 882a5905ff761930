package acl

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

var stamp = performatives.Stamp{ID: "answer-1", Time: time.Date(2025, 1, 30, 10, 30, 1, 0, time.UTC)}

func decodeError(t *testing.T, text string) *DecodeError {
	t.Helper()
	_, err := newCodec(t, wire.CodecOptions{}).Decode([]byte(text))
	var bad *DecodeError
	if !errors.As(err, &bad) {
		t.Fatalf("got error %v", err)
	}
	return bad
}

func TestDecodeErrorHoldsWhatCouldBeRead(t *testing.T) {
	bad := decodeError(t, `{"message_id":"m-1","conversation_id":"c","reply_with":"r","performative":"CANCEL",`+
		`"sender":{"agent_id":"Eddy"},"receiver":"jules","payload":{"reason":`)
	got := *bad
	got.Refusal, got.payload = nil, nil
	want := DecodeError{Act: performatives.ActCancel, ID: "m-1", Sender: "Eddy", Receiver: "jules", ConversationID: "c", ReplyWith: "r"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(DecodeError{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !errors.Is(bad, performatives.CodeParsingError) || bad.Refusal.About != "m-1" {
		t.Errorf("refusal %+v", bad.Refusal)
	}
	if want := "acl: at byte 151: want a value, got the end (parsing_error)"; bad.Error() != want {
		t.Errorf("error %q, want %q", bad, want)
	}
}

func TestNotUnderstood(t *testing.T) {
	const sender = `"sender":{"agent_id":"Eddy"}`
	for _, tt := range []struct{ name, text, inReplyTo string }{
		{"by id", `{"message_id":"m-1","reply_with":"r",` + sender + `}`, "m-1"},
		{"by reply_with", `{"reply_with":"r","conversation_id":"c",` + sender + `}`, "r"},
		{"by conversation", `{"conversation_id":"c",` + sender + `}`, "c"},
		{"by nothing", `{` + sender + `,`, "unknown"},
		{"id unusable", `{"message_id":"` + strings.Repeat("x", 300) + `",` + sender + `}`, "unknown"},
		{"id a number", `{"message_id":7,` + sender + `}`, "unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := decodeError(t, tt.text)
			m := bad.NotUnderstood("Jules", stamp)
			if m == nil || m.InReplyTo() != tt.inReplyTo || m.Receiver() != "Eddy" || m.Sender() != "Jules" || m.ID() != stamp.ID {
				t.Fatalf("answer %+v", m)
			}
			want := performatives.NotUnderstood{ReasonCode: bad.Refusal.Code, ReasonText: bad.Refusal.Text}
			if diff := cmp.Diff(want, m.Payload()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := m.AsRefusal(); got.Code != bad.Refusal.Code {
				t.Errorf("the peer reads %v", got)
			}
		})
	}
}

func TestNotUnderstoodIsNotAnsweredInKind(t *testing.T) {
	bad := decodeError(t, `{"message_id":"m","performative":"NOT_UNDERSTOOD","sender":{"agent_id":"Eddy"},"payload":{}}`)
	if m := bad.NotUnderstood("Jules", stamp); m != nil {
		t.Errorf("answer %+v", m)
	}
	if m := decodeError(t, `{"message_id":"m"}`).NotUnderstood("Jules", stamp); m != nil {
		t.Errorf("answer to nobody: %+v", m)
	}
}

func TestNotUnderstoodInTheAskersForm(t *testing.T) {
	bad := decodeError(t, `{"conversation_id":"c","sender":"vscode-user","performative":"DO_IT"}`)
	out, err := newCodec(t, wire.CodecOptions{}).AppendAs(nil, bad.NotUnderstood("Jules", stamp), bad.Style)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"message_id":"answer-1","performative":"NOT_UNDERSTOOD","sender":"jules","receiver":"vscode-user",` +
		`"in_reply_to":"c","conversation_id":"c","language":"application/json",` +
		`"ontology":"elizaos:ontology:general/message_not_understood","timestamp":"2025-01-30T10:30:01Z",` +
		`"payload":{"reason_code":"unknown_performative","reason_text":"performative \"DO_IT\" is none of the known acts"}}`
	if string(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// The answer to a frame that ends early, or has a name twice, is in the style of its sender.
func TestStyleOfABrokenFrame(t *testing.T) {
	for text, want := range map[string]Style{
		`{"sender":"eddy","performative":`:                                           IDE,
		`{"sender":"eddy","performative":"X","performative":"Y"}`:                    IDE,
		`{"sender":{"agent_id":"eddy"},"performative":"X","performative":"Y"}`:       Spec,
		`{"performative":"X","performative":"Y","sender":"eddy"}`:                    Spec,
		`{"sender":"eddy","message_id":"m","performative":"X","receiver":"a","x":1}`: IDE,
	} {
		if bad := decodeError(t, text); bad.Style != want {
			t.Errorf("%s: style %d", text, bad.Style)
		}
	}
}

// Only the members of an agent that can be read again are written, up to the depth of a message.
func TestMembersOfAnAgent(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	levels := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for extra, want := range map[string]bool{levels(126): true, levels(127): false, "{\"x\":\"\xff\"}": false, `{"agent_id":"a","x":1}`: false, `[1]`: false} {
		m, err := performatives.New(performatives.Envelope{
			ID: stamp.ID, Timestamp: stamp.Time, Sender: "Eddy", Performative: performatives.ActInform, Payload: performatives.Raw("{}"),
			Metadata: performatives.Members{"sender": []byte(extra)},
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), extra[1:]); got != want {
			t.Errorf("%.20s: written %t", extra, got)
		}
		if _, err := c.Decode(out); err != nil {
			t.Errorf("%.20s: %v", extra, err)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"message_id":"m","performative":"INFORM","sender":{"agent_id":"a"},"payload":` +
			strings.Repeat(`{"x":`, n-2) + `{}` + strings.Repeat(`}`, n-2) + `}`)
	}
	c := newCodec(t, wire.CodecOptions{MaxBytes: 2000})
	m, err := c.Decode(deep(128))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Encode(m); err != nil {
		t.Errorf("a message as deep as can be read can't be written: %v", err)
	}
	for name, data := range map[string][]byte{
		"depth": deep(129), "bytes": append(deep(3), make([]byte, 2000)...), "not UTF-8": []byte("{\"x\":\"\xff\"}"), "nothing": nil,
	} {
		if _, err := c.Decode(data); !errors.Is(err, performatives.CodeParsingError) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
