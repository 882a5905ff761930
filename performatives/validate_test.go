package performatives_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// note is an application's payload whose Validate reports in its own ways.
type note struct{ err error }

func (n note) Validate() error { return n.err }

func TestNewRefuses(t *testing.T) {
	nan := 0.0
	nan /= nan
	long := strings.Repeat("x", p.MaxIDLength+1)
	tests := []struct {
		name  string
		spoil func(e *p.Envelope)
		field string
		text  string // what the error says after the field
	}{
		{"no act", func(e *p.Envelope) { e.Performative, e.Payload = 0, nil }, "performative", "a known act"},
		{"unknown act", func(e *p.Envelope) { e.Performative = 200 }, "performative", "got Performative(200)"},
		{"no id", func(e *p.Envelope) { e.ID = "" }, "message_id", "a non-empty string"},
		{"long id", func(e *p.Envelope) { e.ID = p.MessageID(long) }, "message_id", "at most 256 bytes, got 257"},
		{"no sender", func(e *p.Envelope) { e.Sender = "" }, "sender", "the id of an agent"},
		{"bytes in conversation", func(e *p.Envelope) { e.ConversationID = "\xff" }, "conversation_id", "valid UTF-8"},
		{"control in in_reply_to", func(e *p.Envelope) { e.InReplyTo = "\x00" }, "in_reply_to", "no control characters"},
		{"long reply_with", func(e *p.Envelope) { e.ReplyWith = long }, "reply_with", "at most 256 bytes"},
		{"long ontology", func(e *p.Envelope) { e.Ontology = strings.Repeat("x", 1025) }, "ontology", "at most 1024 bytes"},
		{"control in ontology", func(e *p.Envelope) { e.Ontology = "a\x1b[31m" }, "ontology", "no control characters"},
		{"bytes in language", func(e *p.Envelope) { e.Language = "\xfe" }, "language", "valid UTF-8"},
		{"control in protocol", func(e *p.Envelope) { e.Protocol = "\r" }, "protocol", "no control characters"},
		{"long message type", func(e *p.Envelope) { e.MessageType = strings.Repeat("x", p.MaxMessageTypeLength+1) }, "message_type", "at most 64 bytes, got 65"},
		{"space in message type", func(e *p.Envelope) { e.MessageType = "REVIEW REQUEST" }, "message_type", `letters, digits and _ - . : /, got "REVIEW REQUEST"`},
		{"control in message type", func(e *p.Envelope) { e.MessageType = "REVIEW\n" }, "message_type", "only ASCII letters"},
		{"quote in message type", func(e *p.Envelope) { e.MessageType = `a"b` }, "message_type", "only ASCII letters"},
		{"bytes in message type", func(e *p.Envelope) { e.MessageType = "a\xff" }, "message_type", "only ASCII letters"},
		{"mark first in message type", func(e *p.Envelope) { e.MessageType = "-x" }, "message_type", "a letter or a digit first"},
		{"another act's, with a message type", func(e *p.Envelope) { e.MessageType, e.Payload = "X", p.TaskAccept{} }, "payload", "that of TASK_ACCEPT"},
		{"no task type, with a message type", func(e *p.Envelope) { e.MessageType, e.Payload = "X", p.TaskRequest{} }, "payload.task_type", "a non-empty string"},
		{"an own type without an act", on2(0, note{}), "performative", "the payload type performatives_test.note implies none: give it a method Act()"},
		{"no time", func(e *p.Envelope) { e.Timestamp = time.Time{} }, "timestamp", "a time"},
		{"priority", func(e *p.Envelope) { e.Priority = 3 }, "priority", "low, normal, high or urgent"},
		{"trace", func(e *p.Envelope) { e.Trace = "00-1-2-3" }, "trace", "a W3C traceparent"},
		{"no payload", func(e *p.Envelope) { e.Payload, e.MessageType = nil, "" }, "payload", "the payload of TASK_REQUEST, got nothing"},
		{"pointer", func(e *p.Envelope) { e.Payload = &p.TaskRequest{TaskType: "x"} }, "payload", "a value"},
		{"nil pointer", func(e *p.Envelope) { e.Payload = (*p.TaskRequest)(nil) }, "payload", "a value"},
		{"nil map", func(e *p.Envelope) { e.Payload = map[string]any(nil) }, "payload", "an object"},
		{"string", func(e *p.Envelope) { e.Payload = "hello" }, "payload", "a struct, a map or Raw"},
		{"bytes", func(e *p.Envelope) { e.Payload = []byte("{}") }, "payload", "a struct, a map or Raw"},
		{"another act's", func(e *p.Envelope) { e.Payload = p.TaskAccept{} }, "payload", "that of TASK_ACCEPT"},
		{"raw array", func(e *p.Envelope) { e.Payload = p.Raw(`[1]`) }, "payload", "an object, got an array"},
		{"raw null", func(e *p.Envelope) { e.Payload = p.Raw(` null`) }, "payload", "an object, got null"},
		{"raw cut off", func(e *p.Envelope) { e.Payload = p.Raw(`{"a":1`) }, "payload", "one that does not end"},
		{"no task type", func(e *p.Envelope) { e.Payload = p.TaskRequest{} }, "payload.task_type", "a non-empty string"},
		{"progress", on(p.StatusUpdate{Progress: new(float64(101))}), "payload.progress_percentage", "0 to 100, got 101"},
		{"negative progress", on(p.StatusUpdate{Progress: new(-0.5)}), "payload.progress_percentage", "0 to 100"},
		{"NaN progress", on(p.StatusUpdate{Progress: &nan}), "payload.progress_percentage", "0 to 100"},
		{"no outcome", on(p.InformResult{}), "payload.task_status", "success, partial_success or failure"},
		{"unknown outcome", on(p.InformResult{Status: "done"}), "payload.task_status", `got "done"`},
		{"no condition", on(p.QueryIf{}), "payload.condition", "a value"},
		{"null condition", on(p.QueryIf{Condition: p.RawContent([]byte("null"))}), "payload.condition", "a statement, got null"},
		{"no truth", on(p.InformIf{}), "payload.truth", "true or false"},
		{"no reference", on(p.QueryRef{}), "payload.reference", "a non-empty string"},
		{"no value", on(p.InformRef{}), "payload.value", "a value"},
		{"no query type", on(p.QueryCapabilities{}), "payload.query_type", "summary, specific or action_details"},
		{"no names", on(p.QueryCapabilities{Type: p.QuerySpecific}), "payload.query_parameters.capabilities", "at least one name"},
		{"match type", on(p.QueryCapabilities{Type: p.QuerySpecific, Parameters: p.QueryParameters{Capabilities: []string{"Go"}, MatchType: "most"}}), "payload.query_parameters.match_type", "all or any"},
		{"no action name", on(p.QueryCapabilities{Type: p.QueryActionDetails}), "payload.query_parameters.action_name", "a non-empty string"},
		{"an application's error", on2(p.ActInform, note{errors.New("too short")}), "payload", "too short"},
		{"an application's refusal", on2(p.ActInform, note{&p.Refusal{Field: "n", Text: "bad"}}), "payload.n", "bad"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := envelope(p.ActTaskRequest)
			tt.spoil(&e)
			m, err := p.New(e)
			var refusal *p.Refusal
			if m != nil || !errors.As(err, &refusal) || !errors.Is(err, p.CodeInvalidPayload) {
				t.Fatalf("New = %v, %v; want a refusal", m, err)
			}
			if refusal.Field != tt.field || !strings.HasPrefix(refusal.Text, tt.field) || !strings.Contains(refusal.Text, tt.text) {
				t.Errorf("field %q, text %q; want %q and %q", refusal.Field, refusal.Text, tt.field, tt.text)
			}
		})
	}
}

