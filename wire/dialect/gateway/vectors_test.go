package gateway

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// vector is one line of testdata: a message as it arrives and what it must show.
type vector struct {
	Name    string
	Valid   bool
	Message json.RawMessage
	Want    struct {
		Namespace    performatives.AgentID
		Performative string
		TaskType     string `json:"task_type"`
		Code         string
	}
}

func vectors(t testing.TB) (vs []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/gateway.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var v vector
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	return vs
}

// one decodes a frame that holds one thing. After an introduction the codec may ask for tools.
func one(t testing.TB, c *codec, frame string) wire.Inbound {
	t.Helper()
	var all []wire.Inbound
	c.Decode([]byte(frame), func(in wire.Inbound) {
		if len(all) == 0 || !strings.Contains(string(in.Answer), `"method":"tools/list"`) {
			all = append(all, in)
		}
	})
	if len(all) != 1 {
		t.Fatalf("%d things in %s", len(all), frame)
	}
	return all[0]
}

// reply is an envelope that we write.
type reply struct {
	ID          string                     `json:"id"`
	Source      string                     `json:"source"`
	Correlation json.RawMessage            `json:"correlation_id"`
	Error       *wire.ErrorObject          `json:"error"`
	Metadata    map[string]json.RawMessage `json:"metadata"`
	Token       string                     `json:"auth_token"`
	Payload     struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int
			Message string
			Data    json.RawMessage
		} `json:"error"`
	} `json:"mcp_payload"`
}

func parse(t testing.TB, frame []byte) (r reply) {
	t.Helper()
	if err := json.Unmarshal(frame, &r); err != nil {
		t.Fatalf("%v in %s", err, frame)
	}
	return r
}

func TestVectors(t *testing.T) {
	d := New(Options{})
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			if got := d.Recognizes(v.Message); !got && v.Valid {
				t.Error("not recognized")
			}
			in := one(t, open(t, Options{}, wire.CodecOptions{}), string(v.Message))
			if v.Valid {
				checkShows(t, in, v)
				return
			}
			r := parse(t, in.Answer)
			if in.Err == nil || r.Error == nil || r.Error.Code != v.Want.Code || r.Payload.Error == nil {
				t.Errorf("got %v, answered %s", in.Err, in.Answer)
			}
		})
	}
}

func checkShows(t *testing.T, in wire.Inbound, v vector) {
	t.Helper()
	if in.Err != nil || in.Token != "t" {
		t.Fatalf("error %v, token %q", in.Err, in.Token)
	}
	if m := in.Message; m == nil {
		if v.Want.Performative != "" || !json.Valid(in.Answer) {
			t.Errorf("no message, answer %s", in.Answer)
		}
		return
	}
	m := in.Message
	if v.Want.Performative != "" && m.Performative().String() != v.Want.Performative {
		t.Errorf("performative %s", m.Performative())
	}
	if v.Want.Namespace != "" && m.Receiver() != v.Want.Namespace {
		t.Errorf("namespace %s", m.Receiver())
	}
	if task, ok := m.Payload().(performatives.TaskRequest); v.Want.TaskType != "" && (!ok || task.TaskType != v.Want.TaskType) {
		t.Errorf("payload %+v", m.Payload())
	}
}

// textBlocks are the replies that wire's text shows, and what has to happen for each.
var textBlocks = []struct {
	name, frame, answer, want string
	options                   Options
}{
	{
		name:    "message exchange, capability discovery and version negotiation",
		options: Options{Name: "mcp-gateway", Version: "2.1.0", BinaryProtocol: true, PerMessageAuth: true, Rate: wire.Rate{Messages: 100, Window: 60e9}},
		frame: `{"id":"msg-001","timestamp":"2024-01-15T10:30:45.123Z","source":"local-router","mcp_payload":{"jsonrpc":"2.0",` +
			`"method":"initialize","params":{"protocolVersion":"1.0","supportedVersions":["1.0","1.1","2.0"]},"id":"init-001"}}`,
		answer: `{}`,
		want: `{"source":"gateway","correlation_id":"msg-001","mcp_payload":{"jsonrpc":"2.0","result":{"protocolVersion":"1.0",
			"serverInfo":{"name":"mcp-gateway","version":"2.1.0","supportedVersions":["1.0","1.1"]},
			"capabilities":{"tools":true,"resources":true,"streaming":false,"binary_protocol":true,"per_message_auth":true,
			"rate_limiting":{"enabled":true,"default_limit":100,"window":"1m"}}},"id":"init-001"}}`,
	},
	{
		name: "complete request/response flow",
		frame: `{"id":"req-001","timestamp":"2024-01-15T10:30:45.789Z","source":"local-router","target_namespace":"system","auth_token":"Bearer token123",` +
			`"mcp_payload":{"jsonrpc":"2.0","method":"tools/list","id":"tools-001"}}`,
		answer: `{"capabilities":{"actions":[{"name":"calculator","description":"Perform calculations"}]}}`,
		want: `{"source":"gateway","correlation_id":"req-001","mcp_payload":{"jsonrpc":"2.0","result":{"tools":[
			{"name":"calculator","description":"Perform calculations"}]},"id":"tools-001"}}`,
	},
	{
		name: "error response example, with the error object of addenda §5",
		frame: `{"id":"req-002","timestamp":"2024-01-15T10:30:45.789Z","source":"local-router",` +
			`"mcp_payload":{"jsonrpc":"2.0","method":"unknown/method","id":"unknown-001"}}`,
		want: `{"source":"gateway","correlation_id":"req-002","error":{"code":"NOT_FOUND","message":"Method not found"},
			"mcp_payload":{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found","data":{"method":"unknown/method"}},"id":"unknown-001"}}`,
	},
}

