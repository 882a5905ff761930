package performatives_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// typed has the acts whose payload the specifications define.
var typed = func() (acts []p.Performative) {
	for act := range p.Performatives() {
		if _, raw := contents[act].(p.Raw); !raw {
			acts = append(acts, act)
		}
	}
	return acts
}()

func decode(tb interface{ Fatalf(string, ...any) }, act p.Performative, b []byte) any {
	v, err := (*p.Registry)(nil).DecodePayload(act, "", b)
	if err != nil {
		tb.Fatalf("%s %s: %v", act, b, err)
	}
	return v
}

// samples has a JSON object with every member that acl or the addenda name for
// the payload of an act.
var samples = map[p.Performative]string{
	p.ActTaskRequest:        `{"task_type":"debug_code","task_description":"d","task_parameters":{"n":9007199254740993},"priority":"medium"}`,
	p.ActTaskAccept:         `{"status":"accepted","task_id_assigned":"t","estimated_completion_time":"PT5M","comments":"c"}`,
	p.ActTaskReject:         `{"status":"rejected","reason_code":"busy","reason_text":"r","retry_after_ms":250}`,
	p.ActStatusUpdate:       `{"progress_percentage":0,"status_description":"s","intermediate_results":{"lines":[1]}}`,
	p.ActInformResult:       `{"task_status":"partial_success","result_summary":"s","result_details":{"request_for_user":"log"},"artifacts":[{"type":"file","path":"/p","size":3},{"type":"log","content":"c"}]}`,
	p.ActFailure:            `{"status":"failure","error_code":"E1","error_text":"t","retry_after_ms":1}`,
	p.ActNotUnderstood:      `{"reason_code":"parsing_error","reason_text":"t"}`,
	p.ActQueryIf:            `{"condition":{"idle":true}}`,
	p.ActInformIf:           `{"condition":{"idle":true},"truth":false}`,
	p.ActQueryRef:           `{"reference":"head"}`,
	p.ActInformRef:          `{"reference":"head","value":null}`,
	p.ActRefuse:             `{"reason_code":"busy","reason_text":"t","retry_after_ms":86400000}`,
	p.ActCancel:             `{"reason":"late"}`,
	p.ActQueryCapabilities:  `{"query_type":"specific","query_parameters":{"capabilities":["Go"],"match_type":"any","depth":2}}`,
	p.ActInformCapabilities: `{"status":"success","capabilities":{"topics":["Go"],"actions":[{"name":"a","description":"d","input_schema":true}]},"match_result":false,"matched_capabilities":[],"action":{"name":"a","input_schema":{},"output_schema":{},"examples":[1,null]}}`,
}

func TestSamplesRoundTrip(t *testing.T) {
	for _, act := range typed {
		v := decode(t, act, []byte(samples[act]))
		if got, want := reflect.TypeOf(v), reflect.TypeOf(contents[act]); got != want {
			t.Errorf("%s is decoded to %s, want %s", act, got, want)
		}
		e := envelope(act)
		e.Payload = v
		mustNew(t, e)
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, []byte(samples[act])), tree(t, out)); diff != "" {
			t.Errorf("%s (-in +out):\n%s", act, diff)
		}
	}
}

// tree decodes JSON for comparison, with numbers as their text.
func tree(tb interface{ Fatalf(string, ...any) }, b []byte) (v any) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%s: %v", b, err)
	}
	return v
}

