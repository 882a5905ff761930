package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// A peer that is System asks the agents of a process the question of the specification (Message
// Types §2), by either transport, and has it answered from what they find. The process reads its
// PDF by another one.
func TestRAGSwarm(t *testing.T) {
	node := program(t, "node", "--swarm", "rag", "--ws", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--no-auth", "--log-format", "json")
	var log bytes.Buffer
	node.Stderr = &log
	stdout, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for _, dial := range []func(context.Context, string) (wire.Conn, error){
		func(ctx context.Context, url string) (wire.Conn, error) { return ws.Dial(ctx, url, ws.DialOptions{}) },
		func(ctx context.Context, url string) (wire.Conn, error) {
			return tcp.Dial(ctx, strings.TrimPrefix(url, "tcp://"), tcp.DialOptions{})
		},
	} {
		if !lines.Scan() {
			t.Fatalf("%v: it listens no more; log: %s", lines.Err(), &log)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
		defer cancel()
		conn, err := dial(ctx, strings.TrimPrefix(lines.Text(), "listening on "))
		if err != nil {
			t.Fatal(err)
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		asksAsSystem(&fieldClient{t, conn})
	}
	if err := node.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := node.Wait(); err != nil || !strings.Contains(log.String(), `"msg":"the documents are indexed","node":"node","documents":5,"chunks":9,"skipped":0}`) {
		t.Errorf("%v: the log is %s", err, &log)
	}
}

// asksAsSystem asks the question of the specification, has it answered, and has the folder read
// again: a path in that request has no effect.
func asksAsSystem(c *fieldClient) {
	c.t.Helper()
	const question = "What KPIs were tracked in Q1?"
	found := c.ask(`{"type":"RETRIEVAL_REQUEST","sender":"System","receiver":"RetrievalAgent","trace_id":"ret-002","timestamp":"2025-01-30T10:31:00Z",
		"payload":{"query":"`+question+`","top_k":5,"similarity_threshold":0.7,"filters":{"document_types":["pdf","csv"],"date_range":["2024-01-01","2024-03-31"]}}}`,
		`"type":"RETRIEVAL_RESULT","sender":"RetrievalAgent","receiver":"System","trace_id":"ret-002"`)
	var m struct {
		Payload struct {
			Hits []struct {
				Content    string         `json:"content"`
				Similarity float64        `json:"similarity_score"`
				Source     string         `json:"source_document"`
				Metadata   map[string]any `json:"metadata"`
			} `json:"retrieved_chunks"`
			Total    int `json:"total_results"`
			Searched int `json:"searched_chunks"`
		}
	}
	if err := json.Unmarshal([]byte(found), &m); err != nil || len(m.Payload.Hits) != 1 || m.Payload.Total != 2 || m.Payload.Searched != 2 {
		c.t.Fatalf("%v: found %s", err, found)
	}
	hit := m.Payload.Hits[0]
	if hit.Source != "sales_report.pdf" || hit.Metadata["page"] != 2.0 || hit.Similarity < 0.7 {
		c.t.Errorf("found %s", found)
	}
	content, _ := json.Marshal(hit.Content) // a string always has a JSON form
	c.ask(`{"type":"RESPONSE_REQUEST","sender":"System","receiver":"LLMResponseAgent","trace_id":"llm-003","timestamp":"2025-01-30T10:31:20Z",
		"payload":{"user_query":"`+question+`","context_chunks":[{"content":`+string(content)+`,"source":"sales_report.pdf"}],"conversation_history":[]}}`,
		`"type":"RESPONSE_RESULT","sender":"LLMResponseAgent","receiver":"System","trace_id":"llm-003"`,
		`"response":"The KPIs tracked in Q1 are revenue growth (15%), customer acquisition (120 new customers) and market share (8.5%). [1]","source_documents":["sales_report.pdf"]`)
	c.ask(`{"type":"INGEST_FOLDER","sender":"System","receiver":"IngestionAgent","trace_id":"ing-004","timestamp":"2025-01-30T10:31:20Z","payload":{"path":"/"}}`,
		`"type":"INGEST_FOLDER_RESULT"`, `{"documents_indexed":5,"chunks_indexed":9,"documents_removed":0,"documents_skipped":[]}`)
}

// The swarm answers from the folder of --docs, and the log says what cannot be read.
func TestRAGDocs(t *testing.T) {
	dir := t.TempDir()
	start := []string{"node", "--tcp", "127.0.0.1:0", "--no-auth", "--log-level", "error", "--swarm", "rag", "--docs", dir}
	if r := runs(t, start...); r.code != exitFailed || r.stderr != "ribosome: --swarm rag: the folder "+dir+" has no .md, .txt, .csv or .pdf file\n" {
		t.Errorf("without documents: %+v", r)
	}
	writeFile(t, dir+"/zebra.txt", "A zebra has stripes.")
	writeFile(t, dir+"/broken.txt", "\xff")
	n := hosts(t, "--no-auth", "--swarm", "rag", "--docs", dir)
	if r := runs(t, "call", "RetrievalAgent", "retrieval_request", "-d", `{"query":"zebras"}`, "-q", "--addr", n.at["grpc"]); !strings.Contains(r.stdout, "A zebra has stripes.") {
		t.Errorf("%+v", r)
	}
	if log := n.end().stderr; !strings.Contains(log, "a document is skipped") || !strings.Contains(log, "it is not text in UTF-8") || !strings.Contains(log, "broken.txt") {
		t.Errorf("the log is %s", log)
	}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"It has stripes [1]."}}]}`)
	}))
	defer model.Close()
	t.Setenv("RAG_LLM_URL", model.URL)
	if r := runs(t, start...); r.code != exitUsage || r.stderr != "ribosome: RAG_LLM_URL is set and RAG_LLM_MODEL is not: name a model of that endpoint\n" {
		t.Errorf("without a model: %+v", r)
	}
	t.Setenv("RAG_LLM_MODEL", "small")
	n = hosts(t, "--no-auth", "--swarm", "rag", "--docs", dir)
	asked := []string{"call", "LLMResponseAgent", "response_request", "-q", "--addr", n.at["tcp"], "-d", `{"user_query":"How does a zebra look?","context_chunks":[{"content":"A zebra has stripes.","source":"zebra.txt"}]}`}
	if r := runs(t, asked...); !strings.Contains(r.stdout, `"It has stripes [1]."`) || !strings.Contains(r.stdout, `"small"`) {
		t.Errorf("with a model: %+v", r)
	}
}

// The agents can be sealed; the one that reads the folder has to be with the one that it tells.
func TestRAGSealed(t *testing.T) {
	retrieval, retrievalID := keysOf(t, "retrieval")
	ingestion, _ := keysOf(t, "ingestion")
	alice, aliceID := keysOf(t, "alice")
	half := []string{"--no-auth", "--swarm", "rag", "--seal", "RetrievalAgent=" + retrieval, "--trust", "alice=" + aliceID}
	if r := runs(t, append([]string{"node", "--tcp", "127.0.0.1:0"}, half...)...); r.code != exitFailed || !strings.Contains(r.stderr, "RetrievalAgent") || !strings.Contains(r.stderr, "(seal_required)\n") {
		t.Errorf("the IngestionAgent without keys: %+v", r)
	}
	n := hosts(t, append(half, "--seal", "IngestionAgent="+ingestion)...)
	call := []string{"call", "RetrievalAgent", "retrieval_request", "-d", `{"query":"refund"}`, "-q", "--addr", n.at["tcp"]}
	if r := runs(t, append(call, "--as", "alice", "--keys", alice, "--trust", "RetrievalAgent="+retrievalID)...); r.code != exitDone || !strings.Contains(r.stdout, "handbook/refunds.md") {
		t.Errorf("sealed: %+v", r)
	}
	if r := runs(t, call...); r.code == exitDone || !strings.Contains(r.stderr, "(seal_required)") {
		t.Errorf("in the clear: %+v", r)
	}
}

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
