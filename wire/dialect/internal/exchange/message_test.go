package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

func message(t testing.TB, e performatives.Envelope) *performatives.Message {
	t.Helper()
	e.ID, e.Sender, e.Receiver, e.Timestamp = "m", "A", "B", time.Unix(1, 0)
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// textOf returns the text of an error, or "".
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTraceparent(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	with := func(at int, c string) string { return good[:at] + c + good[at+1:] }
	for text, want := range map[string]bool{
		good: true, with(0, "f"): true, with(54, "f"): true, "x": false, good[1:]: false, good + "0": false, with(2, "0"): false, with(35, "0"): false, with(52, "0"): false,
		"ff" + good[2:]: false, with(0, "g"): false, with(1, "g"): false, with(3, "g"): false, with(34, "A"): false, with(36, "g"): false, with(51, "g"): false, with(53, "g"): false, with(54, "g"): false,
		good[:3] + strings.Repeat("0", 32) + good[35:]: false, good[:36] + strings.Repeat("0", 16) + good[52:]: false,
		good[:3] + "1" + strings.Repeat("0", 31) + good[35:]: true, good[:3] + strings.Repeat("0", 31) + "1" + good[35:]: true,
		good[:36] + "1" + strings.Repeat("0", 15) + good[52:]: true, good[:36] + strings.Repeat("0", 15) + "1" + good[52:]: true,
	} {
		if got := exchange.Traceparent(exchange.Quoted(text)); (got == text) != want || !want && got != "" {
			t.Errorf("%q is read as %q", text, got)
		}
	}
	if got := exchange.Traceparent([]byte("7")); got != "" {
		t.Errorf("a number is the trace %s", got)
	}
}

func TestPriority(t *testing.T) {
	for text, want := range map[string]performatives.Priority{
		`"low"`: performatives.Low, `"medium"`: performatives.Normal, `"Normal"`: performatives.Normal, `"HIGH"`: performatives.High, `"urgent"`: performatives.Urgent,
		`1`: performatives.Low, `"2"`: performatives.Low, `3`: performatives.Normal, `4`: performatives.High, `5`: performatives.Urgent,
	} {
		if p, ok := exchange.Priority([]byte(text)); p != want || !ok {
			t.Errorf("%s is read as %s, %t", text, p, ok)
		}
	}
	for _, text := range []string{``, `""`, `null`, `0`, `6`, `"7"`, `"asap"`, `true`, `[1]`, `1.0`} {
		if p, ok := exchange.Priority([]byte(text)); p != performatives.Normal || ok {
			t.Errorf("%s is read as %s, %t", text, p, ok)
		}
	}
}

func TestIsAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		e    performatives.Envelope
		want bool
	}{
		"a request":                 {performatives.Envelope{Performative: performatives.ActRequest}, false},
		"a request about another":   {performatives.Envelope{Performative: performatives.ActRequest, InReplyTo: "x"}, false},
		"news":                      {performatives.Envelope{Performative: performatives.ActInform}, false},
		"news about a message":      {performatives.Envelope{Performative: performatives.ActInform, InReplyTo: "x"}, true},
		"a refusal":                 {performatives.Envelope{InReplyTo: "x", Payload: performatives.Refuse{ReasonCode: "x"}}, true},
		"a proposal for an invitee": {performatives.Envelope{Performative: performatives.ActPropose, InReplyTo: "x"}, !performatives.ActPropose.ExpectsReply()},
	} {
		if got := exchange.IsAnswer(message(t, tt.e)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if exchange.IsAnswer(nil) {
		t.Error("no message is an answer")
	}
}

// The payload of a message is read as another type through JSON.
func TestPayloadAs(t *testing.T) {
	task := message(t, performatives.Envelope{Payload: performatives.TaskRequest{TaskType: "a"}})
	raw := message(t, performatives.Envelope{Performative: performatives.ActInform, Payload: performatives.Raw(`{"task_type":"b"}`)})
	wrong := message(t, performatives.Envelope{Performative: performatives.ActInform, Payload: performatives.Raw(`{"task_type":7}`)})
	for name, m := range map[string]*performatives.Message{"a": task, "b": raw} {
		if p, err := exchange.PayloadAs[performatives.TaskRequest](m); err != nil || p.TaskType != name {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if _, err := exchange.PayloadAs[performatives.TaskRequest](wrong); !strings.HasPrefix(textOf(err), "payload: ") {
		t.Error(err)
	}
	var b jsonscan.Builder
	if exchange.Content[performatives.TaskRequest](&b, wrong); !strings.HasPrefix(textOf(b.Err), "payload: ") {
		t.Error(b.Err)
	}
}

// An object is written as it is. Any other value is an error with the name of the dialect.
func TestObject(t *testing.T) {
	for _, tt := range []struct {
		payload   any
		want, err string
	}{
		{nil, "{}", ""},
		{performatives.Raw(`{"a":1.0}`), `{"a":1.0}`, ""},
		{map[string]int{"a": 1}, `{"a":1}`, ""},
		{performatives.Raw(`[1]`), "", "d: payload: want a JSON object"},
		{7, "", "d: payload: want a JSON object"},
		{performatives.Raw(`{"a":`), "", "d: payload: "},
		{json.RawMessage(`{`), "", "d: payload: "},
	} {
		got, err := exchange.Object("d", tt.payload)
		if string(got) != tt.want || (err == nil) != (tt.err == "") || !strings.HasPrefix(textOf(err), tt.err) {
			t.Errorf("%v: %s, %v", tt.payload, got, err)
		}
		w := exchange.NewWriter("d", nil, nil)
		if w.Marshal(tt.payload); string(w.Payload) != tt.want || textOf(w.Err) != textOf(err) {
			t.Errorf("%v: %s, %v", tt.payload, w.Payload, w.Err)
		}
	}
	for _, tt := range []struct {
		content   performatives.Content
		want, err string
	}{
		{performatives.ContentOf(map[string]int{"a": 1}), `{"x":{"a":1}}`, ""},
		{performatives.RawContent([]byte(`{"a":1.0}`)), `{"x":{"a":1.0}}`, ""},
		{performatives.RawContent([]byte(`{"a":`)), "", "x: "},
		{performatives.ContentOf(func() {}), "", "x: "},
	} {
		b := jsonscan.OpenObject(nil)
		exchange.PutContent(&b, "x", tt.content)
		got, err := b.Close()
		if err == nil && string(got) != tt.want || (err == nil) != (tt.err == "") || !strings.HasPrefix(textOf(err), tt.err) {
			t.Errorf("%s, %v, want %s, %s", got, err, tt.want, tt.err)
		}
	}
}

// The values of an envelope nest to MaxDepth, with the envelope.
func TestWriterDepth(t *testing.T) {
	for n := range 2 {
		v := strings.Repeat("[", exchange.MaxDepth-1+n) + strings.Repeat("]", exchange.MaxDepth-1+n)
		w := exchange.NewWriter("d", nil, []byte("before"))
		w.Checked("x", []byte(v))
		out, err := w.Finish()
		if (err == nil) != (n == 0) || err == nil && string(out) != `before{"x":`+v+`}` || err != nil && string(out) != "before" {
			t.Errorf("%d too deep: %s, %v", n, out, err)
		}
	}
	w := exchange.NewWriter("d", nil, []byte("\xff"))
	if _, err := w.Finish(); err != nil {
		t.Errorf("what was before: %v", err)
	}
	w = exchange.NewWriter("d", nil, nil)
	w.Raw("x", []byte("\"\xff\""))
	if _, err := w.Finish(); textOf(err) != "d: want UTF-8" {
		t.Error(err)
	}
}

// The members of an object become metadata, up to 1,024, each once.
func TestKeptObjectIsBounded(t *testing.T) {
	for n, want := range map[int]string{exchange.MaxUnknown: "", exchange.MaxUnknown + 1: "p: want at most 1,024 members"} {
		var text strings.Builder
		for i := range n {
			text.WriteString(`,"k` + strings.Repeat("x", i) + `":1`)
		}
		var f exchange.Fault
		var kept performatives.Members
		f.KeepObject("p", []byte("{"+text.String()[1:]+"}"), &kept, "own.")
		if got := textOf(errOf(f.Refusal)); !strings.HasPrefix(got, want) || (got == "") != (want == "") || len(kept) != exchange.MaxUnknown {
			t.Errorf("%d members: %s, %d kept", n, got, len(kept))
		}
	}
	for object, want := range map[string]string{`{"a":1,"b.c":2}`: "", `{"a":1,"a":2}`: "p: want no second a (parsing_error)", `{"own.a":1,"a":2}`: "", `{"b.":1,"own.b.":2}`: "p: want no second own.b. (parsing_error)"} {
		var f exchange.Fault
		var kept performatives.Members
		f.KeepObject("p", []byte(object), &kept, "own.", "b.", "c.")
		if got := textOf(errOf(f.Refusal)); got != want || strings.Contains(object, "b.c") && string(kept["own.b.c"]) != "2" {
			t.Errorf("%s: %s, %s", object, got, kept)
		}
	}
}

func errOf(r *performatives.Refusal) error {
	if r == nil {
		return nil
	}
	return r
}

// The extensions of a message go into the metadata and come back.
func TestExtensions(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	m := message(t, performatives.Envelope{Performative: performatives.ActInform, Protocol: "p", Trace: trace, Budget: performatives.RawContent([]byte(`{"t":1}`))})
	meta := performatives.Members{"x": json.RawMessage("1")}
	if err := exchange.PutExtensions(meta, m); err != nil || string(meta["protocol"]) != `"p"` || string(meta["trace"]) != `"`+trace+`"` || string(meta["budget"]) != `{"t":1}` {
		t.Errorf("%s, %v", meta, err)
	}
	e := performatives.Envelope{Metadata: meta}
	if exchange.TakeExtensions(&e); e.Protocol != "p" || e.Trace != trace || e.Budget.IsZero() || len(e.Metadata) != 1 {
		t.Errorf("%+v", e)
	}
	broken := message(t, performatives.Envelope{Performative: performatives.ActInform, Budget: performatives.ContentOf(map[string]any{"f": func() {}})})
	if err := exchange.PutExtensions(performatives.Members{}, broken); err == nil {
		t.Error("a budget that does not marshal is written")
	}
}
