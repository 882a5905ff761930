package acl_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
)

// An IDE asks in its own form and is answered in it.
func ExampleCodec_AppendAs() {
	codec := acl.New(wire.CodecOptions{})
	m, err := codec.Decode([]byte(`{"conversation_id":"c-1","message_id":"m-1","performative":"REQUEST","sender":"vscode-user",
		"receiver":"jules","ontology":"elizaos:ide:explain_code","payload":{"code_snippet":"x=1"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := m.Payload().(performatives.TaskRequest)
	fmt.Println(m.Performative(), task.TaskType)

	stamp := performatives.Stamp{ID: "m-2", Time: time.Date(2025, 1, 30, 10, 30, 0, 0, time.UTC)}
	reply, err := m.Reply(stamp, performatives.TaskReject{ReasonCode: performatives.CodeBusy})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := codec.AppendAs(nil, reply, acl.StyleOf(m))
	fmt.Println(string(out), err)
	// Output:
	// TASK_REQUEST explain_code
	// {"message_id":"m-2","performative":"REJECT","sender":"jules","receiver":"vscode-user","in_reply_to":"m-1","conversation_id":"c-1","ontology":"elizaos:ontology:general/task_rejection","timestamp":"2025-01-30T10:30:00Z","payload":{"reason_code":"busy","status":"rejected"}} <nil>
}

// A message that can't be read is answered all the same.
func ExampleDecodeError_NotUnderstood() {
	codec := acl.New(wire.CodecOptions{})
	_, err := codec.Decode([]byte(`{"message_id":"m-1","performative":"TASK_DELETE","sender":{"agent_id":"Eddy"}}`))
	fmt.Println(errors.Is(err, performatives.CodeUnknownPerformative))

	var bad *acl.DecodeError
	if errors.As(err, &bad) {
		stamp := performatives.Stamp{ID: "m-2", Time: time.Date(2025, 1, 30, 10, 30, 0, 0, time.UTC)}
		answer := bad.NotUnderstood("Jules", stamp)
		fmt.Println(answer.Performative(), "to", answer.Receiver(), "about", answer.InReplyTo())
	}
	// Output:
	// true
	// NOT_UNDERSTOOD to Eddy about m-1
}

func ExampleCodec_AppendLogLine() {
	codec := acl.New(wire.CodecOptions{})
	m, err := performatives.New(performatives.Envelope{
		ID: "m-1", Timestamp: time.Date(2025, 1, 30, 10, 30, 0, 0, time.UTC), Sender: "Eddy", Receiver: "Jules",
		Payload: performatives.QueryRef{Reference: "latest_commit_hash"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	line, err := codec.AppendLogLine(nil, acl.Sent, m)
	fmt.Println(string(line), err)
	// Output:
	// MCP_MESSAGE_SENT: {"mcp_version":"0.1.0","message_id":"m-1","performative":"QUERY_REF","sender":{"agent_id":"Eddy"},"receiver":{"agent_id":"Jules"},"language":"application/json","timestamp":"2025-01-30T10:30:00Z","payload":{"reference":"latest_commit_hash"}} <nil>
}
