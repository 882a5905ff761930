package bridge_test

import (
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
)

// A tool is called, and the answer goes back in the same dialect.
func ExampleCodec_Encode() {
	codec := bridge.New(wire.CodecOptions{})
	m, err := codec.Decode([]byte(`{"message_id":"m-1","message_type":"request","sender_id":"agent-1","receiver_id":"Calc",
		"timestamp":"2025-01-30T10:30:00","correlation_id":null,"priority":"high","payload":{"tool_name":"add","arguments":{"a":1,"b":2}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := m.Payload().(performatives.TaskRequest)
	fmt.Println(m.Performative(), task.TaskType, m.Priority())

	stamp := performatives.Stamp{ID: "m-2", Time: time.Date(2025, 1, 30, 10, 30, 1, 0, time.UTC)}
	reply, err := m.Reply(stamp, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(map[string]int{"sum": 3})})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := codec.Encode(reply)
	fmt.Println(string(out), err)
	// Output:
	// TASK_REQUEST add high
	// {"message_id":"m-2","message_type":"response","sender_id":"Calc","receiver_id":"agent-1","timestamp":"2025-01-30T10:30:01Z","correlation_id":"m-1","priority":"high","payload":{"success":true,"result":{"sum":3},"error":null}} <nil>
}

// A message that cannot be read is answered with an error that names the wrong member.
func ExampleDecodeError_Answer() {
	codec := bridge.New(wire.CodecOptions{})
	_, err := codec.Decode([]byte(`{"message_id":"m-1","message_type":"request","sender_id":"agent-1","receiver_id":"Calc","payload":{}}`))
	bad, ok := err.(*bridge.DecodeError) //nolint:errorlint // Decode returns it itself
	fmt.Println(ok)
	fmt.Println(string(bad.Answer("Calc", performatives.Stamp{ID: "m-2", Time: time.Date(2025, 1, 30, 10, 30, 1, 0, time.UTC)})))
	// Output:
	// true
	// {"message_id":"m-2","message_type":"error","sender_id":"Calc","receiver_id":"agent-1","timestamp":"2025-01-30T10:30:01Z","correlation_id":"m-1","priority":"normal","payload":{"error_code":"INVALID_ARGUMENTS","error_message":"payload.tool_name: want the name of a tool, got nothing","error_type":"validation","details":{"field":"payload.tool_name"}}}
}

// A program makes a request, and reads the answer.
func ExampleFactory() {
	codec := bridge.New(wire.CodecOptions{})
	f := bridge.Factory{Codec: codec, Sender: "agent-1", Priority: performatives.High}
	m, err := f.Request("agent-2", bridge.ToolRequest{ToolName: "process_data", Arguments: map[string]string{"data": "test"}, Timeout: 30 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Performative(), m.Receiver(), m.Priority())

	_, err = f.Request("agent-2", bridge.ToolRequest{})
	fmt.Println(err)
	// Output:
	// TASK_REQUEST agent-2 high
	// bridge: payload.tool_name: want the name of a tool, got "" (invalid_payload_structure)
}
