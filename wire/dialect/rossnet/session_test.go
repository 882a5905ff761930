package rossnet

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

const task = `{"subtask_id":"s-1","task_name":"t","input_data":{}}`

// The sender is the agent of the path of the connection.
func TestPath(t *testing.T) {
	for path, code := range map[string]string{"/ws/anna": "", "/ws/Bob": "E002", "/mcp": "", "": ""} {
		c := open(t, func(o *wire.CodecOptions) { o.Path = path })
		all := c.items(frameOf(kindAssign, "Anna", "Jules", "c", task))
		if code == "" {
			if all[0].Message == nil {
				t.Errorf("%s: %v", path, all[0].Err)
			}
			continue
		}
		if got, _, field := errorOf(t, all[0].Answer); got != code || field != "mcp_header.sender_id" {
			t.Errorf("%s: %s %s", path, got, field)
		}
	}
}

// The token is not a part of the message, and may have the word Bearer.
func TestToken(t *testing.T) {
	c := open(t)
	for _, token := range []string{"abc", "Bearer abc"} {
		all := c.items(strings.Replace(frameOf(kindAssign, "A", "B", "c", task), `"auth_token":null`, `"auth_token":"`+token+`"`, 1))
		if all[0].Token != "abc" || all[0].Message == nil {
			t.Fatalf("%+v", all[0])
		}
		if out := write(t, c, all[0].Message); strings.Contains(out, "abc") {
			t.Errorf("the token is in %s", out)
		}
	}
	c = open(t, func(o *wire.CodecOptions) { o.Token = func() string { return "own" } })
	if out := write(t, c, accept(t, c, frameOf(kindAssign, "A", "B", "c", task))); !strings.Contains(out, `"auth_token":"own"`) {
		t.Errorf("no token in %s", out)
	}
}

// A refused task gets TASK_FAIL, whatever else ERROR, and what says no has no answer.
func TestRefuse(t *testing.T) {
	for _, tt := range []struct{ frame, kind, code string }{
		{frameOf(kindAssign, "A", "B", "c", task), kindFail, "E004"},
		{frameOf(kindStatus, "A", "B", "c", `{"subtask_id":"s-1","progress_percentage":1,"status_description":""}`), kindError, "E004"},
		{frameOf(kindFail, "A", "B", "c", `{"subtask_id":"s-1","error_code":"E006","error_message":"","is_retryable":true}`), "", ""},
		{frameOf(kindError, "A", "B", "c", `{"error_code":"E006","error_message":""}`), "", ""},
	} {
		c := open(t)
		in := c.items(tt.frame)[0]
		if in.Message == nil {
			t.Fatal(in.Err)
		}
		out := wiretest.Refuse(t, c, in, &performatives.Refusal{Code: performatives.CodeUnknownAgent, Text: "no such agent"})
		if tt.kind == "" {
			if len(out) != 0 {
				t.Errorf("answered by %s", out)
			}
			continue
		}
		if code, text, _ := errorOf(t, out); code != tt.code || text != "no such agent" || jsonscan.Text(jsonscan.Member(jsonscan.Member(out, memHeader), headerNames[memKind])) != tt.kind || c.calls.Len() != 0 {
			t.Errorf("%s with %d open", out, c.calls.Len())
		}
	}
}

// An answer refers to its request by the subtask_id, or by the correlation_id alone.
func TestAnswersOfThePeer(t *testing.T) {
	c := open(t)
	var sent []*performatives.Message
	for _, id := range []performatives.MessageID{"m-1", "m-2"} {
		m, err := performatives.New(performatives.Envelope{
			ID: id, Sender: "Eddy", Receiver: "Worker", ConversationID: "conv", Timestamp: noon, Payload: performatives.TaskRequest{TaskType: "t"},
		})
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, m)
	}
	first, second := write(t, c, sent[0]), write(t, c, sent[1])
	subtask := jsonscan.Text(jsonscan.Member(jsonscan.Member([]byte(second), memPayload), "subtask_id"))
	if subtask == "" || subtask == jsonscan.Text(jsonscan.Member(jsonscan.Member([]byte(first), memPayload), "subtask_id")) {
		t.Fatalf("%s %s", first, second)
	}
	m := accept(t, c, frameOf(kindComplete, "worker", "Eddy", "conv", `{"subtask_id":"`+subtask+`","output_data":{}}`))
	if m.InReplyTo() != "m-2" || m.ConversationID() != "conv" {
		t.Errorf("%+v", m.Envelope())
	}
	m = accept(t, c, frameOf(kindComplete, "Worker", "Eddy", "conv", `{"status":"COMPLETED","result":{"x":1}}`))
	if m.InReplyTo() != "m-1" || c.asked.Len() != 0 || c.asked.subtasks.Len()+c.asked.correlations.Len() != 0 {
		t.Errorf("%+v with %+v", m.Envelope(), c.asked)
	}
}

