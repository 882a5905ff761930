package grpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5_000_000, time.UTC)

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// stamps gives each message the same stamp.
type stamps struct{}

func (stamps) Stamp() performatives.Stamp { return performatives.Stamp{ID: "stamped", Time: noon} }

func newCodec(t testing.TB) *codec {
	t.Helper()
	c, err := Dialect{}.Open(wire.CodecOptions{Local: "system", Stamper: stamps{}, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return c.(*codec)
}

// decodeAll returns what a frame holds.
func decodeAll(c wire.Codec, frame []byte) (all []wire.Inbound) {
	c.Decode(frame, func(in wire.Inbound) { all = append(all, in) })
	return all
}

type fataler interface{ Fatalf(string, ...any) }

// decodeOne returns the only message of a frame.
func decodeOne(t fataler, c wire.Codec, frame []byte) *performatives.Message {
	all := decodeAll(c, frame)
	if len(all) != 1 || all[0].Message == nil {
		t.Fatalf("%x holds %+v", frame, all)
	}
	return all[0].Message
}

func encode(t fataler, c wire.Codec, m *performatives.Message) []byte {
	b, err := c.Encode(nil, m)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return b
}

func message(t fataler, e performatives.Envelope) *performatives.Message {
	m, err := performatives.New(e)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return m
}

// difference compares messages: JSON by its meaning, and no metadata as empty ones.
func difference(t fataler, want, got *performatives.Message) string {
	a, b := want.Envelope(), got.Envelope()
	diff := cmp.Diff(a, b, cmpopts.IgnoreFields(performatives.Envelope{}, "Shape", "Payload"), cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b performatives.Content) bool { return a.Equal(b) }))
	if ta, tb := fmt.Sprintf("%T", a.Payload), fmt.Sprintf("%T", b.Payload); ta != tb {
		diff += fmt.Sprintf("payload %s became %s", ta, tb)
	}
	if pa, pb := performatives.RawContent(jsonOf(t, a.Payload)), performatives.RawContent(jsonOf(t, b.Payload)); !pa.Equal(pb) {
		diff += fmt.Sprintf("payload %v became %v", pa, pb)
	}
	return diff
}

func jsonOf(t fataler, payload any) []byte {
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatalf("payload: %v", err)
	}
	return text
}

var (
	word    = rapid.StringMatching(`[A-Za-z0-9_:/.äß𝄞 "\\<>-]{1,20}`)
	maybe   = rapid.OneOf(rapid.Just(""), word)
	values  = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y<"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, ` true`})
	anyTime = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(minSeconds+1, maxSeconds).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
	entries = rapid.MapOfN(word, values, 0, 4)
)

func drawMembers(t *rapid.T, label string) performatives.Members {
	var out performatives.Members
	for name, text := range entries.Draw(t, label) {
		if out == nil {
			out = performatives.Members{}
		}
		out["x_"+name] = json.RawMessage(strings.TrimSpace(text))
	}
	return out
}

func drawContent(t *rapid.T) performatives.Content {
	return performatives.RawContent(json.RawMessage(`{"v":` + values.Draw(t, "content") + `}`))
}

func drawHint(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, time.Millisecond, 250 * time.Millisecond, performatives.MaxRetryAfter}).Draw(t, "retry after")
}

func ptr[T any](v T) *T { return &v }

