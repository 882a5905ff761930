package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// The token of each message decides who speaks (rossnet §6): what it does not cover is refused with
// a code of §7, and the session goes on.
func TestRossNetTokens(t *testing.T) {
	t.Chdir(t.TempDir())
	secret := strings.Repeat("0123456789abcdef", 4)
	writeFile(t, "secret", secret+"\n")
	n := hosts(t, "--jwt-key", "secret", "--jwt-alg", "HS256", "--jwt-issuer", "us", "--jwt-audience", "node")
	c, err := net.Dial("tcp", strings.TrimPrefix(n.at["tcp"], "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	good := signed(t, "HS256", "us", []byte(secret))
	forged := signed(t, "HS256", "us", []byte("f"+secret[1:]))
	for _, tt := range []struct{ name, sender, token, version, code string }{
		{"a good token", "Ana", good, "1.0", "E004"}, // the agent of the task is not there
		{"no token", "Ana", "", "1.0", "E001"},
		{"a forged token", "Ana", forged, "1.0", "E001"},
		{"another issuer", "Ana", signed(t, "HS256", "them", []byte(secret)), "1.0", "E001"},
		{"no JWT", "Ana", otherToken, "1.0", "E001"},
		{"the token of another", "Bob", good, "1.0", "E002"},
		{"another version", "Ana", good, "2.0", "E003"},
		{"an agent below", "Ana/cli", "Bearer " + good, "1.1", "E004"},
	} {
		token, err := json.Marshal(tt.token)
		if err != nil {
			t.Fatal(err)
		}
		if tt.token == "" {
			token = []byte("null")
		}
		answer := exchangeFrame(t, c, fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":"c","sender_id":%q,"recipient_id":"Nobody","timestamp":"2025-01-30T10:30:00Z",`+
			`"version":%q,"message_type":"TASK_ASSIGN","auth_token":%s},"payload":{"subtask_id":%q,"task_name":"t","input_data":{}}}`,
			performatives.NewID(), tt.sender, tt.version, token, performatives.NewID()))
		var got struct {
			Header struct {
				Kind        string `json:"message_type"`
				Recipient   string `json:"recipient_id"`
				Correlation string `json:"correlation_id"`
			} `json:"mcp_header"`
			Payload struct {
				Code string `json:"error_code"`
				Text string `json:"error_message"`
			}
		}
		if err := json.Unmarshal(answer, &got); err != nil || got.Payload.Code != tt.code || got.Payload.Text == "" || got.Header.Recipient != tt.sender ||
			got.Header.Correlation != "c" {
			t.Errorf("%s is answered by %s, want the code %s", tt.name, answer, tt.code)
		}
		if strings.Contains(string(answer), "eyJ") {
			t.Errorf("%s: a token is in %s", tt.name, answer)
		}
	}
	_ = c.Close() // the node waits for its peers to close
	noSecrets(t, n.end())
}

// With --public-discovery, MCP_DISCOVERY is asked without a token, and nothing else is.
func TestPublicDiscovery(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "tokens", "Ana "+anasToken+"\n")
	n := hosts(t, "--tokens", "tokens", "--swarm", "eddyjules", "--public-discovery")
	c, err := net.Dial("tcp", strings.TrimPrefix(n.at["tcp"], "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, tt := range []struct{ kind, to, payload, want string }{
		{"DISCOVERY_QUERY", "MCP_DISCOVERY", `{"query_by_capability":"debug_code"}`, `"agent_id":"Jules"`},
		{"QUERY_REF", "MCP_DISCOVERY", `{"reference":"members"}`, "E001"},
		{"QUERY_REF", "Jules", `{"reference":"agents"}`, "E001"},
		{"DISCOVERY_REGISTER", "MCP_DISCOVERY", `{"agent_id":"Bob","agent_type":"w","status":"ACTIVE","capabilities":["x"]}`, "E001"},
		{"TASK_ASSIGN", "Jules", `{"subtask_id":"s","task_name":"debug_code","input_data":{}}`, "E001"},
		{"DISCOVERY_QUERY", "MCP_DISCOVERY", `{"query_by_id":"Jules"}`, `"agent_id":"Jules"`},
	} {
		answer := exchangeFrame(t, c, fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":"c","sender_id":"Bob","recipient_id":%q,"timestamp":"2025-01-30T10:30:00Z",`+
			`"version":"1.0","message_type":%q,"auth_token":null},"payload":%s}`, performatives.NewID(), tt.to, tt.kind, tt.payload))
		if !strings.Contains(string(answer), tt.want) {
			t.Errorf("%s to %s is answered by %s, want %s", tt.kind, tt.to, answer, tt.want)
		}
	}
}

