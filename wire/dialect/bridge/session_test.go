package bridge

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// Every vector of bridge, and none of the other dialects, is recognized.
func TestRecognizes(t *testing.T) {
	for _, tt := range []struct {
		file string
		want bool
	}{
		{"bridge", true}, {"more", true}, {"other-acl", false}, {"other-gateway", false}, {"other-rag", false}, {"other-rossnet", false},
	} {
		f, err := os.Open("testdata/" + tt.file + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); n++ {
			var v vector
			if err := json.Unmarshal(s.Bytes(), &v); err != nil {
				t.Fatal(err)
			}
			if got := (Dialect{}).Recognizes(v.Message); got != tt.want && v.Name != "an array" {
				t.Errorf("%s, %s: %t", tt.file, v.Name, got)
			}
		}
		if n == 0 {
			t.Errorf("%s is empty", tt.file)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		"": false, "{": false, "[]": false, "null": false, `{"message_type":"request"}`: false, `{"sender_id":"a"}`: false,
		`{"message_type":"request","sender_id":"a"`: true, ` {"payload":{"message_type":"x","sender_id":"y"}}`: false,
		`{"sender_id":"a","message_type":1}`: true, `{"performative":"INFORM","message_type":"x","sender_id":"y"}`: false,
	} {
		if got := (Dialect{}).Recognizes([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Before the handshake of its sender, each message is refused, and the session goes on.
func TestHandshakeFirst(t *testing.T) {
	for kind, text := range wellFormed {
		if kind == "handshake_request" {
			continue
		}
		p := newPeer(t, wire.CodecOptions{Local: "node"})
		in := p.one(text)
		if in.Message != nil || !errors.Is(in.Err, performatives.CodeHandshakeRequired) {
			t.Errorf("%s: %v", kind, in.Err)
		}
		switch {
		case kind == "error" && in.Answer != nil:
			t.Errorf("an error is answered: %s", in.Answer)
		case kind == "error":
		default:
			if got := read(t, string(in.Answer)); got.Payload["error_code"] != codeUnauthorized || got.Correlation != "m-1" || got.Receiver != "agent-1" || got.details()["reason_code"] != "handshake_required" {
				t.Errorf("%s: the peer is told %s", kind, in.Answer)
			}
		}
		p.message(wellFormed["handshake_request"])
		p.message(frame("m-2", "notification", "agent-1", "", "", `{"event_type":"e"}`))
		if in = p.one(frame("m-3", "notification", "agent-2", "", "", `{"event_type":"e"}`)); in.Err == nil {
			t.Errorf("another agent needs no handshake")
		}
	}
}

// A handshake that is not accepted opens nothing.
func TestHandshakeNotAccepted(t *testing.T) {
	const note = `{"event_type":"e"}`
	t.Run("by the session", func(t *testing.T) {
		p := newPeer(t, wire.CodecOptions{Local: "node"})
		in := p.message(wellFormed["handshake_request"])
		answer := read(t, string(wiretest.Refuse(t, p.codec, in, performatives.CodeUnauthorized)))
		if answer.Type != "error" || answer.Correlation != "m-1" {
			t.Errorf("got %+v", answer)
		}
		if in = p.one(frame("m-2", "notification", "agent-1", "", "", note)); in.Err == nil {
			t.Error("the peer has been accepted")
		}
	})
	t.Run("by the agent", func(t *testing.T) {
		p := newPeer(t, wire.CodecOptions{Local: "node"})
		in := p.message(wellFormed["handshake_request"])
		answer := read(t, p.send(answered(t, in.Message, performatives.Refuse{ReasonCode: performatives.CodeForbidden, ReasonText: "not you"})))
		if answer.Type != "handshake_response" || answer.Accepted == nil || *answer.Accepted || answer.Payload["accepted"] != false ||
			answer.Payload["agent_id"] != "agent-2" || answer.Payload["reason_text"] != "not you" {
			t.Errorf("got %+v", answer)
		}
		if in = p.one(frame("m-2", "notification", "agent-1", "", "", note)); in.Err == nil {
			t.Error("the peer has been accepted")
		}
	})
	t.Run("again", func(t *testing.T) {
		p := greeted(t, wire.CodecOptions{Local: "node"})
		in := p.message(wellFormed["handshake_request"])
		wiretest.Refuse(t, p.codec, in, performatives.CodeBusy)
		p.message(frame("m-2", "notification", "agent-1", "", "", note))
	})
}

// Our capabilities are in the answer to a handshake, with accepted in both places.
func TestHandshakeAnswer(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node"})
	in := p.message(wellFormed["handshake_request"])
	own := performatives.Capabilities{
		Topics:  []string{"Painting"},
		Actions: []performatives.Action{{Name: "paint", Description: "paints", InputSchema: json.RawMessage(`{"type":"object"}`)}, {Name: "draw"}},
		Extra:   performatives.Members{"tools": json.RawMessage("true")}, // of another dialect
	}
	got := p.send(answered(t, in.Message, performatives.InformCapabilities{Capabilities: &own}))
	want := `"payload":{"agent_id":"agent-2","agent_name":"agent-2","agent_role":"agent","tools":["paint","draw"],"version":"0.1.0","metadata":{},"topics":["Painting"],` +
		`"tool_details":{"paint":{"description":"paints","input_schema":{"type":"object"}}},"accepted":true},"accepted":true}`
	if !strings.HasSuffix(got, want) || !strings.Contains(got, `"message_type":"handshake_response","sender_id":"agent-2","receiver_id":"agent-1"`) || !strings.Contains(got, `"correlation_id":"m-1"`) {
		t.Errorf("got  %s\nwant …%s", got, want)
	}
}

// A request gets one answer: acts before it, and the receipt of a CANCEL after it, are not written.
func TestOneAnswer(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	for _, payload := range []any{performatives.TaskAccept{}, performatives.StatusUpdate{Description: "half"}} {
		if got := p.send(answered(t, request, payload)); got != "" {
			t.Errorf("%T: %s", payload, got)
		}
	}
	cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel","data":{"reason":"enough"}}`)).Message
	if cancel.Performative() != performatives.ActCancel || cancel.Receiver() != "Bob" || cancel.ConversationID() != request.ConversationID() || cancel.Priority() != performatives.High {
		t.Errorf("got %+v", cancel.Envelope())
	}
	got := read(t, p.send(answered(t, request, performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"})))
	if got.Type != "response" || got.Correlation != "m-1" || got.Payload["result"] != "done" || got.Payload["execution_time"] != 0.0 || got.Metadata != nil {
		t.Errorf("got %+v", got)
	}
	if got := p.send(answered(t, cancel, performatives.Receipt{})); got != "" {
		t.Errorf("the receipt is written: %s", got)
	}
	if in := p.one(frame("m-3", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)); in.Message != nil || in.Err != nil || in.Answer != nil {
		t.Errorf("a CANCEL of an ended request: %+v", in)
	}
}

// The answer to a request that its sender has withdrawn is an error.
func TestCanceled(t *testing.T) {
	for name, tt := range map[string]struct {
		payload any
		reason  string
	}{
		"receipt": {performatives.Receipt{}, "canceled"},
		"running": {performatives.Failure{ErrorCode: performatives.CodeStillRunning}, "still_running"},
	} {
		t.Run(name, func(t *testing.T) {
			p := greeted(t, wire.CodecOptions{Local: "node"})
			request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
			cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)).Message
			if in := p.one(frame("m-3", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)); in.Message != nil || in.Err != nil {
				t.Errorf("a second CANCEL: %+v", in)
			}
			got := read(t, p.send(answered(t, cancel, tt.payload)))
			if got.Type != "error" || got.Correlation != "m-1" || got.Receiver != "agent-1" || got.Sender != "Bob" || got.Payload["error_code"] != codeExecutionFailed ||
				got.details()["reason_code"] != tt.reason || got.details()["tool_name"] != "build" {
				t.Errorf("got %+v", got)
			}
			_ = request
		})
	}
	p := greeted(t, wire.CodecOptions{Local: "node"})
	p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`))
	if got := read(t, string(wiretest.Refuse(t, p.codec, cancel, performatives.CodeBusy))); got.Correlation != "m-2" {
		t.Errorf("got %+v", got)
	}
	p.message(frame("m-3", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)) // it can be withdrawn again
}

// A request that was withdrawn when its result was under way has that one answer: a second result is
// not written, nor is the receipt. Then it is forgotten.
func TestCanceledAndAnswered(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)).Message
	result := answered(t, request, performatives.InformResult{Status: performatives.StatusSuccess})
	if got := read(t, p.send(result)); got.Type != "response" || got.Correlation != "m-1" {
		t.Errorf("got %+v", got)
	}
	for _, m := range []*performatives.Message{result, answered(t, cancel, performatives.Receipt{})} {
		if out, err := wiretest.Encode(t, p.codec, m); err != nil || len(out) != 0 {
			t.Errorf("a further answer: wrote %s, %v", out, err)
		}
	}
	if n := p.codec.(*session).calls.Len(); n != 0 {
		t.Errorf("%d requests are open", n)
	}
}

// A question for more input is no end of a request that was withdrawn: the answer to the CANCEL is.
func TestCanceledAndAsked(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)).Message
	if got := read(t, p.send(answered(t, request, performatives.InformResult{Status: performatives.StatusPartial}))); got.Type != "response" {
		t.Errorf("got %+v", got)
	}
	got := read(t, p.send(answered(t, cancel, performatives.Receipt{})))
	if got.Type != "error" || got.Correlation != "m-1" || got.details()["reason_code"] != "canceled" {
		t.Errorf("got %+v", got)
	}
	if n := p.codec.(*session).calls.Len(); n != 0 {
		t.Errorf("%d requests are open", n)
	}
}

// Another connection takes over the requests of an agent, and not its handshake.
func TestHandshakeIsNotHandedOver(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node"})
	p.one(frame("hello-1", "handshake_request", "agent-1", "system", "", handshake("agent-1")))
	if requests, err := p.codec.(*session).Requests("agent-1"); err != nil || string(requests) != "[]" {
		t.Errorf("%s, %v", requests, err)
	}
	p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	if requests, err := p.codec.(*session).Requests("agent-1"); err != nil || !strings.Contains(string(requests), `"m-1"`) {
		t.Errorf("%s, %v", requests, err)
	}
}

// Only the sender of a request can withdraw it.
func TestCancelOfAnother(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	p.message(frame("hello-2", "handshake_request", "agent-2", "", "", handshake("agent-2")))
	p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	if in := p.one(frame("m-2", "notification", "agent-2", "Bob", "m-1", `{"event_type":"cancel"}`)); in.Message != nil || in.Err != nil {
		t.Errorf("got %+v", in)
	}
}

// An error names the tool of the request that it answers, and its exact reason.
func TestErrorsNameTheTool(t *testing.T) {
	for _, tt := range []struct {
		code      performatives.Code
		word, act string
		reason    any
	}{
		{performatives.CodeIncapable, "TOOL_NOT_FOUND", "", nil},
		{performatives.CodeUnknownAction, "TOOL_NOT_FOUND", "FAILURE", "action_not_found"},
		{performatives.CodeUnauthorized, "UNAUTHORIZED", "", nil},
		{performatives.CodeForbidden, "UNAUTHORIZED", "", "forbidden"},
		{performatives.CodeTimeout, "TIMEOUT", "", nil},
		{performatives.CodeExpired, "TIMEOUT", "TASK_REJECT", "deadline_expired"},
		{performatives.CodeFailed, "EXECUTION_FAILED", "", nil},
		{performatives.CodeInternal, "INTERNAL_ERROR", "", nil},
		{performatives.CodeBusy, "INTERNAL_ERROR", "TASK_REJECT", "busy"},
		{performatives.CodeInvalidPayload, "INVALID_ARGUMENTS", "", nil},
		{"invented", "INTERNAL_ERROR", "", "invented"},
	} {
		p := greeted(t, wire.CodecOptions{Local: "node"})
		request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
		answer := request.Refuse("Bob", stampOf(), tt.code, "task_parameters.x: why")
		got := read(t, p.send(answer))
		act, _ := got.Metadata["performative"].(string)
		if got.Type != "error" || got.Payload["error_code"] != tt.word || got.Payload["error_message"] != "arguments.x: why" || got.Payload["error_type"] == nil ||
			act != tt.act || got.details()["reason_code"] != tt.reason || got.details()["tool_name"] != "build" {
			t.Errorf("%s: %+v", tt.code, got)
		}
	}
}

// What the session refuses is told with the limits and the field.
func TestRefuse(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	in := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	got := read(t, string(wiretest.Refuse(t, p.codec, in, &wire.LimitError{Limit: wire.Rate{Messages: 3, Window: time.Minute}, RetryAfter: time.Second})))
	if got.Payload["error_code"] != codeInternal || got.details()["limit"] != 3.0 || got.details()["reason_code"] != "rate_limited" || got.Sender != "Bob" {
		t.Errorf("got %+v", got)
	}
	in = p.message(frame("m-2", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	got = read(t, string(wiretest.Refuse(t, p.codec, in, &performatives.Refusal{Code: performatives.CodeForbidden, Field: "sender", Text: "not you"})))
	if got.Payload["error_code"] != codeUnauthorized || got.details()["field"] != "sender_id" || got.Payload["error_message"] != "sender_id: not you" {
		t.Errorf("got %+v", got)
	}
	in = p.message(frame("m-3", "notification", "agent-1", "Bob", "", `{"event_type":"e"}`))
	if got := wiretest.Refuse(t, p.codec, in, performatives.CodeBusy); got != nil {
		t.Errorf("a notification is answered: %s", got)
	}
	if got := p.codec.Refuse([]byte("x"), wire.Inbound{}, performatives.CodeBusy); string(got) != "x" {
		t.Errorf("got %s", got)
	}
}

// The answers of a peer find the conversation, the asker and the protocol of the request.
func TestAnswers(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) {
		e.ConversationID, e.Protocol, e.ReplyBy = "c-1", "task-delegation", arrival.Add(1500*time.Millisecond)
	})
	got := read(t, p.send(request))
	if got.Type != "request" || got.Payload["tool_name"] != "paint" || got.Payload["timeout"] != 2.0 || got.Metadata["protocol"] != "task-delegation" || got.Metadata["conversation_id"] != "c-1" {
		t.Errorf("got %+v", got)
	}
	if again := p.send(request); again != "" {
		t.Errorf("a repetition is written: %s", again)
	}
	response := frame("r-1", "response", "agent-1", "", got.ID, `{"success":true,"result":{"area":1}}`)
	m := p.message(response).Message
	if m.ConversationID() != "c-1" || m.Receiver() != "Eddy" || m.Protocol() != "task-delegation" || !m.Answers(request) {
		t.Errorf("got %+v", m.Envelope())
	}
	if in := p.one(response); in.Message != nil || in.Err == nil || in.Answer != nil {
		t.Errorf("a second answer: %+v", in)
	}
	if in := p.one(frame("r-2", "error", "agent-1", "", "nothing", `{"error_code":"TIMEOUT","error_message":"late"}`)); in.Message != nil || !errors.Is(in.Err, performatives.CodeTimeout) || in.Answer != nil {
		t.Errorf("an error about nothing: %+v", in)
	}
	if p.send(request) == "" {
		t.Error("a request that comes again after its answer is not written")
	}
	p.message(frame("hello-2", "handshake_request", "router", "", "", handshake("router")))
	if m := p.message(frame("r-3", "error", "router", "", got.ID, `{"error_code":"TIMEOUT","error_message":"late"}`)).Message; m.Sender() != "agent-1" || !m.Answers(request) {
		t.Errorf("an answer on behalf of the receiver: %+v", m.Envelope())
	}
}

// A request that cannot be answered any more fails.
func TestUnreadableAnswer(t *testing.T) {
	for _, broken := range []string{`{"success":1}`, `{}`} {
		p := greeted(t, wire.CodecOptions{Local: "node"})
		request := asked(t, performatives.TaskRequest{TaskType: "paint"})
		id := read(t, p.send(request)).ID
		in := p.all(frame("r-1", "response", "agent-1", "Eddy", id, broken))
		if len(in) != 2 || in[0].Err == nil || in[0].Answer == nil || in[1].Message == nil || !in[1].Message.Answers(request) || !errors.Is(in[1].Message.AsRefusal(), performatives.CodeFailed) {
			t.Errorf("got %+v", in)
		}
		if in := p.one(frame("r-2", "response", "agent-1", "Eddy", id, `{"success":true}`)); in.Message != nil {
			t.Errorf("a second answer: %+v", in)
		}
	}
}

// We withdraw a request: an error of the peer is the receipt, its response the result.
func TestWithdraw(t *testing.T) {
	for kind, tt := range map[string]struct {
		payload string
		act     performatives.Performative
	}{
		"error":    {`{"error_code":"EXECUTION_FAILED","error_message":"cancelled"}`, performatives.ActInform},
		"response": {`{"success":true,"result":{}}`, performatives.ActInformResult},
	} {
		p := greeted(t, wire.CodecOptions{Local: "node"})
		request := asked(t, performatives.TaskRequest{TaskType: "paint"})
		id := read(t, p.send(request)).ID
		cancel, err := request.Follow(stampOf(), performatives.Cancel{Reason: "enough"})
		if err != nil {
			t.Fatal(err)
		}
		got := read(t, p.send(cancel))
		if got.Type != "notification" || got.Correlation != id || got.Payload["event_type"] != "cancel" || fmt.Sprint(got.Payload["data"]) != "map[reason:enough]" || got.Metadata["performative"] != nil {
			t.Errorf("got %+v", got)
		}
		if again := p.send(cancel); again != "" {
			t.Errorf("a repetition is written: %s", again)
		}
		m := p.message(frame("r-1", kind, "agent-1", "Eddy", id, tt.payload)).Message
		if m.Performative() != tt.act || tt.act == performatives.ActInform && !m.Answers(cancel) {
			t.Errorf("%s: %+v", kind, m.Envelope())
		}
	}
}

// A CANCEL has a higher priority than its request, and may overtake it.
func TestCancelOvertakes(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	if in := p.one(frame("m-2", "notification", "agent-1", "Bob", "m-1", `{"event_type":"cancel"}`)); in.Message != nil || in.Err != nil || in.Answer != nil {
		t.Errorf("got %+v", in)
	}
	for range 2 { // the copy, too
		in := p.one(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
		if !errors.Is(in.Err, performatives.CodeCanceled) || read(t, string(in.Answer)).Payload["error_code"] != codeExecutionFailed || read(t, string(in.Answer)).Correlation != "m-1" {
			t.Errorf("got %+v", in)
		}
	}
	p.message(frame("m-3", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))

	request := asked(t, performatives.TaskRequest{TaskType: "paint"})
	cancel, err := request.Follow(stampOf(), performatives.Cancel{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.send(cancel)); got.Type != "notification" || got.Correlation != string(request.ID()) || got.Receiver != "agent-1" {
		t.Errorf("got %+v", got)
	}
	for range 2 {
		if out, err := wiretest.Encode(t, p.codec, request); !errors.Is(err, performatives.CodeCanceled) || len(out) != 0 {
			t.Errorf("a request after its CANCEL: wrote %s, %v", out, err)
		}
	}
	if n := p.codec.(*session).asks.Len(); n != 0 {
		t.Errorf("%d requests are open", n)
	}
	p.send(asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.ID = "other" }))
	for i := range 2 * exchange.MaxRecent {
		p.one(frame(fmt.Sprint("c-", i), "notification", "agent-1", "Bob", fmt.Sprint("x-", i), `{"event_type":"cancel"}`))
	}
	if early, _ := p.codec.(*session).early.Len(); early < exchange.MaxRecent/2 || early > exchange.MaxRecent {
		t.Errorf("%d are kept", early)
	}
}

// A worker asks for more input, and the asker's next request continues the conversation. The
// correlation_id of any other request is the peer's own.
func TestFurtherRequest(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	got := read(t, p.send(answered(t, request, performatives.InformResult{
		Status: performatives.StatusPartial, Details: performatives.RawContent([]byte(`{"request_for_user":"which?"}`)),
	})))
	if got.Payload["task_status"] != "partial_success" || got.Payload["success"] != true {
		t.Errorf("got %+v", got)
	}
	further := p.message(frame("m-2", "request", "agent-1", "Bob", "m-1", `{"tool_name":"build","arguments":{"which":"b"}}`)).Message
	if further.ConversationID() != request.ConversationID() || further.InReplyTo() != "m-1" {
		t.Errorf("got %+v", further.Envelope())
	}
	own := p.message(frame("m-3", "request", "agent-1", "Bob", "workflow-7", `{"tool_name":"build"}`)).Message
	if own.ConversationID() != "m-3" || own.InReplyTo() != "" {
		t.Errorf("got %+v", own.Envelope())
	}
	relayed, err := own.With(func(*performatives.Envelope) {})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := newCodec(t, wire.CodecOptions{}).Encode(relayed); err != nil || read(t, string(out)).Correlation != "workflow-7" {
		t.Errorf("%v: %s", err, out)
	}
}

// A message type of an application travels both ways.
func TestMessageTypes(t *testing.T) {
	registry := new(performatives.Registry)
	type review struct {
		Diff string `json:"diff"`
	}
	if err := performatives.RegisterMessageType[review](registry, "REVIEW_REQUEST", performatives.ActRequest); err != nil {
		t.Fatal(err)
	}
	p := greeted(t, wire.CodecOptions{Local: "node", Registry: registry})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"REVIEW_REQUEST","arguments":{"diff":"+1"}}`)).Message
	if request.Performative() != performatives.ActRequest || request.MessageType() != "REVIEW_REQUEST" || request.Payload() != (review{"+1"}) {
		t.Errorf("got %+v", request.Envelope())
	}
	reply, err := request.ReplyAs(stampOf(), performatives.ActInform, performatives.Raw(`{"ok":true}`))
	if err == nil {
		reply, err = reply.With(func(e *performatives.Envelope) { e.MessageType = "REVIEW_DONE" })
	}
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, p.send(reply))
	if got.Type != "response" || fmt.Sprint(got.Payload["result"]) != "map[ok:true]" || got.Metadata["message_type"] != "REVIEW_DONE" || got.Metadata["performative"] != "INFORM" {
		t.Errorf("got %+v", got)
	}
	ask := asked(t, review{"-1"}, func(e *performatives.Envelope) {
		e.Performative, e.MessageType = performatives.ActRequest, "REVIEW_REQUEST"
	})
	got = read(t, p.send(ask))
	if got.Type != "request" || got.Payload["tool_name"] != "REVIEW_REQUEST" || fmt.Sprint(got.Payload["arguments"]) != "map[diff:-1]" || got.Metadata["performative"] != "REQUEST" {
		t.Errorf("got %+v", got)
	}
	answer := strings.TrimSuffix(frame("r-1", "response", "agent-1", "", got.ID, `{"success":true,"result":{"ok":false}}`), "}") + `,"metadata":{"message_type":"REVIEW_DONE","performative":"INFORM"}}`
	if m := p.message(answer).Message; m.Performative() != performatives.ActInform || m.MessageType() != "REVIEW_DONE" || m.Receiver() != "Eddy" {
		t.Errorf("got %+v", m.Envelope())
	}
	if _, err := wiretest.Encode(t, p.codec, asked(t, review{"x"}, func(e *performatives.Envelope) { e.Performative = performatives.ActRequest })); !errors.Is(err, performatives.CodeUnknownPerformative) {
		t.Errorf("a REQUEST without a message type: %v", err)
	}
}

// MaxPending bounds the pending requests of each end. Those whose deadline has passed make room.
func TestLimits(t *testing.T) {
	at := &movingClock{now: arrival}
	p := greeted(t, wire.CodecOptions{Local: "node", MaxPending: 2, Stamper: at})
	for i := range 2 {
		p.message(frame(fmt.Sprintf("m-%d", i), "request", "agent-1", "Bob", "", `{"tool_name":"build","timeout":1}`))
		if p.send(asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.ReplyBy = arrival.Add(time.Second) })) == "" {
			t.Error("a request is not written")
		}
	}
	in := p.one(frame("m-3", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	if !errors.Is(in.Err, performatives.CodeBusy) || read(t, string(in.Answer)).details()["reason_code"] != "busy" {
		t.Errorf("got %v", in.Err)
	}
	if _, err := wiretest.Encode(t, p.codec, asked(t, performatives.TaskRequest{TaskType: "paint"})); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("got %v", err)
	}
	at.now = at.now.Add(2 * time.Minute)
	p.message(frame("m-4", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	if p.send(asked(t, performatives.TaskRequest{TaskType: "paint"})) == "" {
		t.Error("a request is not written")
	}
}

type movingClock struct {
	now time.Time
	n   int
}

func (c *movingClock) Stamp() performatives.Stamp {
	c.n++
	return performatives.Stamp{ID: performatives.MessageID(fmt.Sprintf("moving-%d", c.n)), Time: c.now}
}

// A message that is longer than a frame is refused before it is sent.
func TestTooLong(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", MaxBytes: 600, Initiator: true})
	long := asked(t, performatives.TaskRequest{TaskType: "paint", Description: strings.Repeat("x", 600)})
	if _, err := wiretest.Encode(t, p.codec, long); !errors.Is(err, performatives.CodeInvalidPayload) {
		t.Errorf("got %v", err)
	}
	if s := p.codec.(*session); s.asks.Len() != 0 {
		t.Error("the request is pending")
	}
	if in := p.one(`{"message_type":"request","x":"` + strings.Repeat("x", 600) + `"}`); !errors.Is(in.Err, performatives.CodeParsingError) {
		t.Errorf("got %v", in.Err)
	}
}

// Tokens are removed from what comes, and added to what goes where the transport has no place for
// them.
func TestTokens(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node"})
	hello := strings.TrimSuffix(wellFormed["handshake_request"], "}") + `,"auth_token":"Bearer secret"}`
	in := p.message(hello)
	if _, ok := in.Message.Metadata(exchange.MemberToken); ok || in.Token != "secret" || in.Ref == nil {
		t.Errorf("got %+v", in)
	}
	bad := strings.TrimSuffix(wellFormed["request"], "}") + `,"auth_token":1}`
	if in := p.one(bad); in.Err == nil || read(t, string(in.Answer)).Payload["error_code"] != codeInvalidArguments {
		t.Errorf("got %+v", in)
	}
	q := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true, Token: func() string { return "mine" }})
	if got := q.send(asked(t, performatives.TaskRequest{TaskType: "paint"})); !strings.Contains(got, `"auth_token":"mine"`) {
		t.Errorf("got %s", got)
	}
}

// The details of an error say when to come again.
func TestRetryAfter(t *testing.T) {
	why := &performatives.Refusal{Code: performatives.CodeBusy, RetryAfter: time.Second}
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	text := p.send(request.RefuseWith("Bob", stampOf(), why))
	in := p.message(frame("m-2", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	for _, text := range []string{text, string(wiretest.Refuse(t, p.codec, in, why))} {
		if got := read(t, text).details(); got["retry_after_ms"] != 1000.0 || got["reason_code"] != "busy" {
			t.Errorf("got %s", text)
		}
		c := newCodec(t, wire.CodecOptions{})
		m, err := c.Decode([]byte(text))
		if err != nil || m.AsRefusal().RetryAfter != time.Second || m.AsRefusal().Code != performatives.CodeBusy {
			t.Fatalf("%s is %v, %v", text, m, err)
		}
		relayed, err := m.With(func(e *performatives.Envelope) { e.Payload = performatives.RefusalWith(e.Payload, nil) })
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Encode(relayed)
		if err != nil || read(t, string(again)).details()["retry_after_ms"] != 1000.0 {
			t.Errorf("without what the peer wrote: %s, %v", again, err)
		}
		if again, err = c.Encode(m); err != nil || !cmp.Equal(jsonOf(again), jsonOf([]byte(text))) {
			t.Errorf("%s became %s, %v", text, again, err)
		}
	}
	text = frame("m-3", "error", "agent-1", "Bob", "", `{"error_code":"INTERNAL_ERROR","error_message":"x","error_type":"internal","details":{"reason_code":"busy","retry_after_ms":-5}}`)
	m, err := newCodec(t, wire.CodecOptions{}).Decode([]byte(text))
	if err != nil || m.AsRefusal().RetryAfter != 0 {
		t.Fatalf("a hint of less than nothing: %v, %v", m, err)
	}
	if again, err := newCodec(t, wire.CodecOptions{}).Encode(m); err != nil || !cmp.Equal(jsonOf(again), jsonOf([]byte(text))) {
		t.Errorf("%s became %s, %v", text, again, err)
	}
}

// A nack says it, too.
func TestRetryAfterInANack(t *testing.T) {
	p := extended(t, wire.CodecOptions{Local: "node"})
	note := wire.Inbound{Message: p.all(frame("m-1", "notification", "agent-1", "Bob", "", `{"event_type":"e"}`))[0].Message}
	text := string(wiretest.Refuse(t, p.codec, note, &performatives.Refusal{Code: performatives.CodeBusy, RetryAfter: time.Second}))
	if !strings.Contains(text, `"event_type":"nack"`) || !strings.Contains(text, `"details":{"reason_code":"busy","retry_after_ms":1000}`) {
		t.Fatal(text)
	}
	about := read(t, p.send(asked(t, performatives.TaskRequest{TaskType: "paint"}))).ID
	text = strings.NewReplacer(`"sender_id":"Bob"`, `"sender_id":"agent-1"`, `"receiver_id":"agent-1"`, `"receiver_id":"Eddy"`, `"correlation_id":"m-1"`, `"correlation_id":"`+about+`"`).Replace(text)
	if r := p.message(text).Message.AsRefusal(); r == nil || r.RetryAfter != time.Second || r.Code != performatives.CodeBusy {
		t.Errorf("%s is %+v", text, r)
	}
}