// What wire's text shows comes out as it shows it, but for ids and timestamps. A reply
// has a correlation_id (addenda §5).
func TestTheTextsReplies(t *testing.T) {
	for _, b := range textBlocks {
		t.Run(b.name, func(t *testing.T) {
			c := open(t, b.options, wire.CodecOptions{})
			in := one(t, c, b.frame)
			out := in.Answer
			if in.Message != nil {
				out = answered(t, c, in, "gateway", performatives.ActInformCapabilities, b.answer)
			}
			got := decoded(t, out).(map[string]any)
			if id, ok := got["id"].(string); !ok || id == "" {
				t.Errorf("id %v", got["id"])
			}
			if at, ok := got["timestamp"].(string); !ok || len(at) != len("2024-01-15T10:30:45.234Z") || at[19] != '.' {
				t.Errorf("timestamp %v", got["timestamp"])
			}
			delete(got, "id")
			delete(got, "timestamp")
			if diff := cmp.Diff(decoded(t, []byte(b.want)), any(got)); diff != "" {
				t.Errorf("(-text +ours):\n%s", diff)
			}
		})
	}
}

// The error of a rate limit is that of the text's Error Response Format.
func TestRateLimit(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{})
	in := one(t, c, toolCall(`"x"`))
	out := parse(t, wiretest.Refuse(t, c, in, &wire.LimitError{Limit: wire.Rate{Messages: 100, Window: 60e9}, RetryAfter: 45e9}))
	want := &wire.ErrorObject{Code: "RATE_LIMIT_EXCEEDED", Message: "rate limit exceeded", Details: &wire.ErrorDetails{Limit: 100, Window: "1m", RetryAfter: 45}}
	if diff := cmp.Diff(want, out.Error); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	data := `{"reason_code":"rate_limited","limit":100,"window":"1m","retry_after":45}`
	if e := out.Payload.Error; e.Code != -32000 || string(e.Data) != data {
		t.Errorf("got %+v, data %s", e, e.Data)
	}
}

func toolCall(id string) string {
	return `{"id":"e","timestamp":"2024-01-15T10:30:45.789Z","source":"peer","mcp_payload":{"jsonrpc":"2.0","method":"tools/call",` +
		`"params":{"name":"a","_meta":{"progressToken":` + id + `}},"id":` + id + `}}`
}

// answered encodes the answer of an agent.
func answered(t testing.TB, c *codec, in wire.Inbound, from performatives.AgentID, act performatives.Performative, payload string) []byte {
	t.Helper()
	p, err := (*performatives.Registry)(nil).DecodePayload(act, "", json.RawMessage(payload))
	if err != nil {
		t.Fatal(err)
	}
	m, err := in.Message.ReplyFrom(from, performatives.Stamp{ID: "answer", Time: epoch}, act, p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := wiretest.Encode(t, c, m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decoded is JSON as Go values, with numbers as their text.
func decoded(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// The data of a JSON-RPC error say when to come again.
func TestRetryAfter(t *testing.T) {
	why := &performatives.Refusal{Code: performatives.CodeBusy, RetryAfter: time.Second}
	client, server := open(t, Options{}, wire.CodecOptions{Initiator: true}), open(t, Options{}, wire.CodecOptions{})
	for _, refuse := range []func(in wire.Inbound) []byte{
		func(in wire.Inbound) []byte { return wiretest.Refuse(t, server, in, why) },
		func(in wire.Inbound) []byte {
			out, err := wiretest.Encode(t, server, in.Message.RefuseWith("Jules", performatives.Stamp{ID: "r", Time: epoch}, why))
			if err != nil {
				t.Fatal(err)
			}
			return out
		},
	} {
		asked, err := performatives.New(performatives.Envelope{
			ID: performatives.NewID(), Sender: "cli", Receiver: "Jules", Timestamp: epoch, Payload: performatives.TaskRequest{TaskType: "x"}, ReplyBy: epoch.Add(time.Minute),
		})
		if err != nil {
			t.Fatal(err)
		}
		frame, err := wiretest.Encode(t, client, asked)
		if err != nil {
			t.Fatal(err)
		}
		out := refuse(one(t, server, string(frame)))
		if e := parse(t, out).Payload.Error; string(e.Data) != `{"reason_code":"busy","retry_after_ms":1000}` {
			t.Errorf("got %+v, data %s", e, e.Data)
		}
		r := one(t, client, string(out)).Message.AsRefusal()
		if r.Code != performatives.CodeBusy || r.RetryAfter != time.Second || r.Act != performatives.ActTaskReject {
			t.Errorf("got %+v of %s", r, out)
		}
	}
}
