package rag

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

var (
	word   = rapid.StringMatching(`[A-Za-z0-9_:/.äß "\\<>-]{1,20}`)
	maybe  = rapid.OneOf(rapid.Just(""), word)
	values = rapid.SampledFrom([]string{`1.10`, `null`, `""`, `[]`, `{}`, `"x\u0000y"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`, `true`, `"high"`, `-0`, `1E400`, `"REQUEST"`, `"TASK_REJECT"`, `"FAILURE"`, `"X_RESULT"`, `"TASK_REQUEST"`, `{"task_status":"success"}`, `{"task_description":"x"}`, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`})
	kinds  = rapid.OneOf(
		rapid.SampledFrom([]string{typeIngestion, typeRetrieval, typeRetrieved, typeResponse, typeResponded, typeError, typeRegistration, typeStatus, "INFORM", "CANCEL", "REQUEST", "X_RESULT"}),
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}`))
	traces = rapid.OneOf(rapid.StringMatching(`(ing|ret|llm|err)-[a-zä-]{1,9}-[0-9]{2,12}`), word)
	keys   = rapid.OneOf(rapid.StringMatching(`[a-z"é.]{1,8}`), rapid.SampledFrom([]string{
		"priority", "protocol", "trace", "budget", "performative", "message_type", "task_request", "inform_result", "envelope.x", "metadata.x", "result_for",
	}))
	object = rapid.MapOfN(keys, values, 0, 5)
)

// objectText returns the members as JSON, besides those that the type requires.
func objectText(t *rapid.T, label string, required map[string]string) json.RawMessage {
	all := make(map[string]json.RawMessage)
	for name, v := range object.Draw(t, label) {
		all[name] = json.RawMessage(v)
	}
	for name, v := range required {
		all[name] = json.RawMessage(v)
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// required has valid values of the members that a payload must have.
var required = map[string]map[string]string{
	typeIngestion: {"document_id": `"d"`, "chunks": `[{"content":"x","n":1.0}]`},
	typeRetrieval: {"query": `"q"`},
	typeRetrieved: {"retrieved_chunks": `[{"content":"","similarity_score":0.90}]`},
	typeResponse:  {"user_query": `"q"`},
	typeResponded: {"response": `"r"`},
	typeError:     {"error_code": `"BUSY"`, "error_message": `""`},
}

// A message of the peer that is read is written again as it came, whatever it has beside what the
// text names.
func TestDecodeEncodeIsTheIdentity(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds.Draw(t, "type")
		more := required[kind]
		sender := rapid.StringMatching(`[A-Za-zä][A-Za-z0-9 -]{0,9}`).Draw(t, "sender")
		switch kind {
		case typeRegistration:
			more = map[string]string{"agent_id": fmt.Sprintf("%q", sender), "agent_type": `"x"`, "capabilities": `["a"]`, "message_types": `["B"]`, "status": `"active"`}
		case typeStatus:
			more = map[string]string{"agent_id": fmt.Sprintf("%q", sender), "status": `"error"`}
		}
		frame := map[string]any{
			"type": kind, "sender": sender, "receiver": word.Draw(t, "receiver"), "trace_id": traces.Draw(t, "trace"),
			"timestamp": moment.Draw(t, "timestamp").Format(time.RFC3339Nano), "payload": objectText(t, "payload", more),
		}
		if rapid.Bool().Draw(t, "with metadata") {
			frame["metadata"] = objectText(t, "metadata", nil)
		}
		for name, v := range object.Draw(t, "envelope") {
			frame["x_"+name] = json.RawMessage(v)
		}
		data, err := json.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		c := openCodec()
		var m *performatives.Message
		for _, in := range c.items(string(data)) {
			if in.Err != nil {
				if _, plain := required[kind]; plain && frame["metadata"] == nil {
					t.Fatalf("%v: %s", in.Err, data)
				}
				t.Skip() // metadata that contradicts the type, or the payload of an act
			}
			m = in.Message
		}
		out, err := wiretest.Encode(t, c, m)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if diff := cmp.Diff(exact(t, data), exact(t, out)); diff != "" {
			t.Fatalf("-came +went:\n%s\n%s", diff, data)
		}
		read++
	})
	if read == 0 {
		t.Error("no message was read")
	}
}

