package acl

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Whoever keeps the id of a peer keeps nothing else of its message, however much the peer
// says of itself.
func TestIDsKeepNoMessage(t *testing.T) {
	racetest.Skip(t)
	const messages, length = 64, 1 << 20
	c := newCodec(t, wire.CodecOptions{})
	data := fmt.Appendf(nil, `{"mcp_version":"0.1.0","message_id":"1","performative":"INFORM","sender":{"agent_id":"Eddy","about":"%s"},`+
		`"receiver":{"agent_id":"Jules"},"language":"application/json","ontology":"x","timestamp":"2025-01-30T10:30:00Z","payload":{}}`,
		strings.Repeat("x", length))
	ids := make([]performatives.AgentID, messages)
	before := heap()
	for i := range ids {
		m, err := c.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = m.Sender()
	}
	if kept := heap() - before; kept > messages*length/2 {
		t.Errorf("%d ids keep %d bytes", len(ids), kept)
	}
	goruntime.KeepAlive(ids)
}

// The texts of a message are in one allocation, with its language or without.
func TestTextsAreInOneAllocation(t *testing.T) {
	racetest.Skip(t)
	c := newCodec(t, wire.CodecOptions{})
	for style, agents := range map[string]string{"Spec": `"sender":{"agent_id":"E"},"receiver":{"agent_id":"J"}`, "IDE": `"sender":"e","receiver":"j"`} {
		allocations := func(language string) float64 {
			data := fmt.Appendf(nil, `{"mcp_version":"0.1.0","message_id":"1","conversation_id":"c","performative":"INFORM",%s,`+
				`%s"ontology":"x","timestamp":"2025-01-30T10:30:00Z","payload":{}}`, agents, language)
			return testing.AllocsPerRun(100, func() {
				if _, err := c.Decode(data); err != nil {
					t.Fatal(err)
				}
			})
		}
		if none, usual := allocations(""), allocations(`"language":"application/json",`); usual > none {
			t.Errorf("%s: %v allocations with the usual language, %v without", style, usual, none)
		}
	}
}

// heap is how many bytes are in use.
func heap() int64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
