package runtime_test

import (
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// Texts that are expensive to parse cost time in proportion to their length. They get a
// reply or end their own connection, and do not affect others.
func TestHostileTexts(t *testing.T) {
	racetest.Skip(t)
	const size = 4 << 20
	deep := strings.Repeat(`[`, size)
	closed := strings.Repeat(`[`, size/2) + strings.Repeat(`]`, size/2)
	objects := strings.Repeat(`{"a":`, size/5)
	h := newGatewayHub(t)
	other := h.program("other")
	other.ask("1", "", "tools/list", "{}")
	other.read()
	for name, text := range map[string]string{
		"brackets":             deep,
		"objects":              objects,
		"within an envelope":   `{"id":"1","timestamp":"2026-01-01T00:00:00Z","source":"x","mcp_payload":` + closed + `}`,
		"within params":        `{"id":"1","timestamp":"2026-01-01T00:00:00Z","source":"x","mcp_payload":{"jsonrpc":"2.0","id":1,"method":"a.b","params":{"x":` + closed + `}}}`,
		"within metadata":      `{"id":"1","timestamp":"2026-01-01T00:00:00Z","source":"x","metadata":` + objects,
		"within acl's payload": `{"performative":"INFORM","message_id":"1","payload":{"x":` + closed + `}}`,
		"a batch of nothing":   `{"id":"1","timestamp":"2026-01-01T00:00:00Z","source":"x","mcp_payload":[` + strings.Repeat("0,", size/2) + `0]}`,
		"one long name":        `{"` + strings.Repeat("a", size) + `":1}`,
		"one long number":      `{"id":` + strings.Repeat("9", size) + `}`,
		"escapes":              `{"id":"` + strings.Repeat(`\u0041`, size/6) + `"}`,
		"many members":         `{` + strings.Repeat(`"a":0,`, size/6) + `"b":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			hostile := h.program("hostile")
			hostile.write(text)
			other.ask("2", "", "tools/list", "{}")
			if got := other.read(); string(got.ID) != "2" {
				t.Errorf("the other is told %+v", got)
			}
			hostile.frame() // the error report
			goruntime.ReadMemStats(&after)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 8*size {
				t.Errorf("a text of %d bytes cost %d", len(text), spent)
			}
		})
	}
}
