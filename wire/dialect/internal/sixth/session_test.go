package sixth_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestVocabulary(t *testing.T) { wiretest.CheckWords(t, words, "TIRED", "BROKEN") }

func six(t *testing.T) []wire.Dialect {
	t.Helper()
	g := gateway.New(gateway.Options{})
	return []wire.Dialect{acl.Dialect{}, bridge.Dialect{}, g, rag.Dialect{}, rossnet.Dialect{}, pidgin{}}
}

// The server recognizes the sixth dialect among the others, answers a task in it, and refuses
// another with the word of the dialect. The names of services are those of all dialects.
func TestSession(t *testing.T) {
	const busy = "tired"
	there := &wiretest.Recorder{Answer: func(s *wire.Session, m *performatives.Message) error {
		task, err := performatives.PayloadAs[performatives.TaskRequest](m)
		switch {
		case err != nil:
			return nil //nolint:nilerr // a CANCEL
		case task.TaskType == busy:
			return &performatives.Refusal{Code: performatives.CodeBusy, Text: "later"}
		}
		answer, err := m.Reply(performatives.Stamp{ID: "a-" + m.ID(), Time: m.Timestamp()}, performatives.InformResult{
			Status: performatives.StatusSuccess, Details: task.Parameters,
		})
		if err != nil {
			return err
		}
		return s.Send(answer)
	}}
	server, err := wire.NewServer(wire.Options{Handler: there, Dialects: six(t), Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	near, far := wiretest.Pipe()
	if err := server.Admit(far.Peer()); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(far, nil) }()
	var here wiretest.Recorder
	client, err := wire.Connect(near, wire.Options{Handler: &here, Dialects: []wire.Dialect{pidgin{}}})
	if err != nil {
		t.Fatal(err)
	}
	for id, task := range map[performatives.MessageID]string{"1": "echo", "2": busy} {
		m, err := performatives.New(performatives.Envelope{
			ID: id, Sender: "A", Receiver: "B", ConversationID: performatives.ConversationID("c-" + id), Timestamp: wire.SystemStamper{}.Stamp().Time,
			Payload: performatives.TaskRequest{TaskType: task, Parameters: performatives.ContentOf(map[string]int{"n": 1})},
		})
		if err == nil {
			err = client.Send(m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range here.Await(t, 2) {
		switch {
		case m.ConversationID() == "c-1" && m.Performative() == performatives.ActInformResult && m.InReplyTo() == "1":
		case m.ConversationID() == "c-2" && m.AsRefusal() != nil && m.AsRefusal().Code == performatives.CodeBusy && m.AsRefusal().Text == "later":
		default:
			t.Errorf("got %+v", m.Envelope())
		}
	}
	session := there.Session(t, 0)
	if session.Dialect() != "pidgin" {
		t.Errorf("the session speaks %q", session.Dialect())
	}
	var services []string
	for _, name := range session.Services() {
		services = append(services, string(name))
	}
	if all := strings.Join(services, " "); all != "MCP_ROUTER MCP_DISCOVERY EVERYBODY" {
		t.Errorf("the services are %s", all)
	}
	if err := server.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	here.AwaitEnd(t, 1)
}

// Each of the six recognizes its own frames only.
func TestRecognizes(t *testing.T) {
	for own, frame := range map[string]string{
		"acl":     `{"performative":"INFORM","sender":{"agent_id":"a"}}`,
		"bridge":  `{"message_type":"request","sender_id":"a"}`,
		"gateway": `{"id":"1","mcp_payload":{}}`,
		"rag":     `{"type":"X","sender":"a","receiver":"b","trace_id":"t"}`,
		"rossnet": `{"mcp_header":{},"payload":{}}`,
		"pidgin":  `{"verb":"do","id":"1","from":"A","to":"B","what":{"task":"x"}}`,
	} {
		for _, d := range six(t) {
			if got := d.Recognizes([]byte(frame)); got != (d.Name() == own) {
				t.Errorf("%s recognizes a frame of %s: %t", d.Name(), own, got)
			}
		}
	}
}

// A faulty frame is refused with its field, and a request after its CANCEL is not served.
func TestRefusals(t *testing.T) {
	c, err := pidgin{}.Open(wire.CodecOptions{Local: "hub", Stamper: wire.SystemStamper{}, MaxBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ frame, want string }{
		{`{"verb":"do"`, `at byte 12: want a comma or the end of the object, got the end`},
		{`{"verb":"sing","id":"1"}`, `verb: want do, done, cannot or stop, got \"sing\"`},
		{`{"verb":"do","id":"1","from":"A","to":"B","what":{"task":1}}`, `what.task: want a non-empty string, got 1`},
		{`{"verb":"do","id":"1","from":"","to":"B","what":{"task":"x"}}`, `from: `},
		{`{"verb":"stop","id":"7","from":"A","to":"B","what":{}}`, ``},
		{`{"verb":"do","id":"7","from":"A","to":"B","what":{"task":"x"}}`, `the request was cancelled`},
	} {
		c.Decode([]byte(tt.frame), func(in wire.Inbound) {
			if (tt.want == "") != (in.Message != nil) || !strings.Contains(string(in.Answer), `"text":"`+tt.want) && tt.want != "" {
				t.Errorf("%s is answered by %s, want %s", tt.frame, in.Answer, tt.want)
			}
		})
	}
}
