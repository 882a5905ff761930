package acl

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// same compares two messages field by field: payloads and metadata by their JSON,
// whatever Go type they have, and no payload as an empty one.
func same(t *rapid.T, a, b *performatives.Message) string {
	view := func(m *performatives.Message) map[string]any {
		e := m.Envelope()
		v := map[string]any{"priority": e.Priority, "act": e.Performative}
		for name, show := range shown {
			switch name {
			case "style", "payload_type", "task_type", "parameters", "task_status", "estimate_seconds", "metadata", "performative", "priority":
			default:
				text, err := json.Marshal(show(m))
				if err != nil {
					t.Fatal(err)
				}
				v[name] = string(text)
			}
		}
		for name, raw := range e.Metadata {
			v["metadata."+name] = string(raw)
		}
		v["payload"] = fields(t, e.Payload)
		return v
	}
	return cmp.Diff(view(a), view(b))
}

// fields are the members of a payload, without the priority, which is the
// message's.
func fields(t *rapid.T, payload any) map[string]any {
	if payload == nil {
		return map[string]any{}
	}
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	delete(v, "priority")
	return v
}

var (
	word   = rapid.StringMatching(`[A-Za-z0-9_:/.äß "\\<>-]{1,20}`)
	maybe  = rapid.OneOf(rapid.Just(""), word)
	values = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`})
	moment = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
	metadata = rapid.MapOfN(rapid.StringMatching(`x_[a-z"é]{1,8}`), values, 0, 4)
)

func members(t *rapid.T, label string) performatives.Members {
	var out performatives.Members
	for name, text := range metadata.Draw(t, label) {
		if out == nil {
			out = performatives.Members{}
		}
		out[name] = json.RawMessage(text)
	}
	return out
}

func content(t *rapid.T) performatives.Content {
	return performatives.RawContent(json.RawMessage(`{"v":` + values.Draw(t, "content") + `}`))
}

// payloads makes a payload of each type.
var payloads = []func(t *rapid.T) any{
	func(t *rapid.T) any {
		return performatives.TaskRequest{TaskType: word.Draw(t, "type"), Description: maybe.Draw(t, "description"), Parameters: content(t), Extra: members(t, "extra")}
	},
	func(t *rapid.T) any {
		return performatives.TaskAccept{TaskID: maybe.Draw(t, "task"), Estimate: performatives.EstimateOf(time.Duration(rapid.IntRange(0, 999).Draw(t, "s")) * time.Second)}
	},
	func(t *rapid.T) any {
		return performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: maybe.Draw(t, "text"), RetryAfter: time.Duration(rapid.SampledFrom([]int{0, 1, 250}).Draw(t, "retry after")) * time.Millisecond}
	},
	func(t *rapid.T) any {
		p := rapid.Float64Range(0, 100).Draw(t, "progress")
		return performatives.StatusUpdate{Progress: &p, Description: maybe.Draw(t, "text")}
	},
	func(t *rapid.T) any {
		return performatives.InformResult{Status: performatives.StatusPartial, Summary: maybe.Draw(t, "text"), Details: content(t), Artifacts: []performatives.Artifact{{Type: "file", Path: word.Draw(t, "path")}}}
	},
	func(t *rapid.T) any {
		return performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: maybe.Draw(t, "text")}
	},
	func(t *rapid.T) any { return performatives.NotUnderstood{ReasonCode: performatives.CodeParsingError} },
	func(t *rapid.T) any { return performatives.QueryIf{Condition: content(t)} },
	func(t *rapid.T) any {
		truth := rapid.Bool().Draw(t, "truth")
		return performatives.InformIf{Condition: content(t), Truth: &truth}
	},
	func(t *rapid.T) any { return performatives.QueryRef{Reference: word.Draw(t, "reference")} },
	func(t *rapid.T) any {
		return performatives.InformRef{Reference: word.Draw(t, "reference"), Value: content(t)}
	},
	func(t *rapid.T) any {
		return performatives.QueryCapabilities{Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{word.Draw(t, "name")}}}
	},
	func(t *rapid.T) any {
		return performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{word.Draw(t, "topic")}}}
	},
	func(t *rapid.T) any {
		return performatives.Refuse{ReasonText: maybe.Draw(t, "text"), RetryAfter: time.Duration(rapid.SampledFrom([]int{0, 1, 250}).Draw(t, "retry after")) * time.Millisecond}
	},
	func(t *rapid.T) any { return performatives.Cancel{Reason: maybe.Draw(t, "text")} },
	func(t *rapid.T) any { return performatives.Raw(`{"x": ` + values.Draw(t, "raw") + `}`) },
	func(t *rapid.T) any { return nil },
}

