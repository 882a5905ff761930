package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
)

// A gateway's envelopes (wire, Examples) reach the same node as acl does.
func TestGateway(t *testing.T) {
	n := open(t)
	c, err := net.Dial("tcp", strings.TrimPrefix(n.at["tcp"], "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ask := func(payload string) map[string]any {
		envelope := `{"id":"1","timestamp":"2024-01-15T10:30:45.123Z","source":"local-router","mcp_payload":` + payload + `}`
		var got struct {
			Payload map[string]any `json:"mcp_payload"`
		}
		if answer := exchangeFrame(t, c, envelope); json.Unmarshal(answer, &got) != nil {
			t.Fatalf("the node answers %q", answer)
		}
		return got.Payload
	}
	hello := ask(`{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"1.0","clientInfo":{"name":"x","version":"1"}},"id":"a"}`)
	if info, _ := hello["result"].(map[string]any)["serverInfo"].(map[string]any); info["name"] != "node" {
		t.Errorf("initialize is answered %v", hello)
	}
	tools, err := json.Marshal(ask(`{"jsonrpc":"2.0","method":"tools/list","id":"b"}`))
	if err != nil || !strings.Contains(string(tools), `"EXECUTE_DELEGATED_CODING_TASK"`) {
		t.Errorf("%v: tools/list is answered %s", err, tools)
	}
}

// exchangeFrame writes a frame of the Wire Protocol, and reads the next one.
func exchangeFrame(t *testing.T, c net.Conn, data string) []byte {
	t.Helper()
	writeFrame(t, c, data)
	return readFrame(t, c)
}

func writeFrame(t *testing.T, c net.Conn, data string) {
	t.Helper()
	frame := append([]byte("MC\x01"), binary.BigEndian.AppendUint32(nil, uint32(len(data)))...)
	if _, err := c.Write(append(frame, data...)); err != nil {
		t.Fatal(err)
	}
}

func readFrame(t *testing.T, c net.Conn) []byte {
	t.Helper()
	header := make([]byte, 7)
	if _, err := io.ReadFull(c, header); err != nil || string(header[:3]) != "MC\x01" {
		t.Fatalf("%v: the node answers %q", err, header)
	}
	answer := make([]byte, binary.BigEndian.Uint32(header[3:]))
	if _, err := io.ReadFull(c, answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