// Edges of JSON that must survive unchanged: what encoding/json alone would drop,
// rename or round.
func TestPayloadEdges(t *testing.T) {
	tests := []struct {
		act      p.Performative
		in, want string // want empty: as in
	}{
		{p.ActTaskRequest, `{}`, ``},
		{p.ActTaskRequest, `{"task_type":"","task_description":null}`, ``},
		{p.ActTaskRequest, `{"Task_Type":"a","TASK_TYPE":"b","task_type":"c"}`, ``},
		{p.ActTaskRequest, `{"task_type":"a","task_type":"b","x":1,"x":2}`, `{"task_type":"b","x":2}`},
		{p.ActTaskRequest, `{"task_type":"a","task_type":null}`, `{"task_type":null}`},
		{p.ActTaskRequest, `{"task_type":null,"task_type":"a"}`, `{"task_type":"a"}`},
		{p.ActQueryCapabilities, `{"query_parameters":{"match_type":"any"},"query_parameters":{"action_name":"x"}}`, `{"query_parameters":{"action_name":"x"}}`},
		{p.ActInformCapabilities, `{"capabilities":{"topics":["a"]},"capabilities":{"actions":[]}}`, `{"status":"success","capabilities":{"actions":[]}}`},
		{p.ActTaskRequest, `{"n":123456789012345678901234567890,"task_parameters":{"n":1e3}}`, ``},
		{p.ActTaskRequest, `{"":1,"ключ":{"a":null},"a\u0000b":[]}`, ``},
		{p.ActTaskAccept, `{}`, `{"status":"accepted"}`}, // a constant status is filled in
		{p.ActTaskAccept, `{"status":"Accepted"}`, ``},
		{p.ActTaskAccept, `{"status":null,"estimated_completion_time":0}`, `{"status":"accepted","estimated_completion_time":0}`},
		{p.ActTaskAccept, `{"status":"accepted","estimated_completion_time":""}`, ``},
		{p.ActFailure, `{"error_code":""}`, `{"status":"failure","error_code":""}`},
		{p.ActInformResult, `{"task_status":"SUCCESS","artifacts":[]}`, `{"task_status":"success","artifacts":[]}`},
		{p.ActInformResult, `{"artifacts":null,"result_details":null}`, ``},
		{p.ActStatusUpdate, `{"progress_percentage":null}`, ``},
		{p.ActInformIf, `{"truth":null,"condition":null}`, ``},
		{p.ActQueryCapabilities, `{"query_type":"summary","query_parameters":null}`, ``},
		{p.ActQueryCapabilities, `{"query_type":"summary","query_parameters":{}}`, ``},
		{p.ActInformCapabilities, `{"status":"success","capabilities":{"topics":null,"actions":[{}]},"action":null}`, ``},
		{p.ActInformCapabilities, `{"status":"success","action":{"input_schema":null}}`, ``},
		{p.ActInform, `{"a":1,"a":2}`, ``},
	}
	for _, tt := range tests {
		want := tt.want
		if want == "" {
			want = tt.in
		}
		out, err := json.Marshal(decode(t, tt.act, []byte(tt.in)))
		if err != nil {
			t.Errorf("%s %s: %v", tt.act, tt.in, err)
			continue
		}
		if diff := cmp.Diff(tree(t, []byte(want)), tree(t, out)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.act, tt.in, diff)
		}
	}
}