// A type of the dialect with another act than its own needs no message_type to be read as a message
// type, also if its metadata is like that of a task or a result.
func TestTypeWithMetadataOfATask(t *testing.T) {
	for _, member := range []string{metaTask, metaResult} {
		data := `{"metadata":{"performative":"REQUEST","` + member + `":{}},"payload":{"chunks":[{"content":"x"}],"document_id":"d"},` +
			`"receiver":"B","sender":"A","timestamp":"1970-01-01T00:00:00Z","trace_id":"ing-a-00","type":"DOCUMENT_INGESTION"}`
		c := openCodec()
		for _, in := range c.items(data) {
			if in.Err != nil || in.Message.Performative() != performatives.ActRequest || in.Message.MessageType() != typeIngestion {
				t.Fatalf("%v, %v", in.Message, in.Err)
			}
			out, err := wiretest.Encode(t, c, in.Message)
			if diff := cmp.Diff(exact(t, []byte(data)), exact(t, out)); err != nil || diff != "" {
				t.Errorf("%v -came +went:\n%s", err, diff)
			}
		}
	}
}

// A message of another dialect that can be written is read as the same message, but for what rag
// has no place for (addenda §1).
func TestEncodeDecodeKeepsWhatItCanSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := generated(t)
		out, err := wiretest.Encode(t, openCodec(), m)
		if err != nil {
			t.Fatalf("%v of %+v", err, m.Envelope())
		}
		if len(out) == 0 {
			if !exchange.Interim.Has(m.Performative()) || m.MessageType() != "" {
				t.Fatalf("nothing is written of %+v", m.Envelope())
			}
			return
		}
		all := openCodec().items(string(out))
		if len(all) != 1 || all[0].Message == nil {
			t.Fatalf("%+v of %s", all, out)
		}
		got := all[0].Message
		if diff := cmp.Diff(said(t, m), said(t, got)); diff != "" {
			t.Fatalf("-sent +read:\n%s\n%s", diff, out)
		}
		again, err := wiretest.Encode(t, openCodec(), got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(exact(t, out), exact(t, again)); diff != "" {
			t.Fatalf("-written +again:\n%s\n%s", diff, out)
		}
	})
}

func openCodec() *codec {
	c, err := Dialect{}.Open(codecOptions())
	if err != nil {
		panic(err)
	}
	return c.(*codec)
}

var moment = rapid.Custom(func(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
})

func members(t *rapid.T, label string) performatives.Members {
	out := performatives.Members{}
	for name, text := range rapid.MapOfN(rapid.StringMatching(`x_[a-z"é]{1,8}`), values, 0, 4).Draw(t, label) {
		out[name] = json.RawMessage(text)
	}
	return out
}

func content(t *rapid.T) performatives.Content {
	return performatives.RawContent(json.RawMessage(`{"v":` + values.Draw(t, "content") + `}`))
}

