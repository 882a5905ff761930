package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/tool"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// BenchmarkToolCheck measures the check of the arguments of a call, for arguments from outside of
// the process (raw) and from inside (value).
func BenchmarkToolCheck(b *testing.B) {
	added, err := tool.New("total", "", total)
	if err != nil {
		b.Fatal(err)
	}
	tools, err := tool.NewSet(added)
	if err != nil {
		b.Fatal(err)
	}
	for name, in := range map[string]any{
		"raw":   json.RawMessage(`{"items": [{"name": "tea", "cost": 5}, {"name": "cake", "cost": 3}], "tip": 3}`),
		"value": basket{Items: []item{{"tea", 5}, {"cake", 3}}},
	} {
		b.Run(name, func(b *testing.B) {
			task := delegation.Task{TaskRequest: p.TaskRequest{TaskType: "total", Parameters: p.ContentOf(in)}}
			b.ReportAllocs()
			for b.Loop() {
				tools.ConsiderTask(b.Context(), task)
			}
		})
	}
}