// There is no broadcast.
func TestBroadcast(t *testing.T) {
	m, err := performatives.New(performatives.Envelope{ID: "m", Sender: "A", Timestamp: noon, Performative: performatives.ActInform, Payload: performatives.Raw(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	var r *performatives.Refusal
	if _, err := wiretest.Encode(t, open(t), m); !errors.As(err, &r) || r.Field != "receiver" {
		t.Errorf("got %v", err)
	}
}

// Versions of the major 1 are read, whatever their minor and patch, and each message is answered in
// version 1.0 (rossnet §8).
func TestVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"1": true, "1.0": true, "1.9": true, "1.0.3": true, "1.0.0-rc.1": true,
		"0.9": false, "2": false, "2.0": false, "10.0": false, "01.0": false, "v1.0": false, " 1.0": false, "-1.0": false, "one": false, "": false,
	} {
		c := open(t)
		frame := strings.Replace(frameOf(kindAssign, "A", "B", "c", task), `"version":"1.0"`, `"version":"`+version+`"`, 1)
		in := c.items(frame)[0]
		if ok {
			if in.Message == nil {
				t.Errorf("%q is refused: %v", version, in.Err)
			}
			continue
		}
		if in.Err == nil {
			t.Errorf("%q is accepted", version)
			continue
		}
		if code, text, field := errorOf(t, in.Answer); code != "E003" || field != "mcp_header.version" || !strings.HasPrefix(text, field+": want ") {
			t.Errorf("%q is refused with %s %s: %s", version, code, field, text)
		}
		if got := jsonscan.Text(jsonscan.Member(jsonscan.Member(in.Answer, memHeader), headerNames[memVersion])); got != Version {
			t.Errorf("%q is answered in the version %q", version, got)
		}
		accept(t, c, frameOf(kindAssign, "A", "B", "d", task)) // the session goes on
	}
}

// Each code of rossnet §7 is one that this end writes, and each code of the table goes to the peer
// and comes back as itself, in the refusal of a task and in its failure.
func TestErrorCodes(t *testing.T) {
	words := make(map[string]bool)
	for _, traits := range performatives.Codes() {
		words[ErrorCodes.Of(traits.Code)] = true
		want := func(act performatives.Performative) string {
			switch {
			case act == performatives.ActTaskReject:
				return "E009"
			case traits.Code == performatives.CodeUnauthorized: // of an agent
				return "E002"
			}
			return ErrorCodes.Of(traits.Code)
		}
		for _, payload := range []any{
			performatives.TaskReject{ReasonCode: traits.Code, ReasonText: "no", RetryAfter: time.Second},
			performatives.Failure{ErrorCode: traits.Code, ErrorText: "no", RetryAfter: time.Second},
			performatives.NotUnderstood{ReasonCode: traits.Code, ReasonText: "no"},
		} {
			near, far := open(t), open(t)
			asked, err := performatives.New(performatives.Envelope{
				ID: "m", Sender: "Eddy", Receiver: "Worker", Timestamp: noon, Payload: performatives.TaskRequest{TaskType: "t"},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := accept(t, far, write(t, near, asked))
			answer, err := got.Reply(far.opts.Stamper.Stamp(), payload)
			if err != nil {
				t.Fatal(err)
			}
			text := write(t, far, answer)
			if word := jsonscan.Text(jsonscan.Member(jsonscan.Member([]byte(text), memPayload), "error_code")); word != want(answer.Performative()) {
				t.Errorf("%s is written as %q: %s", traits.Code, word, text)
			}
			back := accept(t, near, text)
			r := back.AsRefusal()
			sent, _, _ := performatives.RefusalIn(payload)
			if r.RetryAfter != sent.RetryAfter || strings.Contains(text, `"retry_after_ms":1000`) != (sent.RetryAfter != 0) {
				t.Errorf("%v came back as %v: %s", sent.RetryAfter, r.RetryAfter, text)
			}
			if r.Code != traits.Code || r.Text != "no" || back.Performative() != answer.Performative() || back.InReplyTo() != "m" {
				t.Errorf("%s of %s came back as %s of %s: %s", traits.Code, answer.Performative(), r.Code, back.Performative(), text)
			}
		}
	}
	for _, word := range []string{"E001", "E002", "E003", "E004", "E005", "E006", "E007", "E008", "E999"} {
		if !words[word] {
			t.Errorf("no code is written as %s", word)
		}
		delete(words, word)
	}
	if len(words) > 0 {
		t.Errorf("not of rossnet §7: %v", words)
	}
}

// The answers to a request of the peer have its subtask_id and its correlation_id, which the
// request then ends.
func TestAnswersOfTheSwarm(t *testing.T) {
	c := open(t)
	request := accept(t, c, frameOf(kindAssign, "A", "Eddy", "c-1", `{"subtask_id":"s-1","task_name":"work","input_data":{}}`))
	for _, answer := range []struct {
		act     performatives.Performative
		payload any
		kind    string
		open    int
	}{
		{performatives.ActTaskAccept, performatives.TaskAccept{}, kindAcknowledge, 1},
		{performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess}, kindComplete, 0},
	} {
		m, err := request.ReplyFrom("Eddy", performatives.Stamp{ID: "own", Time: noon}, answer.act, answer.payload)
		if err != nil {
			t.Fatal(err)
		}
		frame := []byte(write(t, c, m))
		header, payload := jsonscan.Member(frame, memHeader), jsonscan.Member(frame, memPayload)
		if kind := jsonscan.Text(jsonscan.Member(header, headerNames[memKind])); kind != answer.kind || jsonscan.Text(jsonscan.Member(header, headerNames[memCorrelation])) != "c-1" || jsonscan.Text(jsonscan.Member(payload, "subtask_id")) != "s-1" {
			t.Errorf("%s is %s", answer.act, frame)
		}
		if c.calls.Len() != answer.open {
			t.Errorf("after %s, %d requests are open", answer.act, c.calls.Len())
		}
	}
}

// A TASK_FAIL without a sender is that of the agent of the path, whose task it ends.
func TestFailureOfTheAgentOfThePath(t *testing.T) {
	c := open(t, func(o *wire.CodecOptions) { o.Path = PathPrefix + "A" })
	m, err := performatives.New(performatives.Envelope{ID: "m", Timestamp: noon, Sender: "Eddy", Receiver: "A", Payload: performatives.TaskRequest{TaskType: "work"}})
	if err != nil {
		t.Fatal(err)
	}
	sent := []byte(write(t, c, m))
	payload := fmt.Sprintf(`{"subtask_id":%s,"error_code":"E004"}`, jsonscan.Member(jsonscan.Member(sent, memPayload), "subtask_id"))
	all := c.items(strings.Replace(frameOf(kindFail, "A", "Eddy", "c", payload), `"sender_id":"A",`, "", 1))
	if len(all) != 2 || all[0].Err == nil || all[1].Message == nil || all[1].Message.Sender() != "A" || all[1].Message.InReplyTo() != "m" || c.asked.Len() != 0 {
		t.Errorf("%+v, %d open", all, c.asked.Len())
	}
}

// Two agents of this node ask a peer by requests with the same id. Each gets the answer to its own,
// withdraws its own, and may repeat its own.
func TestEqualIDsOfTwoAgents(t *testing.T) {
	c := open(t)
	subtask := func(agent performatives.AgentID, id performatives.MessageID, about string, payload any) string {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{
			ID: id, Sender: agent, Receiver: "A", ConversationID: "talk-" + performatives.ConversationID(agent), InReplyTo: about, Timestamp: noon, Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		return jsonscan.Text(jsonscan.Member(jsonscan.Member([]byte(write(t, c, m)), memPayload), "subtask_id"))
	}
	ask := performatives.TaskRequest{TaskType: "work"}
	eddys, adas := subtask("Eddy", "1", "", ask), subtask("Ada", "1", "", ask)
	if eddys == "" || adas == "" || eddys == adas {
		t.Fatalf("Eddy has asked for the subtask %q, Ada for %q", eddys, adas)
	}
	for agent, own := range map[performatives.AgentID]string{"Eddy": eddys, "Ada": adas} {
		if got := subtask(agent, "c-"+performatives.MessageID(agent), "1", performatives.Cancel{}); got != own {
			t.Errorf("%s withdraws the subtask %q, and has asked for %q", agent, got, own)
		}
		m := accept(t, c, frameOf(kindComplete, "A", string(agent), "x", fmt.Sprintf(`{"subtask_id":%q,"output_data":{}}`, own)))
		if m.Receiver() != agent || m.InReplyTo() != "1" || m.ConversationID() != "talk-"+performatives.ConversationID(agent) {
			t.Errorf("the answer for %s is %+v", agent, m.Envelope())
		}
	}
	eddys, adas = subtask("Eddy", "2", "", ask), subtask("Ada", "2", "", ask)
	accept(t, c, frameOf(kindComplete, "A", "Eddy", "x", fmt.Sprintf(`{"subtask_id":%q,"output_data":{}}`, eddys)))
	if again := subtask("Ada", "2", "", ask); again != adas {
		t.Errorf("Ada repeats her request as the subtask %q, and had asked for %q", again, adas)
	}
}

// An answer that the codec itself makes says when to come again. What a peer writes that is no hint
// stays as it came.
func TestRetryAfter(t *testing.T) {
	c := open(t)
	in := c.items(frameOf(kindAssign, "A", "B", "c", `{"subtask_id":"018bcfe5-6800-7000-8000-000000000001","task_name":"t","input_data":{}}`))[0]
	out := wiretest.Refuse(t, c, in, &performatives.Refusal{Code: performatives.CodeBusy, RetryAfter: time.Second})
	if got := jsonscan.Member(jsonscan.Member(out, "payload"), performatives.MemberRetryAfter); string(got) != "1000" {
		t.Errorf("got %s", out)
	}
	frame := frameOf(kindFail, "A", "B", "c", `{"subtask_id":"018bcfe5-6800-7000-8000-000000000001","error_code":"E009","error_message":"x","is_retryable":true,"retry_after_ms":1.5}`)
	m := accept(t, open(t), frame)
	if r := m.AsRefusal(); r.RetryAfter != 0 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(exact(t, []byte(frame)), exact(t, []byte(write(t, open(t), m)))); diff != "" {
		t.Errorf("-came +went:\n%s", diff)
	}
}

// A refusal has the words of RossNet, also if another TASK_ASSIGN has taken the subtask_id of the
// one that it answers.
func TestRefusalOfATakenSubtask(t *testing.T) {
	c := open(t)
	first := accept(t, c, frameOf(kindAssign, "A", "B", "c", task))
	accept(t, c, frameOf(kindAssign, "A", "B", "d", task))
	refusal := first.Refuse("B", performatives.Stamp{ID: "no", Time: time.Unix(1, 0)}, performatives.CodeIncapable, "nobody answers TASK_REQUEST")
	if out := write(t, c, refusal); !strings.Contains(out, "nobody answers TASK_ASSIGN") {
		t.Error(out)
	}
}

// A task takes the place of another one of its agent with its subtask_id.
func TestSubtaskIsTakenAgain(t *testing.T) {
	c := open(t)
	for _, correlation := range []string{"c-1", "c-2"} {
		accept(t, c, frameOf(kindAssign, "A", "B", correlation, `{"subtask_id":"s","task_name":"t","input_data":{}}`))
	}
	if c.calls.Len() != 1 || c.calls.subtasks.Len() != 1 || c.calls.correlations.Len() != 1 {
		t.Errorf("%d requests, %d subtasks, %d flows", c.calls.Len(), c.calls.subtasks.Len(), c.calls.correlations.Len())
	}
}

// To a client in the field the recipient is in its member, the other one is null, and there is no
// token.
func TestHeaderOfTheField(t *testing.T) {
	c := open(t)
	m := accept(t, c, `{"mcp_header":{"message_id":"m-1","correlation_id":"c","sender_id":"A","target_agent_id":"B","target_service":null,`+
		`"timestamp":"2025-01-30T10:30:00Z","version":"1.0","message_type":"TASK_ASSIGN"},"payload":{"subtask_id":"s","task_name":"t","input_data":{}}}`)
	answer, err := m.ReplyFrom("B", performatives.Stamp{ID: "answer", Time: noon}, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess})
	if err != nil {
		t.Fatal(err)
	}
	header := jsonscan.Member([]byte(write(t, c, answer)), memHeader)
	for name, want := range map[string]string{"target_agent_id": `"A"`, "target_service": "null", "recipient_id": "", "auth_token": ""} {
		if got := string(jsonscan.Member(header, name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The answer to a frame that is no message is from the agent or the service for which the frame
// was, in each form of the header, if that can be read. Else it is from the router.
func TestSenderOfTheAnswerToNoMessage(t *testing.T) {
	long := strings.Repeat("x", performatives.MaxIDLength+1)
	for to, want := range map[string]string{
		`"recipient_id":"B"`:                          "B",
		`"target_agent_id":"B","target_service":null`: "B",
		`"target_agent_id":null,"target_service":"S"`: "S",
		`"recipient_id":"B","target_agent_id":"C"`:    "B",
		`"recipient_id":"` + long + `"`:               "MCP_ROUTER",
		`"recipient_id":7`:                            "MCP_ROUTER",
	} {
		for name, frame := range map[string]string{
			"a wrong version":  `{"mcp_header":{"sender_id":"A",` + to + `,"version":"2.0","message_type":"PING","timestamp":"2025-01-30T10:30:00Z"},"payload":{}}`,
			"a broken payload": `{"mcp_header":{"sender_id":"A",` + to + `,"version":"1.0","message_type":"PING","timestamp":"2025-01-30T10:30:00Z"},"payload":{`,
		} {
			all := open(t).items(frame)
			if len(all) != 1 || all[0].Err == nil {
				t.Fatalf("%s: %+v", name, all)
			}
			if from := jsonscan.Text(jsonscan.Member(jsonscan.Member(all[0].Answer, memHeader), "sender_id")); from != want {
				t.Errorf("%s, to %.40s: the answer is from %q, want %q", name, to, from, want)
			}
		}
	}
}