// payloads makes a payload of each type.
var payloads = []func(t *rapid.T) any{
	func(t *rapid.T) any {
		return performatives.TaskRequest{TaskType: word.Draw(t, "type"), Description: maybe.Draw(t, "description"), Parameters: content(t), Extra: members(t, "extra")}
	},
	func(t *rapid.T) any {
		return performatives.TaskRequest{TaskType: rapid.SampledFrom([]string{"rerank", "cancel", "inform_result", "error_message", "agent_status", "x_result"}).Draw(t, "type"), Parameters: content(t)}
	},
	func(t *rapid.T) any {
		return performatives.TaskReject{ReasonCode: performatives.CodeBusy, ReasonText: word.Draw(t, "text"), Extra: members(t, "extra")}
	},
	func(t *rapid.T) any {
		return performatives.NotUnderstood{ReasonCode: performatives.CodeInvalidPayload, ReasonText: word.Draw(t, "text")}
	},
	func(t *rapid.T) any {
		return performatives.Refuse{ReasonCode: "their_own", ReasonText: word.Draw(t, "text")}
	},
	func(t *rapid.T) any {
		return performatives.Failure{ErrorCode: performatives.CodeTimeout, ErrorText: word.Draw(t, "text"), Extra: members(t, "extra")}
	},
	func(t *rapid.T) any {
		p := rapid.Float64Range(0, 100).Draw(t, "progress")
		return performatives.StatusUpdate{Progress: &p, Description: maybe.Draw(t, "text")}
	},
	func(*rapid.T) any { return performatives.TaskAccept{} },
	func(t *rapid.T) any {
		return performatives.InformResult{Status: performatives.StatusPartial, Summary: maybe.Draw(t, "text"), Details: content(t), Artifacts: []performatives.Artifact{{Type: "file", Path: word.Draw(t, "path")}}, Extra: members(t, "extra")}
	},
	func(t *rapid.T) any { return performatives.QueryIf{Condition: content(t)} },
	func(t *rapid.T) any { return performatives.QueryRef{Reference: word.Draw(t, "reference")} },
	func(t *rapid.T) any {
		return performatives.InformRef{Reference: word.Draw(t, "reference"), Value: content(t)}
	},
	func(t *rapid.T) any {
		return performatives.QueryCapabilities{Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{word.Draw(t, "name")}}}
	},
	func(t *rapid.T) any {
		return performatives.InformCapabilities{Capabilities: &performatives.Capabilities{Topics: []string{word.Draw(t, "topic")}}}
	},
	func(t *rapid.T) any { return performatives.Cancel{Reason: maybe.Draw(t, "text")} },
	func(t *rapid.T) any { return performatives.Raw(`{"x": ` + values.Draw(t, "raw") + `}`) },
	func(*rapid.T) any { return nil },
}

// generated makes a message of another dialect, of any act.
func generated(t *rapid.T) *performatives.Message {
	e := performatives.Envelope{
		ID: performatives.MessageID(word.Draw(t, "id")), Timestamp: moment.Draw(t, "timestamp"),
		Sender: performatives.AgentID(word.Draw(t, "sender")), Receiver: performatives.AgentID(word.Draw(t, "receiver")),
		ConversationID: performatives.ConversationID(word.Draw(t, "conversation")), Protocol: maybe.Draw(t, "protocol"),
		InReplyTo: word.Draw(t, "in reply to"), Priority: performatives.Priority(rapid.IntRange(-1, 2).Draw(t, "priority")),
		Metadata: members(t, "metadata"), Payload: rapid.SampledFrom(payloads).Draw(t, "payload")(t),
	}
	if rapid.Bool().Draw(t, "typed") {
		e.MessageType = rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.:/-]{0,63}`), rapid.SampledFrom([]string{"CANCEL", "AGENT_STATUS", "X_RESULT"})).Draw(t, "message type")
	}
	if rapid.Bool().Draw(t, "more") {
		e.Budget, e.Trace = content(t), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	}
	if _, raw := e.Payload.(performatives.Raw); raw || e.Payload == nil {
		e.Performative = rapid.SampledFrom([]performatives.Performative{
			performatives.ActCFP, performatives.ActRequest, performatives.ActInform, performatives.ActSubscribe, performatives.ActProxy, performatives.ActConfirm, performatives.ActPropose,
		}).Draw(t, "act")
	}
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// said returns what rag can say of a message.
func said(t *rapid.T, m *performatives.Message) map[string]any {
	v := map[string]any{
		"act": m.Performative(), "type": m.MessageType(), "sender": m.Sender(), "receiver": m.Receiver(), "protocol": m.Protocol(),
		"priority": m.Priority(), "timestamp": m.Timestamp(), "trace": m.Trace(),
	}
	conversation := m.ConversationID()
	v["conversation"] = conversation
	if !m.Budget().IsZero() {
		text, _ := m.Budget().MarshalJSON()
		v["budget"] = exact(t, text)
	}
	for name, raw := range m.AllMetadata() {
		if name != keptTrace && name != keptType && name != exchange.MetaAct && name != exchange.MetaMessageType && name != exchange.MetaPriority {
			v["metadata."+name] = exact(t, raw)
		}
	}
	payload := map[string]any{}
	if m.Payload() != nil {
		text, err := json.Marshal(m.Payload())
		if err != nil {
			t.Fatal(err)
		}
		payload = exact(t, text).(map[string]any)
	}
	if exchange.Refusals.Has(m.Performative()) && m.MessageType() == "" {
		delete(payload, "retry_possible")
		delete(payload, "suggested_action")
	}
	v["payload"] = payload
	return v
}
