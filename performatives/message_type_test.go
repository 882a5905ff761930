package performatives_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// review is an application's payload.
type review struct {
	File string `json:"file"`
}

func (r review) Validate() error {
	if r.File == "" {
		return errors.New("want a file")
	}
	return nil
}

func asReview(e *p.Envelope) { e.MessageType = "REVIEW_REQUEST" }

func TestRepliesDoNotInheritTheMessageType(t *testing.T) {
	e := envelope(p.ActTaskRequest)
	e.MessageType = "REVIEW_REQUEST"
	asked := mustNew(t, e)
	reply, err := asked.Reply(stamps()(), p.TaskAccept{})
	if err != nil || reply.MessageType() != "" {
		t.Errorf("the reply has the message type %q, %v", reply.MessageType(), err)
	}
	next, err := asked.Follow(stamps()(), p.Cancel{})
	if err != nil || next.MessageType() != "" {
		t.Errorf("the next act has the message type %q, %v", next.MessageType(), err)
	}
	if r := asked.Refuse("Jules", stamps()(), p.CodeBusy, ""); r.MessageType() != "" {
		t.Errorf("the refusal has the message type %q", r.MessageType())
	}
}

func TestWith(t *testing.T) {
	m := mustNew(t, envelope(p.ActTaskRequest))
	m.Weigh()
	before := m.Envelope()
	got, err := m.With(func(e *p.Envelope) {
		e.MessageType, e.Performative, e.Payload = "REVIEW_REQUEST", p.ActRequest, review{"a.go"}
		e.Metadata["y"] = json.RawMessage(`2`)
		delete(e.Metadata, "x")
	})
	if err != nil {
		t.Fatal(err)
	}
	want := before
	want.MessageType, want.Performative, want.Payload = "REVIEW_REQUEST", p.ActRequest, review{"a.go"}
	want.Metadata = p.Members{"y": json.RawMessage(`2`)}
	if diff := cmp.Diff(want, got.Envelope()); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(envelope(p.ActTaskRequest), m.Envelope()); diff != "" {
		t.Errorf("the original has changed (-before +after):\n%s", diff)
	}
	if got.Weight() != got.Size() {
		t.Errorf("the weight of the copy is %d, its size %d", got.Weight(), got.Size())
	}
}

func TestWithValidates(t *testing.T) {
	m := mustNew(t, envelope(p.ActTaskRequest))
	got, err := m.With(func(e *p.Envelope) { e.MessageType = "two words" })
	var r *p.Refusal
	if got != nil || !errors.As(err, &r) || r.Field != "message_type" {
		t.Errorf("With = %v, %v", got, err)
	}
}

