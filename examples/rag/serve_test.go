package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// A peer that is System asks the hosted agents the question of the specification. It cannot have
// another folder read.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o, err := parse([]string{"--tcp", "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() {
		err := o.serve(serving, nil, in, io.Discard)
		_ = in.Close()
		served <- err
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v", err, <-served)
	}
	conn, err := tcp.Dial(ctx, strings.TrimPrefix(strings.TrimSpace(line), "listening on tcp://"), tcp.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	ask := func(kind, to, trace, payload string) (answer string) {
		t.Helper()
		frame := fmt.Sprintf(`{"type":%q,"sender":"System","receiver":%q,"trace_id":%q,"timestamp":"2025-01-30T10:31:00Z","payload":%s}`, kind, to, trace, payload)
		if err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
			t.Fatal(err)
		}
		data, err := conn.Read(func(wire.Frame) {})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	found := ask("RETRIEVAL_REQUEST", "RetrievalAgent", "ret-002", `{"query":"What KPIs were tracked in Q1?","top_k":5,"similarity_threshold":0.7,"filters":{"document_types":["pdf","csv"],"date_range":["2024-01-01","2024-03-31"]}}`)
	var m struct{ Payload retrieved }
	if err := json.Unmarshal([]byte(found), &m); err != nil || len(m.Payload.Hits) != 1 || m.Payload.Hits[0].Source != "sales_report.pdf" || !strings.Contains(found, `"trace_id":"ret-002"`) {
		t.Fatalf("found %s (%v)", found, err)
	}
	passages, err := json.Marshal([]passage{{m.Payload.Hits[0].Content, m.Payload.Hits[0].Source, m.Payload.Hits[0].Metadata}})
	if err != nil {
		t.Fatal(err)
	}
	answer := ask("RESPONSE_REQUEST", "LLMResponseAgent", "llm-003", `{"user_query":"What KPIs were tracked in Q1?","context_chunks":`+string(passages)+`}`)
	if !strings.Contains(answer, `"RESPONSE_RESULT"`) || !strings.Contains(answer, "market share (8.5%)") || !strings.Contains(answer, `"source_documents":["sales_report.pdf"]`) {
		t.Errorf("answered %s", answer)
	}
	if refused := ask("INGEST_FOLDER", "IngestionAgent", "ing-004", `{"path":"/"}`); !strings.Contains(refused, "reads only the folder") {
		t.Errorf("another folder: %s", refused)
	}
	_ = conn.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeOnThisMachineOnly(t *testing.T) {
	for _, args := range [][]string{{"--tcp", "0.0.0.0:0"}, {"--ws", "8443"}, {"--tcp", "127.0.0.1:0", "question"}} {
		if got := runProgram(t, nil, args...); got.code != 2 {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