// on replaces the payload, and the act by the payload's own.
func on(payload any) func(*p.Envelope) { return on2(0, payload) }

func on2(act p.Performative, payload any) func(*p.Envelope) {
	return func(e *p.Envelope) { e.Performative, e.Payload = act, payload }
}

func TestReplyActsNeedInReplyTo(t *testing.T) {
	for act := range p.Performatives() {
		e := envelope(act)
		e.InReplyTo = ""
		_, err := p.New(e)
		if (err != nil) != act.IsReply() {
			t.Errorf("%s without in_reply_to: %v; IsReply %t", act, err, act.IsReply())
		}
		if err != nil && !strings.Contains(err.Error(), "in_reply_to: want the message_id or reply_with") {
			t.Errorf("%s: %v", act, err)
		}
	}
}

func TestNewAccepts(t *testing.T) {
	tests := map[string]func(e *p.Envelope){
		"ids of any script":      func(e *p.Envelope) { e.ID, e.Sender, e.Receiver = "🧬/ 1", "Éddy Ω", "жюль" },
		"a long id":              func(e *p.Envelope) { e.ID = p.MessageID(strings.Repeat("x", p.MaxIDLength)) },
		"a broadcast":            func(e *p.Envelope) { e.Receiver = "" },
		"an empty Raw":           func(e *p.Envelope) { e.Performative, e.Payload = p.ActInform, p.Raw(nil) },
		"a Raw with space":       func(e *p.Envelope) { e.Performative, e.Payload = p.ActInform, p.Raw("\n {}\t") },
		"a map":                  func(e *p.Envelope) { e.Payload = map[string]any{} },
		"no content":             func(e *p.Envelope) { e.Performative, e.Payload = p.ActAgree, nil },
		"a null value":           on(p.InformRef{Value: p.RawContent([]byte("null"))}),
		"a receipt":              on(p.Receipt{Text: "stopped"}),
		"a later trace version":  func(e *p.Envelope) { e.Trace = "01" + e.Trace[2:] + "-more" },
		"a message type":         func(e *p.Envelope) { e.MessageType = "acme.org/review:v2/REVIEW_REQUEST-1" },
		"a long message type":    func(e *p.Envelope) { e.MessageType = strings.Repeat("x", p.MaxMessageTypeLength) },
		"an own payload":         func(e *p.Envelope) { e.MessageType, e.Payload = "X", note{} },
		"a Raw of its own":       func(e *p.Envelope) { e.MessageType, e.Payload = "X", p.Raw(`{"file":"a.go"}`) },
		"no payload, but a type": func(e *p.Envelope) { e.MessageType, e.Payload = "X", nil },
		"no trace":               func(e *p.Envelope) { e.Trace = "" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			e := envelope(p.ActTaskRequest)
			change(&e)
			mustNew(t, e)
		})
	}
}