// A copy with rare fields is the message and these.
func TestWithAllocs(t *testing.T) {
	racetest.Skip(t)
	e := envelope(p.ActTaskRequest)
	e.Metadata = nil
	m := mustNew(t, e)
	if n := testing.AllocsPerRun(100, func() { sinkMessage, _ = m.With(asReview) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func TestPayloadOfAMessageType(t *testing.T) {
	e := envelope(p.ActTaskRequest)
	e.MessageType, e.Payload = "REVIEW_REQUEST", p.Raw(`{"file":"a.go"}`)
	if got, err := p.PayloadAs[review](mustNew(t, e)); err != nil || got.File != "a.go" {
		t.Errorf("PayloadAs = %v, %v", got, err)
	}
	e.Payload = p.Raw(`{}`)
	if _, err := p.PayloadAs[review](mustNew(t, e)); !errors.Is(err, p.CodeInvalidPayload) {
		t.Errorf("PayloadAs of an invalid one: %v", err)
	}
	e.Payload = p.Raw(nil)
	if _, err := p.PayloadAs[p.TaskRequest](mustNew(t, e)); err == nil {
		t.Error("an empty object is a task")
	}
}

func TestRegisterMessageType(t *testing.T) {
	var r p.Registry
	if err := p.RegisterMessageType[review](&r, "REVIEW_REQUEST", p.ActRequest); err != nil {
		t.Fatal(err)
	}
	if act, ok := r.MessageTypeAct("REVIEW_REQUEST"); act != p.ActRequest || !ok {
		t.Errorf("its act is %s, %t", act, ok)
	}
	if act, ok := (*p.Registry)(nil).MessageTypeAct("REVIEW_REQUEST"); ok {
		t.Errorf("without a registry its act is %s", act)
	}
	if err := p.RegisterMessageType[review](&r, "REVIEW_REQUEST", p.ActInform); !errors.Is(err, p.ErrRegistered) {
		t.Errorf("registered again: %v", err)
	}
	for name, err := range map[string]error{
		"a bad name":  p.RegisterMessageType[review](&r, "a b", p.ActRequest),
		"no act":      p.RegisterMessageType[review](&r, "A", 0),
		"no object":   p.RegisterMessageType[int](&r, "A", p.ActRequest),
		"another act": p.RegisterMessageType[p.TaskAccept](&r, "A", p.ActRequest),
	} {
		if err == nil || errors.Is(err, p.ErrRegistered) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeTyped(t *testing.T) {
	var r p.Registry
	if err := p.RegisterMessageType[review](&r, "REVIEW_REQUEST", p.ActTaskRequest); err != nil {
		t.Fatal(err)
	}
	const own, task = `{"file":"a.go"}`, `{"task_type":"x"}`
	for name, tt := range map[string]struct {
		registry *p.Registry
		act      p.Performative
		typ, in  string
		want     any
	}{
		"registered":           {&r, p.ActTaskRequest, "REVIEW_REQUEST", own, review{"a.go"}},
		"of another act":       {&r, p.ActInform, "REVIEW_REQUEST", own, p.Raw(own)},
		"not registered":       {&r, p.ActTaskRequest, "OTHER", task, p.Raw(task)},
		"no registry":          {nil, p.ActTaskRequest, "REVIEW_REQUEST", own, p.Raw(own)},
		"no type":              {nil, p.ActRequest, "", own, p.Raw(own)},
		"no payload":           {nil, p.ActTaskRequest, "REVIEW_REQUEST", "", nil},
		"no type, built in":    {&r, p.ActCancel, "", `{"reason":"r"}`, p.Cancel{Reason: "r", Extra: p.Members{}}},
		"a type, built in too": {&r, p.ActCancel, "X", `{"reason":"r"}`, p.Raw(`{"reason":"r"}`)},
	} {
		got, err := tt.registry.DecodeTyped(tt.act, tt.typ, "", json.RawMessage(tt.in))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// A rule that is known at run time only: what breaks it is refused with its field, and the type
// belongs to one act.
func TestRegisterChecked(t *testing.T) {
	var r p.Registry
	var seen []string
	rule := func(payload json.RawMessage) error {
		seen = append(seen, string(payload))
		switch string(payload) {
		case `{"a":1}`:
			return &p.Refusal{Field: "a", Text: "want a text"}
		case `{"b":1}`:
			return errors.New("want no b")
		}
		return nil
	}
	if err := r.RegisterChecked("CHECKED", p.ActTaskRequest, rule); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		act         p.Performative
		in          string
		want        any
		field, text string
	}{
		{p.ActTaskRequest, `{"c":1.0}`, p.Raw(`{"c":1.0}`), "", ""},
		{p.ActTaskRequest, "", nil, "", ""},
		{p.ActTaskRequest, `{"a":1}`, nil, "payload.a", "payload.a: want a text"},
		{p.ActTaskRequest, `{"b":1}`, nil, "payload", "payload: want no b"},
		{p.ActTaskRequest, `[1]`, nil, "payload", "payload: want an object, got an array"},
		{p.ActInform, `{"c":1}`, nil, "performative", "performative: want TASK_REQUEST, the act of CHECKED, got INFORM"},
	} {
		got, err := r.DecodeTyped(tt.act, "CHECKED", "", json.RawMessage(tt.in))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
		var refusal *p.Refusal
		if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &refusal) || refusal.Code != p.CodeInvalidPayload || refusal.Field != tt.field || refusal.Text != tt.text) {
			t.Errorf("%s of %s: %v", tt.in, tt.act, err)
		}
	}
	if diff := cmp.Diff([]string{`{"c":1.0}`, "{}", `{"a":1}`, `{"b":1}`}, seen); diff != "" {
		t.Errorf("the rule was asked about other payloads: %s", diff)
	}
	if got, err := r.DecodeTyped(p.ActInform, "OTHER", "", json.RawMessage(`{"a":1}`)); err != nil || got == nil {
		t.Errorf("another message type: %v, %v", got, err)
	}
	if act, ok := r.MessageTypeAct("CHECKED"); !ok || act != p.ActTaskRequest {
		t.Errorf("it has the act %s, %v", act, ok)
	}
	if err := r.RegisterChecked("CHECKED", p.ActInform, rule); !errors.Is(err, p.ErrRegistered) {
		t.Errorf("registered twice: %v", err)
	}
	if err := r.RegisterChecked("two words", p.ActInform, rule); p.RefusalOf(err) == nil {
		t.Errorf("a name that is none: %v", err)
	}
	if err := r.RegisterChecked("X", 0, rule); err == nil {
		t.Error("registered without an act")
	}
}
