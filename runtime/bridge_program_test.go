package runtime_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/tcp"
)

// newBridgeHub returns a node with a TCP port for the dialects gateway, bridge and acl.
func newBridgeHub(t testing.TB, with ...func(*wire.Options)) *gatewayHub {
	t.Helper()
	d := gateway.New(gateway.Options{BinaryProtocol: true})
	dialects := func(o *wire.Options) { o.Dialects = []wire.Dialect{d, bridge.Dialect{}, acl.Dialect{}} }
	h := newHub(t, runtime.PeerOptions{}, append([]func(*wire.Options){dialects}, with...)...)
	l, err := tcp.Listen(h.server, tcp.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	stopListener(t, l)
	return &gatewayHub{h, l.Addr().String()}
}

// bridgeProgram is a client of bridge in another language: it writes what the specification shows.
type bridgeProgram struct {
	*program
}

// bridgeMessage is the part of a message that a bridgeProgram reads.
type bridgeMessage struct {
	ID          string          `json:"message_id"`
	Type        string          `json:"message_type"`
	Sender      string          `json:"sender_id"`
	Receiver    *string         `json:"receiver_id"`
	Timestamp   string          `json:"timestamp"`
	Correlation *string         `json:"correlation_id"`
	Priority    string          `json:"priority"`
	Payload     json.RawMessage `json:"payload"`
	Accepted    *bool           `json:"accepted"`
}

// payload has the members of all payloads.
type bridgePayload struct {
	Tools     []string        `json:"tools"`
	Accepted  *bool           `json:"accepted"`
	Tool      string          `json:"tool_name"`
	Arguments json.RawMessage `json:"arguments"`
	Timeout   float64         `json:"timeout"`
	Success   *bool           `json:"success"`
	Result    json.RawMessage `json:"result"`
	Time      *float64        `json:"execution_time"`
	Error     *string         `json:"error"`
	Event     string          `json:"event_type"`
	Data      json.RawMessage `json:"data"`
	Code      string          `json:"error_code"`
	Text      string          `json:"error_message"`
	Details   map[string]any  `json:"details"`
}

func (h *gatewayHub) bridge(name string) *bridgeProgram {
	h.t.Helper()
	return &bridgeProgram{h.program(name)}
}

// say sends a message and returns its id. Empty ids are null.
func (p *bridgeProgram) say(kind, to, about, payload string) string {
	p.t.Helper()
	p.sent++
	id := fmt.Sprintf("%s-%d", p.name, p.sent)
	quoted := func(s string) string {
		if s == "" {
			return "null"
		}
		return fmt.Sprintf("%q", s)
	}
	p.write(fmt.Sprintf(`{"message_id":%q,"message_type":%q,"sender_id":%q,"receiver_id":%s,"timestamp":"2025-01-30T10:30:00.000123","correlation_id":%s,"priority":"normal","payload":%s}`,
		id, kind, p.name, quoted(to), quoted(about), payload))
	return id
}

func (p *bridgeProgram) capabilities(tools string) string {
	return fmt.Sprintf(`{"agent_id":%q,"agent_name":"A program","agent_role":"processor","tools":%s,"version":"0.1.0","metadata":{"region":"us-east"}}`, p.name, tools)
}

func (p *bridgeProgram) call(to, tool, arguments string) string {
	p.t.Helper()
	return p.say("request", to, "", fmt.Sprintf(`{"tool_name":%q,"arguments":%s}`, tool, arguments))
}

// hear reads the next message, which must be of that kind, and answer that message.
func (p *bridgeProgram) hear(kind, about string) (bridgeMessage, bridgePayload) {
	p.t.Helper()
	text := p.frame()
	var m bridgeMessage
	var payload bridgePayload
	if err := json.Unmarshal(text, &m); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	if err := json.Unmarshal(m.Payload, &payload); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	if m.Type != kind || about != "" && (m.Correlation == nil || *m.Correlation != about) {
		p.t.Fatalf("got %s, want a %s about %q", text, kind, about)
	}
	if m.ID == "" || m.Sender == "" || m.Timestamp == "" || m.Priority == "" {
		p.t.Errorf("members are missing: %s", text)
	}
	return m, payload
}

// greet shakes hands.
func (p *bridgeProgram) greet(tools string) bridgePayload {
	p.t.Helper()
	id := p.say("handshake_request", "", "", p.capabilities(tools))
	m, payload := p.hear("handshake_response", id)
	if m.Accepted == nil || !*m.Accepted || payload.Accepted == nil || !*payload.Accepted {
		p.t.Fatalf("the handshake is not accepted: %s", m.Payload)
	}
	return payload
}

// provider returns a program that offers a tool.
func (h *gatewayHub) provider(name, tool string) *bridgeProgram {
	h.t.Helper()
	p := h.bridge(name)
	p.greet(fmt.Sprintf("[%q]", tool))
	h.awaitVisible(performatives.AgentID(name))
	return p
}

// outcome reads the answer to a request: its result, or its error code and text.
func (p *bridgeProgram) outcome(id string) string {
	p.t.Helper()
	text := p.frame()
	var m struct {
		bridgeMessage
		Payload bridgePayload `json:"payload"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		p.t.Fatalf("%v: %s", err, text)
	}
	if m.Correlation == nil || *m.Correlation != id || m.Receiver == nil || *m.Receiver != p.name {
		p.t.Fatalf("got %s, want the answer to %s", text, id)
	}
	switch {
	case m.Type == "error":
		return m.Payload.Code + ": " + m.Payload.Text
	case m.Type != "response" || m.Payload.Success == nil || m.Payload.Time == nil:
		p.t.Fatalf("got %s, want a response", text)
	case !*m.Payload.Success:
		return "failure: " + *m.Payload.Error
	}
	return string(m.Payload.Result)
}
