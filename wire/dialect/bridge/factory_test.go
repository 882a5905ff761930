package bridge

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestFactory(t *testing.T) {
	c := newCodec(t, wire.CodecOptions{})
	f := Factory{Codec: c, Sender: "agent-1", Priority: performatives.High}
	of := Factory{Codec: c, Sender: "agent-2"}
	own := AgentCapabilities{AgentName: "Processor", AgentRole: "processor", Tools: []string{"process_data"}}
	hello, err := f.HandshakeRequest("agent-2", own)
	if err != nil {
		t.Fatal(err)
	}
	request, err := f.Request("agent-2", ToolRequest{ToolName: "process_data", Arguments: map[string]string{"data": "test"}, Timeout: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	further, err := request.With(func(e *performatives.Envelope) { e.ID = "further" })
	if err != nil {
		t.Fatal(err)
	}
	note, err := f.Notification("", "tick", nil)
	if err != nil {
		t.Fatal(err)
	}
	made := func(m *performatives.Message, err error) *performatives.Message {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, tt := range []struct {
		m    *performatives.Message
		act  performatives.Performative
		want string
	}{
		{hello, performatives.ActQueryCapabilities, `"message_type":"handshake_request","sender_id":"agent-1","receiver_id":"agent-2","timestamp":"2025-01-30T10:30:01Z","correlation_id":null,"priority":"high",` +
			`"payload":{"agent_id":"agent-1","agent_name":"Processor","agent_role":"processor","tools":["process_data"],"version":"0.1.0","metadata":{}}}`},
		{made(of.HandshakeResponse(hello, own, true)), performatives.ActInformCapabilities, `"correlation_id":"` + string(hello.ID()) + `","priority":"normal",` +
			`"payload":{"agent_id":"agent-2","agent_name":"Processor","agent_role":"processor","tools":["process_data"],"version":"0.1.0","metadata":{},"accepted":true}}`},
		{made(of.HandshakeResponse(hello, own, false)), performatives.ActRefuse, `"metadata":{},"accepted":false}}`},
		{request, performatives.ActTaskRequest, `"payload":{"arguments":{"data":"test"},"timeout":1.5,"tool_name":"process_data"}}`},
		{
			made(of.Response(request, ToolResponse{Success: true, Result: 1, ExecutionTime: time.Second / 2})), performatives.ActInformResult,
			`"payload":{"error":null,"execution_time":0.5,"result":1,"success":true}}`,
		},
		{
			made(of.Response(further, ToolResponse{Error: "no"})), performatives.ActInformResult,
			`"payload":{"error":"no","execution_time":0,"result":null,"success":false},"metadata":{"conversation_id":"` + string(request.ID()) + `"}}`,
		},
		{note, performatives.ActInform, `"receiver_id":null,"timestamp":"2025-01-30T10:30:01Z","correlation_id":null,"priority":"high","payload":{"data":{},"event_type":"tick"}}`},
		{
			made(of.Error(request, ErrorDetails{ErrorCode: "TIMEOUT", ErrorMessage: "late"})), performatives.ActFailure,
			`"payload":{"error_code":"TIMEOUT","error_message":"late","error_type":"timeout"}}`,
		},
	} {
		out, err := c.Encode(tt.m)
		if err != nil || !strings.HasSuffix(string(out), tt.want) || tt.m.Performative() != tt.act {
			t.Errorf("%s %v\ngot   %s\nwant …%s", tt.m.Performative(), err, out, tt.want)
		}
	}
}

// A message that a peer would refuse is not made.
func TestFactoryRefuses(t *testing.T) {
	f := Factory{Codec: newCodec(t, wire.CodecOptions{}), Sender: "agent-1"}
	for want, build := range map[string]func() (*performatives.Message, error){
		"receiver_id":       func() (*performatives.Message, error) { return f.Request("", ToolRequest{ToolName: "t"}) },
		"payload.tool_name": func() (*performatives.Message, error) { return f.Request("b", ToolRequest{}) },
		"payload.arguments": func() (*performatives.Message, error) {
			return f.Request("b", ToolRequest{ToolName: "t", Arguments: 1})
		},
		"payload.timeout":    func() (*performatives.Message, error) { return f.Request("b", ToolRequest{ToolName: "t", Timeout: -1}) },
		"payload.event_type": func() (*performatives.Message, error) { return f.Notification("b", "", nil) },
		"payload.agent_name": func() (*performatives.Message, error) {
			return f.HandshakeRequest("b", AgentCapabilities{AgentRole: "r"})
		},
		"sender_id": func() (*performatives.Message, error) { return Factory{Codec: f.Codec}.Notification("b", "e", nil) },
	} {
		_, err := build()
		if r := performatives.RefusalOf(err); r == nil || r.Field != want {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
	if _, err := f.Request("b", ToolRequest{ToolName: "t", Arguments: func() {}}); err == nil || errors.Is(err, performatives.CodeInvalidPayload) {
		t.Errorf("got %v", err)
	}
}