// A member that occurs twice leaves no trace of its first value.
func TestRepeatedMemberLeavesNothing(t *testing.T) {
	got := decode(t, p.ActTaskRequest, []byte(`{"task_type":null,"task_type":"a"}`))
	if diff := cmp.Diff(p.TaskRequest{TaskType: "a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct {
		act       p.Performative
		in, field string
		text      string
	}{
		{p.ActTaskRequest, ``, "payload", "want an object, got nothing"},
		{p.ActTaskRequest, `null`, "payload", "want an object, got null"},
		{p.ActTaskRequest, `["x"]`, "payload", "want an object, got an array"},
		{p.ActTaskRequest, `"x"`, "payload", "want an object, got a string"},
		{p.ActTaskRequest, `true`, "payload", "want an object, got a boolean"},
		{p.ActTaskRequest, `7`, "payload", "want an object, got another value"},
		{p.ActTaskRequest, `{"task_type":`, "payload", "want an object, got malformed JSON"},
		{p.ActTaskRequest, `{} {}`, "payload", "want an object, got malformed JSON"},
		{p.ActTaskRequest, `{"task_type":7}`, "payload.task_type", "want a string, got a JSON number"},
		{p.ActTaskAccept, `{"estimated_completion_time":"soon"}`, "payload.estimated_completion_time", "ISO 8601"},
		{p.ActStatusUpdate, `{"progress_percentage":"half"}`, "payload.progress_percentage", "want a number"},
		{p.ActStatusUpdate, `{"progress_percentage":1e999}`, "payload.progress_percentage", "want a number"},
		{p.ActInformResult, `{"task_status":[]}`, "payload.task_status", "want a string"},
		{p.ActInformResult, `{"artifacts":{}}`, "payload.artifacts", "want an array"},
		{p.ActInformResult, `{"artifacts":[null]}`, "payload.artifacts", "want an object, got null"},
		{p.ActInformResult, `{"artifacts":[{"path":1}]}`, "payload.artifacts.path", "want a string"},
		{p.ActInformIf, `{"truth":"yes"}`, "payload.truth", "want true or false"},
		{p.ActQueryCapabilities, `{"query_parameters":{"capabilities":[1]}}`, "payload.query_parameters.capabilities", "want a string"},
		{p.ActInformCapabilities, `{"capabilities":{"topics":["a",null]}}`, "payload.capabilities.topics", "a null in it"},
		{p.ActInformCapabilities, `{"capabilities":[]}`, "payload.capabilities", "want an object, got an array"},
		{p.ActTaskAccept, `{"status":"rejected"}`, "payload.status", `want "accepted", got "rejected"`},
		{p.ActTaskReject, `{"status":"accepted"}`, "payload.status", `want "rejected", got "accepted"`},
		{p.ActFailure, `{"status":true}`, "payload.status", `want "failure", got true`},
		{p.ActInformCapabilities, `{"status":"failure"}`, "payload.status", `want "success", got "failure"`},
	}
	for _, tt := range tests {
		v, err := (*p.Registry)(nil).DecodePayload(tt.act, "", json.RawMessage(tt.in))
		var r *p.Refusal
		if v != nil || !errors.As(err, &r) || r.Code != p.CodeInvalidPayload {
			t.Errorf("%s %s = %v, %v; want a refusal", tt.act, tt.in, v, err)
			continue
		}
		if r.Field != tt.field || !strings.HasPrefix(r.Text, tt.field+": ") || !strings.Contains(r.Text, tt.text) {
			t.Errorf("%s %s: field %q, text %q; want %q, %q", tt.act, tt.in, r.Field, r.Text, tt.field, tt.text)
		}
	}
}

// A payload made here carries the constant status of acl, whatever its Extra.
func TestStatusOfPayloadsMadeHere(t *testing.T) {
	extra := p.Members{"subtask_id": json.RawMessage(`"s"`), "status": {}} // an empty member is none
	tests := map[string]json.Marshaler{
		"accepted": p.TaskAccept{Extra: extra}, "rejected": p.TaskReject{Extra: extra}, "failure": p.Failure{Extra: extra},
		"success": p.InformCapabilities{Extra: extra}, "done": p.Receipt{Extra: extra},
	}
	for status, v := range tests {
		want := `{"status":"` + status + `","subtask_id":"s"}`
		b, err := v.MarshalJSON()
		if err != nil || cmp.Diff(tree(t, []byte(want)), tree(t, b)) != "" {
			t.Errorf("%T is written %s, %v; want %s", v, b, err, want)
		}
	}
	if len(extra) != 2 || len(extra["status"]) != 0 {
		t.Errorf("writing changed Extra: %v", extra)
	}
}

func TestFieldWinsOverExtra(t *testing.T) {
	b, err := p.TaskRequest{TaskType: "a", Extra: p.Members{"task_type": json.RawMessage(`"b"`), "none": nil}}.MarshalJSON()
	if err != nil || string(b) != `{"task_type":"a"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestUnwritablePayload(t *testing.T) {
	if b, err := (p.TaskRequest{Parameters: p.ContentOf(func() {})}).MarshalJSON(); err == nil {
		t.Errorf("a function is written %s", b)
	}
}

func TestRequestForUser(t *testing.T) {
	tests := map[string]string{
		`{"task_status":"partial_success","result_details":{"request_for_user":"the log"}}`: "the log",
		`{"task_status":"success","result_details":{"request_for_user":"the log"}}`:         "",
		`{"task_status":"partial_success","result_details":{"request_for_user":7}}`:         "",
		`{"task_status":"partial_success"}`:                                                 "",
	}
	for in, want := range tests {
		if got := decode(t, p.ActInformResult, []byte(in)).(p.InformResult).RequestForUser(); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestPayloadAs(t *testing.T) {
	raw := func(s string) *p.Message {
		e := envelope(p.ActTaskRequest)
		e.Payload = p.Raw(s)
		return mustNew(t, e)
	}
	if v, err := p.PayloadAs[p.TaskRequest](mustNew(t, envelope(p.ActTaskRequest))); err != nil || v.TaskType != "debug_code" {
		t.Errorf("typed: %+v, %v", v, err)
	}
	if v, err := p.PayloadAs[p.TaskRequest](raw(`{"task_type":"x"}`)); err != nil || v.TaskType != "x" {
		t.Errorf("raw: %+v, %v", v, err)
	}
	if _, err := p.PayloadAs[p.TaskRequest](raw(`{}`)); err == nil || !strings.Contains(err.Error(), "payload.task_type: want") {
		t.Errorf("raw that Validate forbids: %v", err)
	}
	if _, err := p.PayloadAs[p.TaskRequest](raw(`{"task_type":7}`)); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("raw that does not fit: %v", err)
	}
	if _, err := p.PayloadAs[p.TaskAccept](mustNew(t, envelope(p.ActTaskRequest))); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("another type: %v", err)
	}
	e := envelope(p.ActAgree)
	e.Payload = p.Raw(nil)
	if _, err := p.PayloadAs[p.Receipt](mustNew(t, e)); err != nil {
		t.Errorf("an empty Raw: %v", err)
	}
	e.Payload = nil
	if _, err := p.PayloadAs[p.Receipt](mustNew(t, e)); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("no content: %v", err)
	}
}

// jsonValue generates JSON of every kind, with numbers that a float64 cannot hold.
var jsonValue = rapid.Deferred(func() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{`null`, `true`, `false`, `0`, `-0.5`, `9007199254740993`, `1e3`, `""`, `"x"`, `{}`, `[]`}),
		rapid.Map(rapid.String(), quote),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{`null`, `1`, `{"a":[]}`}), 0, 3), func(v []string) string {
			return "[" + strings.Join(v, ",") + "]"
		}),
	)
})

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// statuses are the constant statuses that a decoder fills in (addenda §7).
var statuses = map[p.Performative]string{
	p.ActTaskAccept: "accepted", p.ActTaskReject: "rejected", p.ActFailure: "failure", p.ActInformCapabilities: "success",
}

// The members of an act's sample are kept, left out, emptied or joined by others;
// what was decoded is written as it came, with its constant status.
func TestPayloadRoundTripIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		act := rapid.SampledFrom(typed).Draw(t, "act")
		var known map[string]json.RawMessage
		if err := json.Unmarshal([]byte(samples[act]), &known); err != nil {
			t.Fatal(err)
		}
		object := map[string]string{}
		for _, name := range sortedKeys(known) {
			switch rapid.IntRange(0, 3).Draw(t, name) {
			case 0:
			case 1:
				object[name] = `null`
			default:
				object[name] = string(known[name])
			}
		}
		for name, value := range rapid.MapOfN(rapid.String(), jsonValue, 0, 4).Draw(t, "unknown") {
			if _, ok := known[name]; !ok {
				object[name] = value
			}
		}
		in := []byte(joinObject(object))
		v := decode(t, act, in)
		if status := statuses[act]; status != "" {
			object["status"] = quote(status)
		}
		in = []byte(joinObject(object))
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, in), tree(t, out)); diff != "" {
			t.Fatalf("%s (-in +out):\n%s", act, diff)
		}
		if diff := cmp.Diff(v, decode(t, act, out)); diff != "" {
			t.Fatalf("%s is not equal to itself:\n%s", act, diff)
		}
	})
}

func joinObject(m map[string]string) string {
	var b strings.Builder
	for i, name := range sortedKeys(m) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(name) + ":" + m[name])
	}
	return "{" + b.String() + "}"
}

// FuzzDecodePayload: no input makes a decoder panic, and what it accepts means
// the same after decode and encode.
func FuzzDecodePayload(f *testing.F) {
	for act := range p.Performatives() {
		b, err := json.Marshal(contents[act])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(act), b)
		f.Add(uint8(act), []byte(samples[act]))
	}
	f.Fuzz(func(t *testing.T, act uint8, in []byte) {
		v, err := (*p.Registry)(nil).DecodePayload(p.Performative(act), "", in)
		if err != nil || v == nil || !json.Valid(in) {
			return
		}
		if _, ok := v.(p.Raw); ok {
			return
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%T %s: %v", v, in, err)
		}
		want := normal(tree(t, in))
		if status := statuses[p.Performative(act)]; status != "" {
			if object := want.(map[string]any); object["status"] == nil { // an absent status is filled in (addenda §7)
				object["status"] = status
			}
		}
		if diff := cmp.Diff(want, normal(tree(t, out))); diff != "" {
			t.Fatalf("%T (-in +out):\n%s", v, diff)
		}
		if diff := cmp.Diff(v, decode(t, p.Performative(act), out)); diff != "" && json.Valid(out) {
			t.Fatalf("%T changes on the second trip (-first +second):\n%s", v, diff)
		}
	})
}

// normal allows for what decoding is free to change: the spelling of a number
// that a field holds as float64, and the case of task_status.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if s, ok := member.(string); ok && name == "task_status" {
				v[name] = strings.ToLower(s)
				continue
			}
			v[name] = normal(member)
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case json.Number:
		if f, err := strconv.ParseFloat(v.String(), 64); err == nil {
			return f
		}
	}
	return v
}

// The mark of a payload that need not be read stays with it, and with no other one.
func TestParsedPayload(t *testing.T) {
	e := p.Envelope{ID: "m", Performative: p.ActInform, Sender: "a", Receiver: "b", Timestamp: time.Unix(1, 0), Language: p.LanguageJSON, Payload: p.Parsed(`{"a":1}`)}
	m := mustNew(t, e)
	if raw, is := m.Payload().(p.Raw); !is || string(raw) != `{"a":1}` || !m.Parsed() || m.Language() != p.LanguageJSON {
		t.Errorf("%T %s, parsed %v", m.Payload(), raw, m.Parsed())
	}
	if !m.Readdressed("c", "d").Parsed() {
		t.Error("the mark is lost with another address")
	}
	other, err := m.With(func(e *p.Envelope) { e.Payload = p.Raw(`{"a":}`) })
	if err != nil || other.Parsed() {
		t.Errorf("another payload: parsed %v, %v", other.Parsed(), err)
	}
	e.Payload = p.Parsed(`[]`)
	if _, err := p.New(e); err == nil {
		t.Error("an array is taken for an object")
	}
}
