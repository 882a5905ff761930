package bridge

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"pgregory.net/rapid"
)

// same compares two messages field by field: payloads and metadata by their JSON,
// whatever Go type they have, and no payload as an empty one.
func same(t *rapid.T, a, b *performatives.Message) string {
	view := func(m *performatives.Message) map[string]any {
		e := m.Envelope()
		v := map[string]any{"priority": e.Priority, "act": e.Performative, "reply_by": e.ReplyBy.UTC()}
		for _, name := range []string{"sender", "receiver", "message_id", "in_reply_to", "conversation_id", "message_type", "protocol", "trace", "timestamp", "budget"} {
			text, err := json.Marshal(shown[name](m))
			if err != nil {
				t.Fatal(err)
			}
			v[name] = string(text)
		}
		for name, raw := range e.Metadata {
			v["metadata."+name] = string(raw)
		}
		v["payload"] = fields(t, e.Payload)
		return v
	}
	return cmp.Diff(view(a), view(b))
}

// fields are the members of a payload.
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
	return v
}

var (
	word   = rapid.StringMatching(`[A-Za-z0-9_:/.äß "\\<>-]{1,20}`)
	maybe  = rapid.OneOf(rapid.Just(""), word)
	values = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`, `1e400`})
	moment = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
	})
	metadata = rapid.MapOfN(rapid.StringMatching(`x_[a-z"é]{1,8}`), values, 0, 4)
	codes    = rapid.SampledFrom(performatives.Codes())
)

func extra(t *rapid.T, label string) performatives.Members {
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

func capabilities(t *rapid.T) *performatives.Capabilities {
	c := &performatives.Capabilities{Actions: []performatives.Action{}, Extra: extra(t, "capabilities")}
	if c.Extra == nil {
		c.Extra = performatives.Members{}
	}
	c.Extra[capsName], c.Extra[capsRole] = json.RawMessage(`"a name"`), json.RawMessage(`"a role"`)
	c.Extra[capsVersion], c.Extra[capsMetadata] = json.RawMessage(`"0.2"`), json.RawMessage(`{"n":1.10}`)
	c.Extra[capsID] = json.RawMessage(`"agent"`)
	for _, name := range rapid.SliceOfNDistinct(word, 0, 3, rapid.ID).Draw(t, "tools") {
		a := performatives.Action{Name: name, Description: maybe.Draw(t, "description"), Extra: extra(t, "action")}
		if rapid.Bool().Draw(t, "schema") {
			a.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		c.Actions = append(c.Actions, a)
	}
	if rapid.Bool().Draw(t, "topics") {
		c.Topics, c.Ontologies = []string{word.Draw(t, "topic")}, []string{word.Draw(t, "ontology")}
	}
	return c
}

// payloads makes a payload of each type that bridge can express.
var payloads = []func(t *rapid.T) any{
	func(t *rapid.T) any {
		return performatives.TaskRequest{TaskType: word.Draw(t, "type"), Description: maybe.Draw(t, "description"), Parameters: content(t), Extra: extra(t, "extra")}
	},
	func(t *rapid.T) any {
		return performatives.QueryCapabilities{Type: performatives.QuerySummary, Schemas: true, Capabilities: capabilities(t)}
	},
	func(t *rapid.T) any { return performatives.InformCapabilities{Capabilities: capabilities(t)} },
	func(t *rapid.T) any {
		c := codes.Draw(t, "code").Code
		return performatives.Refuse{ReasonCode: c, ReasonText: word.Draw(t, "text"), Extra: detailed(t, c)}
	},
	func(t *rapid.T) any {
		c := codes.Draw(t, "code").Code
		return performatives.TaskReject{ReasonCode: c, ReasonText: word.Draw(t, "text"), Extra: detailed(t, c)}
	},
	func(t *rapid.T) any {
		c := codes.Draw(t, "code").Code
		return performatives.RejectProposal{ReasonCode: c, ReasonText: word.Draw(t, "text"), Extra: detailed(t, c)}
	},
	func(t *rapid.T) any {
		c := codes.Draw(t, "code").Code
		return performatives.NotUnderstood{ReasonCode: c, ReasonText: word.Draw(t, "text"), Extra: detailed(t, c)}
	},
	func(t *rapid.T) any {
		c := codes.Draw(t, "code").Code
		return performatives.Failure{ErrorCode: c, ErrorText: word.Draw(t, "text"), Extra: detailed(t, c)}
	},
	func(t *rapid.T) any {
		p := performatives.InformResult{
			Status:  rapid.SampledFrom([]performatives.TaskStatus{performatives.StatusSuccess, performatives.StatusPartial, performatives.StatusFailure}).Draw(t, "status"),
			Summary: maybe.Draw(t, "summary"), Extra: extra(t, "extra"),
		}
		if rapid.Bool().Draw(t, "details") {
			p.Details = content(t)
		}
		if rapid.Bool().Draw(t, "artifacts") {
			p.Artifacts = []performatives.Artifact{{Type: "file", Path: word.Draw(t, "path"), Extra: extra(t, "artifact")}}
		}
		return p
	},
	func(t *rapid.T) any {
		return performatives.Cancel{Reason: maybe.Draw(t, "reason"), Extra: extra(t, "extra")}
	},
	func(t *rapid.T) any { return performatives.Raw(`{"x": ` + values.Draw(t, "raw") + `}`) },
	func(t *rapid.T) any { return performatives.Raw(`{"event_type":"inform","data":{}}`) },
	func(t *rapid.T) any {
		return performatives.Raw(`{"event_type":"e","data":` + values.Draw(t, "raw") + `}`)
	},
	func(t *rapid.T) any { return nil },
}

// detailed has the members that a peer's refusal with that code has: bridge writes them in any
// case.
func detailed(t *rapid.T, c performatives.Code) performatives.Members {
	out := extra(t, "refusal")
	if out == nil {
		out = performatives.Members{}
	}
	word := ErrorCodes.Of(c)
	out[errorType] = json.RawMessage(`"` + errorTypes[word] + `"`)
	out[errorDetails] = json.RawMessage(`{}`)
	if reasonOf(word, nil) != c {
		out[errorDetails] = json.RawMessage(`{"reason_code":"` + string(c) + `"}`)
	}
	return out
}

func message(t *rapid.T) *performatives.Message {
	e := performatives.Envelope{
		ID: performatives.MessageID(word.Draw(t, "id")), Timestamp: moment.Draw(t, "timestamp"),
		Sender: "agent", Receiver: performatives.AgentID(word.Draw(t, "receiver")),
		ConversationID: performatives.ConversationID(maybe.Draw(t, "conversation")), Protocol: maybe.Draw(t, "protocol"),
		Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")), Metadata: extra(t, "metadata"),
		Payload: rapid.SampledFrom(payloads).Draw(t, "payload")(t),
	}
	typed := rapid.Bool().Draw(t, "typed")
	if e.Payload == nil || typed && !isHandshake(e.Payload) {
		if _, raw := e.Payload.(performatives.Raw); !raw && e.Payload != nil {
			e.Payload = performatives.Raw(`{"v":` + values.Draw(t, "typed content") + `}`)
		}
		e.MessageType = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}`).Draw(t, "message type")
		e.Performative = rapid.SampledFrom(all).Draw(t, "act")
	} else if _, raw := e.Payload.(performatives.Raw); raw {
		e.Performative = performatives.ActInform
	}
	act := e.Performative
	if act == 0 {
		act = actOf(e.Payload)
	}
	if act.IsReply() || act == performatives.ActCancel || rapid.Bool().Draw(t, "reply") && !exchange.Opening.Has(act) {
		e.InReplyTo = word.Draw(t, "in reply to")
	}
	if rapid.Bool().Draw(t, "more") {
		e.Budget, e.Trace = content(t), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		if exchange.Opening.Has(act) {
			e.ReplyBy = arrival.Add(time.Duration(rapid.IntRange(1, 1e6).Draw(t, "timeout")) * time.Second)
		}
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var all = func() (acts []performatives.Performative) {
	for p := range performatives.Performatives() {
		acts = append(acts, p)
	}
	return acts
}()

func isHandshake(payload any) bool {
	switch payload.(type) {
	case performatives.QueryCapabilities, performatives.InformCapabilities:
		return true
	}
	return false
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
		relayed, err := got.With(func(*performatives.Envelope) {})
		if err != nil {
			t.Fatal(err)
		}
		if again, err = c.Encode(relayed); err != nil || !cmp.Equal(jsonOf(again), jsonOf(data)) {
			t.Fatalf("a copy is written as: %v\n%s\n%s", err, data, again)
		}
	})
}

// Each act is written as one of the messages of the specification, or refused by its name.
func TestEachAct(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	expressed := map[performatives.Performative]any{
		performatives.ActTaskRequest: performatives.TaskRequest{TaskType: "t"}, performatives.ActInformResult: performatives.InformResult{Status: performatives.StatusSuccess},
		performatives.ActInform: performatives.Raw(`{}`), performatives.ActCancel: performatives.Cancel{}, performatives.ActRefuse: performatives.Refuse{},
		performatives.ActTaskReject: performatives.TaskReject{}, performatives.ActRejectProposal: performatives.RejectProposal{},
		performatives.ActNotUnderstood: performatives.NotUnderstood{}, performatives.ActFailure: performatives.Failure{},
		performatives.ActQueryCapabilities:  performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}},
		performatives.ActInformCapabilities: performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}},
	}
	truth := true
	others := map[performatives.Performative]any{
		performatives.ActTaskAccept: performatives.TaskAccept{}, performatives.ActStatusUpdate: performatives.StatusUpdate{},
		performatives.ActQueryIf: performatives.QueryIf{Condition: performatives.ContentOf("x")}, performatives.ActInformIf: performatives.InformIf{Truth: &truth},
		performatives.ActQueryRef: performatives.QueryRef{Reference: "x"}, performatives.ActInformRef: performatives.InformRef{Value: performatives.ContentOf("x")},
	}
	for act := range performatives.Performatives() {
		payload, ok := expressed[act]
		if !ok {
			payload = others[act]
		}
		m, err := performatives.New(performatives.Envelope{ID: "m-1", Timestamp: arrival, Performative: act, Sender: "agent", Receiver: "b", InReplyTo: "m-0", Payload: payload})
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.Encode(m)
		if !ok {
			if r := performatives.RefusalOf(err); r == nil || r.Code != performatives.CodeUnknownPerformative || !strings.Contains(r.Text, act.String()) || len(out) > 0 {
				t.Errorf("%s: %v %s", act, err, out)
			}
			continue
		}
		again, errDecode := c.Decode(out)
		if err != nil || errDecode != nil || again.Performative() != act {
			t.Errorf("%s: %v, %v: %s", act, err, errDecode, out)
		}
	}
}

// jsonOf is JSON as Go values, with numbers as their text.
func jsonOf(text []byte) (v any) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// A deadline of any distance is written as a timeout that is read back, as that deadline or as the
// last one that a timeout has.
func TestFarDeadlines(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	last := arrival.Add(maxTimeout * time.Second)
	for _, by := range []time.Time{
		arrival.Add(time.Second), arrival.AddDate(31, 0, 0), arrival.AddDate(75, 0, 0), last.Add(-time.Second), last, last.Add(time.Second), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		m := asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.ReplyBy = by })
		data, err := c.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		want := by
		if by.After(last) {
			want = last
		}
		if got, err := c.Decode(data); err != nil || !got.ReplyBy().Equal(want) {
			t.Errorf("%s: %v, want %s: %s", by, err, want, data)
		}
	}
	if _, err := c.Decode([]byte(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"t","timeout":9000000001}`))); performatives.RefusalOf(err) == nil || performatives.RefusalOf(err).Field != "payload.timeout" {
		t.Errorf("a timeout beyond the limit: %v", err)
	}
}
