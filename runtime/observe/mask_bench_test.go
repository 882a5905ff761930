package observe_test

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// BenchmarkMaskOfJSON masks messages as agents send them: none has a secret but "secret".
func BenchmarkMaskOfJSON(b *testing.B) {
	m := observe.NewMask(observe.DefaultMask())
	for _, c := range []struct{ name, text string }{
		{"task", `{"task_id":"t-4711","task_type":"explain_code","description":"Explain what the function does, and why: it is called twice.","parameters":{"language":"go","max_tokens":512,` +
			`"path":"internal/parser/scan.go","url":"https://example.org/repo/blob/main/scan.go?line=17&view=raw"},"context":{"conversation_id":"c-81","history":[{"role":"user",` +
			`"content":"Why does it read the header again?"},{"role":"assistant","content":"Because the first read may be short."}]},"priority":"normal","deadline":"2026-11-28T18:09:44.123Z"}`},
		{"result", `{"task_id":"t-4711","status":"completed","result":{"explanation":"` + strings.Repeat("The function scans the header byte by byte. Note: it stops at the first line that has no colon. ", 8) +
			`","confidence":0.93,"sources":["internal/parser/scan.go:17","internal/parser/header.go:40"]},"metrics":{"duration_ms":412,"input_tokens":310,"output_tokens":122},"completed_at":"2026-11-28T18:09:45Z"}`},
		{"small", `{"a":1,"text":"hello"}`},
		{"envelope", `{"performative":"request","sender":"Eddy","receiver":"Jules","content":{"task_type":"explain","parameters":{"expression":"x = y + 1","n":3}},"reply-with":"r-1","language":"json","ontology":"tasks",` +
			`"protocol":"delegation","conversation-id":"c-17","timestamp":"2026-11-28T18:09:44.123Z","headers":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}`},
		{"JSON in a text", `{"task_id":"t-1","status":"completed","result":{"text":"{\"answer\": 42, \"steps\": [\"read: the file\", \"count=3 lines\"], \"note\": \"all \\\"good\\\"\"}"}}`},
		{"prose", `{"text":"` + strings.Repeat("A text of words, and no more. ", 500) + `"}`},
		{"numbers", `{"vector":[` + strings.Repeat("0.125,", 500) + `1]}`},
		{"secret", `{"headers":{"Authorization":"Bearer abc","Accept":"application/json"},"url":"https://u:p@example.org/a?token=x"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			text, before := []byte(c.text), cpuTime(b)
			for b.Loop() {
				if _, err := m.JSON(text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
