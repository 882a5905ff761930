package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// A node with an operator's interface tells a peer of the rag dialect the health of its agents, and
// its operator the conversation of a trace id.
func TestRAGHealthAndTrace(t *testing.T) {
	n, url, _ := operated(t)
	const trace = "ret-rag-conversation-123-002"
	ask := ragClient(t, n.at["tcp"], trace)
	if answer := ask("EXECUTE_DELEGATED_CODING_TASK", "Jules", `{}`); !strings.Contains(answer, `"trace_id":"`+trace+`"`) && !strings.Contains(answer, "err-rag-conversation-123-") {
		t.Errorf("the task is answered by %s", answer)
	}
	worked(t, ask("AGENT_STATUS_REQUEST", "System", `{"agent_id":"jules"}`))
	if r := operates(t, url, "trace", trace); !strings.HasPrefix(r.stdout, "rag-conversation-123 ") || !strings.Contains(r.stdout, " → Jules  TASK_REQUEST") {
		t.Errorf("the trace is\n%s", r.stdout)
	}
	if r := runs(t, "trace", "ret-other-001", "--addr", url); r.code != exitFailed || !strings.Contains(r.stderr, "no conversation with this id") {
		t.Errorf("%+v", r)
	}
}

// Without the operator's interface, a node tells the same from the first question on.
func TestRAGHealthWithoutHTTP(t *testing.T) {
	n := hosts(t, "--no-auth", "--swarm", "eddyjules")
	ask := ragClient(t, n.at["tcp"], "ret-health-001")
	if answer := ask("AGENT_STATUS_REQUEST", "System", `{"agent_id":"jules"}`); !strings.Contains(answer, `"messages_processed":0,`) || !strings.Contains(answer, `"counted_since":"`) {
		t.Errorf("the first answer is %s", answer)
	}
	ask("EXECUTE_DELEGATED_CODING_TASK", "Jules", `{}`)
	worked(t, ask("AGENT_STATUS_REQUEST", "System", `{"agent_id":"jules","n":2}`)) // without n, it would be the same message again
}

// ragClient connects to a node as the agent UI of the rag dialect. What it returns sends a message,
// and returns the answer to it.
func ragClient(t *testing.T, addr, trace string) (ask func(kind, to, payload string) string) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(addr, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func(kind, to, payload string) string {
		t.Helper()
		return string(exchangeFrame(t, c, fmt.Sprintf(
			`{"type":%q,"sender":"UI","receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, to, trace, payload)))
	}
}

// worked checks that an answer is the health of Jules, who has answered a task.
func worked(t *testing.T, answer string) {
	t.Helper()
	var got struct {
		Type    string
		Payload struct {
			Agent     string  `json:"agent_id"`
			Status    string  `json:"status"`
			Heartbeat string  `json:"last_heartbeat"`
			Processed int     `json:"messages_processed"`
			Millis    float64 `json:"average_response_time_ms"`
			Since     string  `json:"counted_since"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Type != "AGENT_STATUS_RESULT" || got.Payload.Agent != "Jules" || got.Payload.Status != "active" ||
		got.Payload.Heartbeat == "" || got.Payload.Processed == 0 || got.Payload.Millis <= 0 || got.Payload.Since == "" {
		t.Errorf("the health is %s (%v)", answer, err)
	}
}