func TestTrace(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	zeros := strings.Repeat("0", 32)
	bad := []string{
		good[:54], good + "-x", strings.ToUpper(good), "ff" + good[2:], "01" + good[2:] + "x",
		strings.ReplaceAll(good, "-", "_"), "00-" + zeros + good[35:], good[:36] + zeros[:16] + good[52:],
		"01" + good[2:] + "-\n", "01" + good[2:] + "-" + strings.Repeat("x", p.MaxIDLength), "0g" + good[2:],
	}
	for _, trace := range bad {
		e := envelope(p.ActTaskRequest)
		e.Trace = trace
		if _, err := p.New(e); err == nil {
			t.Errorf("%q is accepted", trace)
		}
	}
}

// Whatever New accepts keeps the promises that its readers rely on.
func TestNewNeverAcceptsWhatIsForbidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		act := p.Performative(rapid.Uint8Range(0, 40).Draw(t, "act"))
		id := rapid.OneOf(rapid.Just(""), rapid.StringN(0, -1, 300), rapid.StringMatching(`[a-z0-9-]{1,12}`))
		e := p.Envelope{
			ID: p.MessageID(id.Draw(t, "id")), Performative: act,
			Sender: p.AgentID(id.Draw(t, "sender")), InReplyTo: id.Draw(t, "in_reply_to"), ReplyWith: id.Draw(t, "reply_with"),
			Priority: p.Priority(rapid.Int8Range(-3, 4).Draw(t, "priority")), Ontology: id.Draw(t, "ontology"),
			Payload: rapid.SampledFrom([]any{nil, p.Raw("{}"), p.Raw("[]"), p.TaskRequest{}, p.TaskRequest{TaskType: "x"}, p.Cancel{}, p.Receipt{}, &p.Cancel{}, 7}).Draw(t, "payload"),
		}
		if rapid.Bool().Draw(t, "timed") {
			e.Timestamp = noon
		}
		m, err := p.New(e)
		if err != nil {
			var r *p.Refusal
			if m != nil || !errors.As(err, &r) || r.Field == "" || r.Text == "" {
				t.Fatalf("New = %v, %v: want no message and a refusal that names the field", m, err)
			}
			return
		}
		checkPromises(t, m)
	})
}

func checkPromises(t *rapid.T, m *p.Message) {
	switch {
	case !m.Performative().Valid(), m.ID() == "", m.Sender() == "", m.ConversationID() == "":
		t.Fatalf("an act or id is missing: %+v", m.Envelope())
	case m.Performative().IsReply() && m.InReplyTo() == "":
		t.Fatalf("%s answers nothing", m.Performative())
	case m.Timestamp().IsZero(), !m.Priority().Valid():
		t.Fatalf("time or priority: %+v", m.Envelope())
	}
	for _, s := range []string{string(m.ID()), string(m.Sender()), m.InReplyTo(), m.ReplyWith(), m.Ontology()} {
		if len(s) > p.MaxIDLength && s != m.Ontology() || strings.ContainsAny(s, "\x00\n\r\x7f\x1b") {
			t.Fatalf("%q is accepted", s)
		}
	}
	if v, ok := m.Payload().(interface{ Act() p.Performative }); ok && v.Act() != m.Performative() {
		t.Fatalf("payload %T in %s", v, m.Performative())
	}
	if v, ok := m.Payload().(interface{ Validate() error }); ok && v.Validate() != nil {
		t.Fatalf("payload %+v: %v", v, v.Validate())
	}
}