// payloads makes a payload of each type that the specifications define.
var payloads = map[performatives.Performative]func(t *rapid.T) any{
	performatives.ActTaskRequest: func(t *rapid.T) any {
		return performatives.TaskRequest{TaskType: word.Draw(t, "type"), Description: maybe.Draw(t, "description"), Parameters: drawContent(t), Extra: drawMembers(t, "extra")}
	},
	performatives.ActTaskAccept: func(t *rapid.T) any {
		return performatives.TaskAccept{TaskID: maybe.Draw(t, "task"), Estimate: performatives.EstimateOf(time.Duration(rapid.IntRange(1, 999).Draw(t, "s")) * time.Second)}
	},
	performatives.ActTaskReject: func(t *rapid.T) any {
		return performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: maybe.Draw(t, "text"), RetryAfter: drawHint(t)}
	},
	performatives.ActStatusUpdate: func(t *rapid.T) any {
		return performatives.StatusUpdate{Progress: ptr(rapid.Float64Range(0, 100).Draw(t, "progress")), Description: maybe.Draw(t, "text")}
	},
	performatives.ActInformResult: func(t *rapid.T) any {
		return performatives.InformResult{Status: performatives.StatusPartial, Summary: maybe.Draw(t, "text"), Details: drawContent(t), Artifacts: []performatives.Artifact{{Type: "file", Path: word.Draw(t, "path")}}}
	},
	performatives.ActFailure: func(t *rapid.T) any {
		return performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: maybe.Draw(t, "text"), RetryAfter: drawHint(t)}
	},
	performatives.ActNotUnderstood: func(t *rapid.T) any {
		return performatives.NotUnderstood{ReasonCode: performatives.CodeParsingError, ReasonText: maybe.Draw(t, "text")}
	},
	performatives.ActQueryIf: func(t *rapid.T) any { return performatives.QueryIf{Condition: drawContent(t)} },
	performatives.ActInformIf: func(t *rapid.T) any {
		return performatives.InformIf{Condition: drawContent(t), Truth: ptr(rapid.Bool().Draw(t, "truth"))}
	},
	performatives.ActQueryRef: func(t *rapid.T) any { return performatives.QueryRef{Reference: word.Draw(t, "reference")} },
	performatives.ActInformRef: func(t *rapid.T) any {
		return performatives.InformRef{Reference: word.Draw(t, "reference"), Value: drawContent(t)}
	},
	performatives.ActQueryCapabilities: func(t *rapid.T) any {
		return performatives.QueryCapabilities{Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{word.Draw(t, "name")}}}
	},
	performatives.ActInformCapabilities: func(t *rapid.T) any {
		return performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{word.Draw(t, "topic")}}}
	},
	performatives.ActRefuse: func(t *rapid.T) any {
		return performatives.Refuse{ReasonText: word.Draw(t, "text"), RetryAfter: drawHint(t)}
	},
	performatives.ActCancel: func(t *rapid.T) any { return performatives.Cancel{Reason: word.Draw(t, "text")} },
}

// drawPayload makes a payload of an act: of its own type, of none, or nothing.
func drawPayload(t *rapid.T, act performatives.Performative) any {
	if draw := payloads[act]; draw != nil {
		return draw(t)
	}
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	return performatives.Raw(`{"x": ` + values.Draw(t, "raw") + `}`)
}

// drawMessage makes a message of that act, with any of the fields.
func drawMessage(t *rapid.T, act performatives.Performative) *performatives.Message {
	e := performatives.Envelope{
		ID: performatives.MessageID(word.Draw(t, "id")), Performative: act, Timestamp: anyTime.Draw(t, "timestamp"),
		Sender: performatives.AgentID(word.Draw(t, "sender")), Receiver: performatives.AgentID(maybe.Draw(t, "receiver")),
		ConversationID: performatives.ConversationID(maybe.Draw(t, "conversation")), Protocol: maybe.Draw(t, "protocol"),
		InReplyTo: word.Draw(t, "in reply to"), ReplyWith: maybe.Draw(t, "reply with"),
		Language: rapid.SampledFrom([]string{"", "application/json", "en"}).Draw(t, "language"), Ontology: maybe.Draw(t, "ontology"),
		Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), Metadata: drawMembers(t, "metadata"),
	}
	if e.Payload = drawPayload(t, act); rapid.Bool().Draw(t, "typed") {
		e.MessageType = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}`).Draw(t, "message type")
		e.Payload = rapid.SampledFrom([]any{nil, performatives.Raw(`{}`), performatives.Raw(`{"file":"a.go"}`)}).Draw(t, "own payload")
	}
	if rapid.Bool().Draw(t, "more") {
		e.ReplyBy, e.Budget, e.Trace = anyTime.Draw(t, "reply by"), drawContent(t), traceparent
	}
	return message(t, e)
}
