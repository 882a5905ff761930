package performatives_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// Size is near what a message is as JSON, whatever it holds that in.
func TestSize(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	type finding struct {
		Text   string
		hidden []byte
		More   map[string]any
	}
	for name, payload := range map[string]any{
		"raw":          p.Raw(`{"a":"` + long + `"}`),
		"JSON":         p.TaskRequest{TaskType: "t", Parameters: p.RawContent(json.RawMessage(`{"a":"` + long + `"}`))},
		"a string":     p.InformResult{Status: p.StatusSuccess, Summary: long},
		"a struct":     p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(finding{Text: long[:50_000], More: map[string]any{"a": []string{long[:50_000]}}})},
		"an object":    p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(map[string]any{"a": long[:50_000], "b": map[string]any{"c": long[:50_000]}})},
		"a pointer":    p.InformResult{Status: p.StatusSuccess, Details: p.ContentOf(&finding{hidden: []byte(long)})},
		"many":         p.InformRef{Value: p.ContentOf(strings.Split(strings.Repeat(long[:999]+" ", 100), " "))},
		"many numbers": p.InformRef{Value: p.ContentOf(make([]int, 12_500))},
		"artifacts":    p.InformResult{Status: p.StatusSuccess, Artifacts: []p.Artifact{{Content: long[:50_000]}, {Content: long[:50_000]}}},
	} {
		e := envelope(p.ActInform)
		e.Performative, e.Payload = 0, payload
		if _, ok := payload.(p.Raw); ok {
			e.Performative = p.ActInform
		}
		if got := mustNew(t, e).Size(); got < 100_000 || got > 110_000 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// Size has the text of each field of the envelope.
func TestSizeOfEnvelope(t *testing.T) {
	bare := envelope(p.ActInform)
	bare.Trace, bare.MessageType, bare.Language, bare.Principal, bare.Metadata, bare.Budget = "", "", "", "", nil, p.Content{}
	short := mustNew(t, bare).Size()
	long := strings.Repeat("x", 60)
	fields := map[string]func(e *p.Envelope){
		"id":           func(e *p.Envelope) { e.ID = p.MessageID(long) },
		"sender":       func(e *p.Envelope) { e.Sender = p.AgentID(long) },
		"receiver":     func(e *p.Envelope) { e.Receiver = p.AgentID(long) },
		"conversation": func(e *p.Envelope) { e.ConversationID = p.ConversationID(long) },
		"protocol":     func(e *p.Envelope) { e.Protocol = long },
		"message type": func(e *p.Envelope) { e.MessageType = long },
		"in_reply_to":  func(e *p.Envelope) { e.InReplyTo = long },
		"reply_with":   func(e *p.Envelope) { e.ReplyWith = long },
		"language":     func(e *p.Envelope) { e.Language = long },
		"ontology":     func(e *p.Envelope) { e.Ontology = long },
		"trace":        func(e *p.Envelope) { e.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
		"principal":    func(e *p.Envelope) { e.Principal = long },
		"metadata":     func(e *p.Envelope) { e.Metadata = p.Members{"m": json.RawMessage(`"` + long + `"`)} },
		"budget":       func(e *p.Envelope) { e.Budget = p.RawContent(json.RawMessage(`{"` + long + `":1}`)) },
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		e := bare
		fields[name](&e)
		least := 40
		if slices.Contains([]string{"budget", "language", "message type", "metadata", "principal"}, name) {
			least += 100 // the memory for fields that few messages have
		}
		if got := mustNew(t, e).Size() - short; got < least || got > 400 {
			t.Errorf("%s: %d bytes more", name, got)
		}
	}
}

// A message has no weight unless somebody has weighed it.
func TestWeight(t *testing.T) {
	m := mustNew(t, envelope(p.ActInform))
	if m.Weight() != 0 {
		t.Errorf("made here: %d", m.Weight())
	}
	if m.Weigh(); m.Weight() != m.Size() {
		t.Errorf("weighed: %d, and it has %d bytes", m.Weight(), m.Size())
	}
}

// Values that contain themselves, or very much, are looked at for a bounded time.
func TestSizeEnds(t *testing.T) {
	type ring struct {
		Next *ring
		Text string
	}
	r := &ring{Text: "around and around"}
	r.Next = r
	wide := make(map[int]any)
	for i := range 1_000_000 {
		wide[i] = i
	}
	for _, v := range []any{r, wide, map[string]any{"deep": []any{[]any{[]any{wide}}}}} {
		e := envelope(p.ActInformRef)
		e.Payload = p.InformRef{Value: p.ContentOf(v)}
		if got := mustNew(t, e).Size(); got < 100 {
			t.Errorf("%T: %d", v, got)
		}
	}
}