// The JWT of a WebSocket may come in the header Authorization of the upgrade. It has to be valid,
// and that of the agent of the path; then messages need none, and those of another sender are
// refused. Without the header, the messages need one.
func TestRossNetTokenOfTheUpgrade(t *testing.T) {
	t.Chdir(t.TempDir())
	secret := strings.Repeat("0123456789abcdef", 4)
	writeFile(t, "secret", secret+"\n")
	n := hosts(t, "--jwt-key", "secret", "--jwt-alg", "HS256", "--jwt-issuer", "us", "--jwt-audience", "node")
	base := strings.TrimSuffix(n.at["ws"], "/mcp")
	good := signed(t, "HS256", "us", []byte(secret))
	forged := signed(t, "HS256", "us", []byte("f"+secret[1:]))
	ctx, cancel := context.WithTimeout(t.Context(), patience.Time)
	defer cancel()
	for _, tt := range []struct {
		name, path, token string
		status            int               // of a refused upgrade; 0 = it succeeds
		codes             map[string]string // the answer to a message without auth_token, by its sender
	}{
		{"a good token", "/ws/Ana", good, 0, map[string]string{"Ana": "E004", "Bob": "E002", "Ana/cli": "E002"}},
		{"on the shared path", "/mcp", good, 0, map[string]string{"Ana": "E004", "Bob": "E002", "Ana/cli": "E004"}},
		{"no token", "/ws/Ana", "", 0, map[string]string{"Ana": "E001"}},
		{"a forged token", "/ws/Ana", forged, 401, nil},
		{"another issuer", "/ws/Ana", signed(t, "HS256", "them", []byte(secret)), 401, nil},
		{"no JWT", "/ws/Ana", otherToken, 401, nil},
		{"the path of another", "/ws/Bob", good, 403, nil},
		{"a part of the name", "/ws/An", good, 403, nil},
	} {
		conn, err := ws.Dial(ctx, base+tt.path, ws.DialOptions{Token: tt.token})
		if tt.status != 0 {
			var refused *ws.RefusedError
			if !errors.As(err, &refused) || refused.Status != tt.status || strings.Contains(err.Error(), "eyJ") {
				t.Errorf("%s: %v, want %d", tt.name, err, tt.status)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that a missing answer ends the test
		for sender, code := range tt.codes {
			frame := fmt.Sprintf(`{"mcp_header":{"message_id":%q,"correlation_id":"c","sender_id":%q,"recipient_id":"Nobody","timestamp":"2025-01-30T10:30:00Z",`+
				`"version":"1.0","message_type":"TASK_ASSIGN","auth_token":null},"payload":{"subtask_id":%q,"task_name":"t","input_data":{}}}`,
				performatives.NewID(), sender, performatives.NewID())
			err := conn.Write([]wire.Frame{{Kind: wire.KindData, Data: []byte(frame)}})
			answer, errRead := conn.Read(func(wire.Frame) {})
			var got struct {
				Payload struct {
					Code string `json:"error_code"`
				}
			}
			if err := errors.Join(err, errRead, json.Unmarshal(answer, &got)); err != nil || got.Payload.Code != code {
				t.Errorf("%s: %s is answered by %s, want %s (%v)", tt.name, sender, answer, code, err)
			}
		}
		_ = conn.Close()
	}
	noSecrets(t, n.end())
}
