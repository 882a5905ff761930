package acl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

const ideRequest = `{"conversation_id":"conv-1","performative":"REQUEST","ontology":"elizaos:ide:explain_code",` +
	`"payload":{"code_snippet":"x=1"},"sender":"VSCode-User","receiver":"jules","timestamp":"2025-01-30T10:30:00Z"}`

func decode(t testing.TB, text string) *performatives.Message {
	t.Helper()
	m, err := newCodec(t, wire.CodecOptions{Stamper: fixed(stamp)}).Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fixed is a Stamper that says the same every time, which is enough for one message.
type fixed performatives.Stamp

func (f fixed) Stamp() performatives.Stamp { return performatives.Stamp(f) }

func encodeAs(t testing.TB, m *performatives.Message, style Style) string {
	t.Helper()
	out, err := newCodec(t, wire.CodecOptions{}).AppendAs([]byte("before "), m, style)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(out), "before ")
}

func checkMeaning(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(meaning(t, []byte(want)), meaning(t, []byte(got))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReplyInTheAskersForm(t *testing.T) {
	m := decode(t, ideRequest)
	if m.ID() != stamp.ID {
		t.Errorf("id %q, want the Stamper's", m.ID())
	}
	accept, err := m.ReplyFrom("Jules", performatives.Stamp{ID: "a-2", Time: stamp.Time}, performatives.ActTaskAccept, performatives.TaskAccept{Comments: "on it"})
	if err != nil {
		t.Fatal(err)
	}
	checkMeaning(t, `{"message_id":"a-2","conversation_id":"conv-1","performative":"ACCEPT","in_reply_to":"answer-1",
		"sender":"jules","receiver":"vscode-user","timestamp":"2025-01-30T10:30:01Z",
		"ontology":"elizaos:ontology:general/task_acceptance","payload":{"status":"accepted","comments":"on it"}}`,
		encodeAs(t, accept, StyleOf(m)))
	checkMeaning(t, `{"mcp_version":"0.1.0","message_id":"a-2","conversation_id":"conv-1","performative":"TASK_ACCEPT","in_reply_to":"answer-1",
		"sender":{"agent_id":"Jules"},"receiver":{"agent_id":"VSCode-User"},"timestamp":"2025-01-30T10:30:01Z","language":"application/json",
		"ontology":"elizaos:ontology:general/task_acceptance","payload":{"status":"accepted","comments":"on it"}}`,
		encodeAs(t, accept, Spec))
}

func TestRequestBetweenStyles(t *testing.T) {
	checkMeaning(t, `{"mcp_version":"0.1.0","message_id":"answer-1","conversation_id":"conv-1","performative":"TASK_REQUEST",
		"sender":{"agent_id":"VSCode-User"},"receiver":{"agent_id":"jules"},"timestamp":"2025-01-30T10:30:00Z","language":"application/json",
		"ontology":"elizaos:ide:explain_code","payload":{"task_type":"explain_code","task_parameters":{"code_snippet":"x=1"}}}`,
		encodeAs(t, decode(t, ideRequest), Spec))
}

// A copy of a message is written from its fields, not as the original came.
func TestCopyIsWrittenAnew(t *testing.T) {
	e := decode(t, ideRequest).Envelope()
	e.Sender, e.Priority = "Eddy", performatives.Urgent
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	checkMeaning(t, `{"conversation_id":"conv-1","performative":"REQUEST","ontology":"elizaos:ide:explain_code",
		"payload":{"code_snippet":"x=1","priority":"urgent"},"sender":"Eddy","receiver":"jules","timestamp":"2025-01-30T10:30:00Z"}`,
		encodeAs(t, m, IDE))
}

// The synonym that a message came with names its act only.
func TestCopyOfAnotherActLosesTheSynonym(t *testing.T) {
	const text = `{"mcp_version":"0.1.0","message_id":"m","performative":"%","sender":{"agent_id":"a"},"language":"en","timestamp":"2025-01-30T10:30:00Z","payload":{}}`
	e := decode(t, strings.Replace(text, "%", "NOTIFY", 1)).Envelope()
	e.Performative = performatives.ActConfirm
	m, err := performatives.New(e)
	if err != nil {
		t.Fatal(err)
	}
	checkMeaning(t, strings.Replace(text, "%", "CONFIRM", 1), encodeAs(t, m, Spec))
}

func TestRequestOfFIPAHasNoNameInTheStyleIDE(t *testing.T) {
	m := decode(t, strings.NewReplacer(`"VSCode-User"`, `{"agent_id":"VSCode-User"},"message_id":"m-1"`).Replace(ideRequest))
	if m.Performative() != performatives.ActRequest {
		t.Fatalf("act %s, want FIPA's", m.Performative())
	}
	if got := decode(t, encodeAs(t, m, IDE)); got.Performative() != performatives.ActRequest {
		t.Errorf("became %s", got.Performative())
	}
}

func TestRegisteredTypeBeatsTheBarePayload(t *testing.T) {
	type explain struct {
		Snippet string `json:"code_snippet"`
	}
	var registry performatives.Registry
	if err := performatives.Register[explain](&registry, performatives.ActTaskRequest, "elizaos:ide:explain_code"); err != nil {
		t.Fatal(err)
	}
	c := newCodec(t, wire.CodecOptions{Registry: &registry})
	text := strings.Replace(ideRequest, `"x=1"`, `"x=1","unknown":[1.0]`, 1)
	m, err := c.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(explain{"x=1"}, m.Payload()); diff != "" {
		t.Error(diff)
	}
	checkMeaning(t, text, encodeAs(t, m, IDE)) // even what the type has no field for
}

func TestPriorityIsWritten(t *testing.T) {
	for _, tt := range []struct {
		name, payload, want string
		p                   performatives.Priority
	}{
		{"added", `{"a":1}`, `{"priority":"high","a":1}`, performatives.High},
		{"added to nothing", ` { } `, `{"priority":"low"}`, performatives.Low},
		{"said already", `{"priority":4}`, `{"priority":4}`, performatives.High},
		{"said otherwise", `{"a":1, "priority" : 4 ,"b":2}`, `{"a":1,"priority":"urgent","b":2}`, performatives.Urgent},
		{"normal", `{"priority":"x"}`, `{"priority":"x"}`, performatives.Normal},
		{"the application's own", `{"priority":"P1"}`, `{"priority":"P1"}`, performatives.High},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := performatives.New(performatives.Envelope{
				ID: "m", Timestamp: stamp.Time, Sender: "a", Performative: performatives.ActInform,
				Payload: performatives.Raw(tt.payload), Priority: tt.p,
			})
			if err != nil {
				t.Fatal(err)
			}
			checkMeaning(t, `{"mcp_version":"0.1.0","message_id":"m","performative":"INFORM","sender":{"agent_id":"a"},
				"language":"application/json","timestamp":"2025-01-30T10:30:01Z","payload":`+tt.want+`}`, encodeAs(t, m, Spec))
		})
	}
}