func message(t *rapid.T) *performatives.Message {
	e := performatives.Envelope{
		ID: performatives.MessageID(word.Draw(t, "id")), Timestamp: moment.Draw(t, "timestamp"),
		Sender: performatives.AgentID(word.Draw(t, "sender")), Receiver: performatives.AgentID(maybe.Draw(t, "receiver")),
		ConversationID: performatives.ConversationID(maybe.Draw(t, "conversation")), Protocol: maybe.Draw(t, "protocol"),
		InReplyTo: word.Draw(t, "in reply to"), ReplyWith: maybe.Draw(t, "reply with"),
		Language: rapid.SampledFrom([]string{"application/json", "en"}).Draw(t, "language"), Ontology: maybe.Draw(t, "ontology"),
		Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), Metadata: members(t, "metadata"),
		Payload: rapid.SampledFrom(payloads).Draw(t, "payload")(t),
	}
	if rapid.Bool().Draw(t, "typed") {
		e.MessageType = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}`).Draw(t, "message type")
	}
	if rapid.Bool().Draw(t, "more") {
		e.ReplyBy, e.Budget = moment.Draw(t, "reply by"), content(t)
		e.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}
	if _, raw := e.Payload.(performatives.Raw); raw || e.Payload == nil {
		e.Performative = rapid.SampledFrom([]performatives.Performative{performatives.ActCFP, performatives.ActRequest, performatives.ActInform, performatives.ActAgree}).Draw(t, "act")
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	if m.Receiver() != "" || !m.Performative().ExpectsReply() || m.Performative() == performatives.ActQueryCapabilities {
		return m
	}
	m, err = m.With(func(e *performatives.Envelope) { e.Receiver = performatives.AgentID(word.Draw(t, "its receiver")) }) // nobody works for all
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEncodeDecodeKeepsEveryField(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	rapid.Check(t, func(t *rapid.T) {
		m := message(t)
		data, err := c.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Decode(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := same(t, m, got); diff != "" {
			t.Fatalf("-sent +read:\n%s\n%s", diff, data)
		}
		again, err := c.Encode(got)
		if err != nil || string(again) != string(data) {
			t.Fatalf("written again: %v\n%s\n%s", err, data, again)
		}
	})
}

// A message in the style IDE keeps everything but the case of its agents.
func TestEncodeDecodeInTheStyleIDE(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	rapid.Check(t, func(t *rapid.T) {
		m := message(t)
		data, err := c.AppendAs(nil, m, IDE)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Decode(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		e := m.Envelope()
		e.Sender, e.Receiver = got.Sender(), got.Receiver()
		want, err := performatives.New(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := same(t, want, got); diff != "" || !got.Sender().Is(m.Sender()) {
			t.Fatalf("-sent +read:\n%s\n%s", diff, data)
		}
		if (StyleOf(got) == IDE) != (m.Performative() != performatives.ActRequest) {
			t.Fatalf("style %d of %s", StyleOf(got), data)
		}
	})
}

func TestMemberOf(t *testing.T) {
	for m, name := range memberNames {
		if got := memberNames.Find([]byte(name)); got != m {
			t.Errorf("%s is member %d, want %d", name, got, m)
		}
	}
	for _, name := range []string{"", "Sender", "x_tenant", "a_name_longer_than_any_of_ours"} {
		if memberNames.Find([]byte(name)) != len(memberNames) {
			t.Errorf("%q is known", name)
		}
	}
}

// A refusal says in its payload when to come again.
func TestRetryAfter(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	for _, payload := range []any{
		performatives.TaskReject{ReasonCode: performatives.CodeBusy, RetryAfter: time.Second},
		performatives.Refuse{ReasonCode: performatives.CodeBusy, RetryAfter: time.Second},
		performatives.RejectProposal{ReasonCode: performatives.CodeBusy, RetryAfter: time.Second},
		performatives.Failure{ErrorCode: performatives.CodeBusy, RetryAfter: time.Second},
	} {
		m, err := performatives.New(performatives.Envelope{ID: "m", Sender: "a", Receiver: "b", InReplyTo: "r", Timestamp: time.Unix(1, 0), Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		data, err := c.Encode(m)
		if err != nil || !strings.Contains(string(data), `"retry_after_ms":1000`) {
			t.Fatalf("%s, %v", data, err)
		}
		back, err := c.Decode(data)
		if err != nil || back.AsRefusal().RetryAfter != time.Second || back.AsRefusal().Code != performatives.CodeBusy {
			t.Errorf("%s became %v, %v", data, back, err)
		}
	}
}
