package gateway_test

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// A client of MCP writes JSON-RPC without envelopes, and gets answers, errors and progress without
// them. Its name is that of its program.
func TestBare(t *testing.T) {
	there := &wiretest.Recorder{Answer: func(s *wire.Session, m *performatives.Message) error {
		var payload any = performatives.InformResult{Status: performatives.StatusSuccess, Summary: "from " + string(m.Sender())}
		switch m.Performative() { //nolint:exhaustive // the others get no answer
		case performatives.ActQueryCapabilities:
			payload = performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Actions: []performatives.Action{{Name: "add"}}}}
		case performatives.ActTaskRequest:
			if task, err := performatives.PayloadAs[performatives.TaskRequest](m); err != nil || task.TaskType == "busy" {
				return &performatives.Refusal{Code: performatives.CodeBusy, Text: "later"}
			}
			news, err := m.Reply(performatives.Stamp{ID: "n-" + m.ID(), Time: m.Timestamp()}, performatives.StatusUpdate{Description: "half"})
			if err != nil || s.Send(news) != nil {
				return err
			}
		default:
			return nil
		}
		answer, err := m.Reply(performatives.Stamp{ID: "a-" + m.ID(), Time: m.Timestamp()}, payload)
		if err != nil {
			return err
		}
		return s.Send(answer)
	}}
	conn := serve(t, newServer(t, wire.Options{Handler: there, Anonymous: true}))
	for _, tt := range []struct {
		frame string
		want  []string // in the answers
	}{
		{`{"jsonrpc":"2.0","id":1,"method":`, []string{`{"jsonrpc":"2.0","error":{"code":-32700,`}},
		{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"Editor","version":"1"}}}`,
			[]string{`{"jsonrpc":"2.0","result":{"protocolVersion":"2025-06-18",`},
		},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{`{"jsonrpc":"2.0","result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]},"id":1}`}},
		{
			`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"add","_meta":{"progressToken":7}}}`,
			[]string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,`, `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"from Editor"}]`},
		},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, []string{`{"jsonrpc":"2.0","result":{},"id":12345678901234567890}`}},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"busy"}}`, []string{`{"jsonrpc":"2.0","error":{"code":-32004,"message":"later",`}},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add"}}`, []string{`{"jsonrpc":"2.0","result":{"content":[`}}, // the id is free again
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`, []string{`"message":"params.name: want a non-empty string, got nothing","data":{"reason_code":"invalid_payload_structure","field":"params.name"}`}},
		{`{"mcp_payload":{"jsonrpc":"2.0","id":4,"method":"ping"}}`, []string{`{"jsonrpc":"2.0","error":{"code":-32600,`}},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"},7]`, []string{`[{"jsonrpc":"2.0","result":{},"id":5},{"jsonrpc":"2.0","error":{`}},
	} {
		if err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(tt.frame)}}); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			answer, err := conn.Read(func(wire.Frame) {})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(answer), want) {
				t.Errorf("%s\nis answered by %s\nwant %s", tt.frame, answer, want)
			}
		}
	}
}

// A withdrawn request gets no answer, and a provider of tools without envelopes is asked without.
func TestBareProvider(t *testing.T) {
	there := &wiretest.Recorder{Answer: func(s *wire.Session, m *performatives.Message) error {
		if m.Performative() != performatives.ActQueryCapabilities {
			return nil
		}
		answer, err := m.Reply(performatives.Stamp{ID: "a", Time: m.Timestamp()}, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}})
		if err != nil || s.Send(answer) != nil {
			return err
		}
		task, err := performatives.New(performatives.Envelope{
			ID: "t", Timestamp: m.Timestamp(), Sender: "Anna", Receiver: m.Sender(), Payload: performatives.TaskRequest{TaskType: "add"},
		})
		if err != nil {
			return err
		}
		return s.Send(task)
	}}
	conn := serve(t, newServer(t, wire.Options{Handler: there, Anonymous: true}))
	if got := exchange(t, conn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"tools":[{"name":"add"}]},"clientInfo":{"name":"Adder","version":"1"}}}`); !strings.Contains(got, `"id":0}`) {
		t.Fatal(got)
	}
	call := exchange(t, conn, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`)
	if want := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add","_meta":{"progressToken":1}},"id":1}`; call != want {
		t.Fatalf("%s, want %s", call, want)
	}
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		if err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := exchange(t, conn, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); got != `{"jsonrpc":"2.0","result":{},"id":2}` {
		t.Error(got)
	}
	var acts []performatives.Performative
	for _, m := range there.Received() {
		acts = append(acts, m.Performative())
	}
	want := []performatives.Performative{performatives.ActQueryCapabilities, performatives.ActTaskRequest, performatives.ActInformResult, performatives.ActCancel}
	if len(acts) != len(want) || acts[2] != want[2] || acts[3] != want[3] {
		t.Errorf("%v, want %v", acts, want)
	}
}