func TestTaskStatusGoesOutInLowerCase(t *testing.T) {
	const text = `{"mcp_version":"0.1.0","message_id":"m","performative":"INFORM_RESULT","sender":{"agent_id":"a"},"in_reply_to":"r",` +
		`"language":"application/json","timestamp":"2025-01-30T10:30:01Z","payload":{"task_status":"%","n":1.0}}`
	for _, status := range []string{"PARTIAL_SUCCESS", "Partial_Success", "partial_success"} {
		out := encodeAs(t, decode(t, strings.Replace(text, "%", status, 1)), Spec)
		if !strings.Contains(out, `"task_status":"partial_success","n":1.0}`) {
			t.Errorf("%s is written in %s", status, out)
		}
	}
}

func TestEncodeRefusesWhatIsNoJSON(t *testing.T) {
	base := performatives.Envelope{ID: "m", Timestamp: stamp.Time, Sender: "a", Performative: performatives.ActInform}
	bad := map[string]func(*performatives.Envelope){
		"payload":  func(e *performatives.Envelope) { e.Payload = performatives.Raw(`{"a":1},"sender":"x"`) },
		"list":     func(e *performatives.Envelope) { e.Payload = []int{1} },
		"UTF-8":    func(e *performatives.Envelope) { e.Payload = performatives.Raw("{\"a\":\"\xff\"}") },
		"channel":  func(e *performatives.Envelope) { e.Payload = struct{ C chan int }{} },
		"budget":   func(e *performatives.Envelope) { e.Budget = performatives.RawContent([]byte(`{`)) },
		"metadata": func(e *performatives.Envelope) { e.Metadata = performatives.Members{"x": []byte(`1,"y":2`)} },
		"version":  func(e *performatives.Envelope) { e.Metadata = performatives.Members{"mcp_version": []byte(`}`)} },
	}
	for name, spoil := range bad {
		e := base
		spoil(&e)
		m, err := performatives.New(e)
		if err != nil {
			continue // New sees it already
		}
		if out, err := newCodec(t, wire.CodecOptions{}).Append([]byte("before"), m); err == nil || string(out) != "before" {
			t.Errorf("%s: got %q, error %v", name, out, err)
		}
	}
}

