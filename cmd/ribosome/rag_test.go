package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// A node with an operator's interface tells a peer of the rag dialect the health of its agents, and its operator the conversation of a trace id.
func TestRAGHealthAndTrace(t *testing.T) {
	n, url, _ := operated(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(n.at["tcp"], "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	const trace = "ret-rag-conversation-123-002"
	ask := func(kind, to, payload string) (text string) {
		return string(exchangeFrame(t, c, fmt.Sprintf(
			`{"type":%q,"sender":"UI","receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, to, trace, payload)))
	}
	if answer := ask("EXECUTE_DELEGATED_CODING_TASK", "Jules", `{}`); !strings.Contains(answer, `"trace_id":"`+trace+`"`) && !strings.Contains(answer, "err-rag-conversation-123-") {
		t.Errorf("the task is answered by %s", answer)
	}
	var got struct {
		Type    string
		Payload struct {
			Agent     string  `json:"agent_id"`
			Status    string  `json:"status"`
			Heartbeat string  `json:"last_heartbeat"`
			Processed int     `json:"messages_processed"`
			Millis    float64 `json:"average_response_time_ms"`
		}
	}
	answer := ask("AGENT_STATUS_REQUEST", "System", `{"agent_id":"jules"}`)
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Type != "AGENT_STATUS_RESULT" || got.Payload.Agent != "Jules" || got.Payload.Status != "active" ||
		got.Payload.Heartbeat == "" || got.Payload.Processed == 0 || got.Payload.Millis <= 0 {
		t.Errorf("the health is %s (%v)", answer, err)
	}
	if r := operates(t, url, "trace", trace); !strings.HasPrefix(r.stdout, "rag-conversation-123 ") || !strings.Contains(r.stdout, " → Jules  TASK_REQUEST") {
		t.Errorf("the trace is\n%s", r.stdout)
	}
	if r := runs(t, "trace", "ret-other-001", "--addr", url); r.code != exitFailed || !strings.Contains(r.stderr, "no conversation with this id") {
		t.Errorf("%+v", r)
	}
	n.end()
}