// Metadata that another dialect knows under a name of ours is not written: it
// would be read as something else.
func TestMetadataNeverPosesAsAField(t *testing.T) {
	m, err := performatives.New(performatives.Envelope{
		ID: "m", Timestamp: stamp.Time, Sender: "a", Performative: performatives.ActInform,
		Metadata: performatives.Members{"in_reply_to": []byte(`"x"`), "sender": []byte(`{"agent_id":"Mallory"}`), "receiver": []byte(`"b"`), "z": []byte(`1`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	checkMeaning(t, `{"mcp_version":"0.1.0","message_id":"m","performative":"INFORM","sender":{"agent_id":"a"},
		"language":"application/json","timestamp":"2025-01-30T10:30:01Z","payload":{},"z":1}`, encodeAs(t, m, Spec))
}

// The receiver * of an IDE client is the node for work, and all agents for news. It is written
// again.
func TestReceiverThatNamesNone(t *testing.T) {
	for act, want := range map[string]performatives.AgentID{"REQUEST": "system", "NOTIFY": "", "INFORM": ""} {
		text := strings.Replace(strings.Replace(ideRequest, "jules", "*", 1), "REQUEST", act, 1)
		m := decode(t, text)
		if m.Receiver() != want {
			t.Errorf("%s is for %q, want %q", act, m.Receiver(), want)
		}
		again := encodeAs(t, m, IDE)
		if !strings.Contains(again, `"receiver":"*"`) {
			t.Errorf("written as %s", again)
		}
		moved := m.Readdressed(m.Sender(), "Jules")
		if again = encodeAs(t, moved, IDE); !strings.Contains(again, `"receiver":"Jules"`) {
			t.Errorf("for another receiver, written as %s", again)
		}
	}
	if m := decode(t, `{"performative":"QUERY_IF","message_id":"1","sender":{"agent_id":"a"},"receiver":{"agent_id":"*"},"timestamp":"2025-01-30T10:30:00Z","payload":{"condition":{}}}`); m.Receiver() != "*" {
		t.Errorf("in the style of the text, * is %q", m.Receiver())
	}
}

// The parameters alone are written if the ontology names the task, and nothing else is said of it.
func TestChangedBareRequest(t *testing.T) {
	m := decode(t, ideRequest)
	task := m.Payload().(performatives.TaskRequest)
	for name, tt := range map[string]struct {
		change func(*performatives.TaskRequest)
		bare   bool
	}{
		"parameters":  {func(p *performatives.TaskRequest) { p.Parameters = performatives.RawContent([]byte(`{"own":1}`)) }, true},
		"type":        {func(p *performatives.TaskRequest) { p.TaskType = "another" }, false},
		"description": {func(p *performatives.TaskRequest) { p.Description = "d" }, false},
	} {
		p := task
		tt.change(&p)
		changed, err := m.With(func(e *performatives.Envelope) { e.Payload = p })
		if err != nil {
			t.Fatal(err)
		}
		if out := encodeAs(t, changed, IDE); strings.Contains(out, `"task_type"`) == tt.bare {
			t.Errorf("another %s: %s", name, out)
		}
	}
}

// A group is the receiver of that name; the sender is an agent (addenda §9).
func TestGroupAsReceiver(t *testing.T) {
	c := New(wire.CodecOptions{})
	const frame = `{"message_id":"m","performative":"INFORM","sender":{"agent_id":"Eddy"},"receiver":{"group":"Code Review"},"payload":{}}`
	m, err := c.Decode([]byte(frame))
	if err != nil || m.Receiver() != "group:Code Review" {
		t.Fatalf("got %v, %v", m, err)
	}
	out, err := c.Append(nil, m)
	if err != nil || !strings.Contains(string(out), `"receiver":{"agent_id":"group:Code Review","group":"Code Review"}`) {
		t.Errorf("got %s, %v", out, err)
	}
	if _, err := c.Decode([]byte(strings.Replace(frame, `"agent_id":"Eddy"`, `"group":"Eddy"`, 1))); err == nil {
		t.Error("a group is a sender")
	}
}
