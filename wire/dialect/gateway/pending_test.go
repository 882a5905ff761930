package gateway

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// clock is a Stamper whose time the test sets.
type clock struct {
	counter
	ahead time.Duration
}

func (c *clock) Stamp() performatives.Stamp {
	s := c.counter.Stamp()
	s.Time = s.Time.Add(c.ahead)
	return s
}

func ask(t testing.TB, n int, payload acting) *performatives.Message {
	t.Helper()
	m, err := performatives.New(performatives.Envelope{
		ID: performatives.MessageID(fmt.Sprintf("%s-%d", payload.Act(), n)), ConversationID: performatives.ConversationID(fmt.Sprint("c-", n)),
		Sender: "Eddy", Receiver: "peer", Timestamp: epoch, Payload: payload,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Requests that a peer does not answer make room once nobody waits for them, and not
// before.
func TestRequestsExpire(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at, MaxPending: 2})
	send := func(n int) error {
		_, err := wiretest.Encode(t, c, ask(t, n, performatives.TaskRequest{TaskType: "a"}))
		return err
	}
	if err := errors.Join(send(1), send(2)); err != nil {
		t.Fatal(err)
	}
	at.ahead = defaultTimeout // the deadline: the answer may still come
	if err := send(3); !errors.Is(err, performatives.CodeBusy) {
		t.Errorf("got %v, want busy", err)
	}
	at.ahead = defaultTimeout + exchange.Linger + time.Second
	if err := send(4); err != nil {
		t.Error(err)
	}
	if n := c.requests.Len(); n != 1 {
		t.Errorf("%d requests are under way", n)
	}
}

// So do requests of the peer's that no handler has answered.
func TestCallsExpire(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at, MaxPending: 2})
	for i := range 3 {
		if in := one(t, c, toolCall(fmt.Sprint(i))); (in.Err == nil) != (i < 2) {
			t.Fatalf("%d: %v", i, in.Err)
		}
	}
	at.ahead = defaultTimeout + 2*exchange.Linger
	if in := one(t, c, toolCall("4")); in.Err != nil {
		t.Error(in.Err)
	}
	if n := c.calls.Len(); n != 1 {
		t.Errorf("%d calls are under way", n)
	}
}

// A call of a batch makes no room: its batch would never be complete.
func TestCallsOfABatchStay(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at, MaxPending: 1})
	first := one(t, c, `{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"s","mcp_payload":[{"jsonrpc":"2.0","id":1,"method":"a.b"}]}`)
	at.ahead = time.Hour
	if in := one(t, c, toolCall("4")); !errors.Is(in.Err, performatives.CodeBusy) {
		t.Errorf("got %v, want busy", in.Err)
	}
	if out := answered(t, c, first, "a", performatives.ActInformResult, `{"task_status":"success"}`); !strings.Contains(string(out), `"mcp_payload":[{`) {
		t.Errorf("answered by %s", out)
	}
}

// A peer that never answers what was cancelled, as MCP wants it, fills nothing.
func TestCancelledRequestsAreForgotten(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at, MaxPending: 100})
	for i := range 300 {
		at.ahead += time.Second
		for _, m := range []*performatives.Message{ask(t, i, performatives.TaskRequest{TaskType: "a"}), ask(t, i, performatives.Cancel{})} {
			if out, err := wiretest.Encode(t, c, m); err != nil || len(out) == 0 {
				t.Fatalf("wrote %q, %v", out, err)
			}
		}
	}
	if n := c.requests.Len(); n > 100 || c.parties.Len() != n || c.envelopes.Len() != n {
		t.Errorf("%d requests, %d parties, %d envelopes", n, c.parties.Len(), c.envelopes.Len())
	}
}

// What the connection cannot carry becomes an error that it can.
func TestAnswersThatAreTooLong(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{MaxBytes: 1 << 13})
	long := `{"task_status":"success","result_summary":"` + strings.Repeat("x", 1<<13) + `"}`
	out := answered(t, c, one(t, c, toolCall("1")), "a", performatives.ActInformResult, long)
	if r := parse(t, out); r.Payload.Error == nil || r.Payload.Error.Code != -32603 || r.Error == nil {
		t.Errorf("got %.200s", out)
	}
	var batch []wire.Inbound
	c.Decode([]byte(`{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"s","mcp_payload":[`+
		`{"jsonrpc":"2.0","id":1,"method":"a.b"},{"jsonrpc":"2.0","id":2,"method":"a.b"}]}`), func(in wire.Inbound) { batch = append(batch, in) })
	answered(t, c, batch[0], "a", performatives.ActInformResult, long)
	out = answered(t, c, batch[1], "a", performatives.ActInformResult, `{"task_status":"success"}`)
	if !strings.Contains(string(out), `"code":-32603`) || !strings.Contains(string(out), `"result"`) || c.held != 0 {
		t.Errorf("got %s, %d bytes held", out, c.held)
	}
	task := performatives.TaskRequest{TaskType: "a", Description: strings.Repeat("x", 1<<13)}
	if _, err := wiretest.Encode(t, c, ask(t, 1, task)); !errors.Is(err, performatives.CodeInvalidPayload) || c.requests.Len() != 0 {
		t.Errorf("got %v, %d requests", err, c.requests.Len())
	}
}

// What an agent says that is no JSON or no text is no frame either.
func TestAnswersThatCannotBeWritten(t *testing.T) {
	for name, details := range map[string]performatives.Content{
		"no JSON":  performatives.RawContent([]byte(`{"a":}`)),
		"no UTF-8": performatives.RawContent([]byte("{\"a\":\"\xff\"}")),
	} {
		c := open(t, Options{}, wire.CodecOptions{})
		in := one(t, c, toolCall("1"))
		m, err := in.Message.ReplyFrom("a", performatives.Stamp{ID: "m", Time: epoch}, performatives.ActInformResult,
			performatives.InformResult{Status: performatives.StatusSuccess, Details: details})
		if err != nil {
			t.Fatal(err)
		}
		out, err := wiretest.Encode(t, c, m)
		if r := parse(t, out); err != nil || r.Payload.Error == nil || string(r.Payload.ID) != "1" {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		task := performatives.TaskRequest{TaskType: "a", Parameters: details}
		if out, err := wiretest.Encode(t, c, ask(t, 1, task)); err == nil || len(out) > 0 || c.requests.Len() > 0 {
			t.Errorf("%s: wrote %s, %v", name, out, err)
		}
	}
}

// One end asks and cancels while the peer reports and answers.
func TestBothDirectionsAtOnce(t *testing.T) {
	const n = 2000
	c := open(t, Options{}, wire.CodecOptions{MaxPending: n})
	written := make(chan string, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(written)
		for i := range n {
			out, err := wiretest.Encode(t, c, ask(t, i, performatives.TaskRequest{TaskType: "a"}))
			if err != nil {
				t.Error(err)
				return
			}
			written <- string(parse(t, out).Payload.ID)
			if i%10 == 0 {
				if _, err := wiretest.Encode(t, c, ask(t, i, performatives.Cancel{})); err != nil {
					t.Error(err)
				}
			}
		}
	})
	ends := 0
	wg.Go(func() {
		take := func(in wire.Inbound) {
			if m := in.Message; m != nil && m.Performative() != performatives.ActStatusUpdate {
				ends++
			}
		}
		for id := range written {
			for _, payload := range []string{
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"progress":1,"total":2}}`,
				`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"no"}}`,
				`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`,
			} {
				c.Decode([]byte(`{"id":1,"timestamp":"2024-01-15T10:30:45Z","source":"peer","mcp_payload":`+payload+`}`), take)
			}
		}
	})
	wg.Wait()
	if ends != n {
		t.Errorf("%d of %d requests were answered", ends, n)
	}
}

// An answer has the further members of its envelope. One to a request that is not pending is not
// written.
func TestAnswersOfThePeer(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{})
	if _, err := c.Encode(nil, ask(t, 1, performatives.TaskRequest{TaskType: "a"})); err != nil {
		t.Fatal(err)
	}
	m := one(t, c, `{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"peer","metadata":{"x":1},"mcp_payload":{"jsonrpc":"2.0","id":1,"result":{"y":2}}}`).Message
	if m == nil {
		t.Fatal("no message")
	}
	if v, _ := m.Metadata("x"); string(v) != "1" || m.Performative() != performatives.ActInformResult {
		t.Errorf("got %+v", m.Envelope())
	}
	late, err := ask(t, 2, performatives.TaskRequest{TaskType: "a"}).With(func(e *performatives.Envelope) {
		e.Performative, e.Payload, e.InReplyTo = performatives.ActInform, nil, "m-9"
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := c.Encode(nil, late); err != nil || len(out) != 0 {
		t.Errorf("wrote %s, %v", out, err)
	}
}

// An initialize of this node offers a compression until it is answered. The next one offers none.
func TestOneOfferOfCompression(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Initiator: true, Compression: []string{"gzip"}})
	for i, offers := range []bool{true, false} {
		hello := ask(t, i, performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{}})
		out, err := wiretest.Encode(t, c, hello)
		if err != nil || strings.Contains(string(out), `"compression":["gzip"]`) != offers || c.Offered() != offers {
			t.Errorf("offered %t, %v: %s", c.Offered(), err, out)
		}
		answer := fmt.Sprintf(`{"id":"a","source":"peer","timestamp":"2024-01-15T10:30:45Z","mcp_payload":{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"1.1","capabilities":{}}}}`, i+1)
		if in := one(t, c, answer); in.Message == nil || c.Offered() || c.Agreed() != "" {
			t.Errorf("offered %t after %+v", c.Offered(), in)
		}
	}
}

// The members of a notification are those of its payload, whatever is around that.
func TestNotificationWithSpaceAround(t *testing.T) {
	m, err := ask(t, 1, performatives.Cancel{}).With(func(e *performatives.Envelope) {
		e.Performative, e.Payload = performatives.ActInform, performatives.Raw("{\"a\":1} \n")
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := wiretest.Encode(t, open(t, Options{}, wire.CodecOptions{}), m)
	if err != nil || !strings.Contains(string(out), `"params":{"a":1}}`) {
		t.Errorf("wrote %s, %v", out, err)
	}
}

// A payload that its message type does not allow is refused, or fails the request that it answers.
func TestInvalidTypedPayloads(t *testing.T) {
	for name, of := range map[string]struct {
		payload string
		failed  bool
	}{
		"a notification": {payload: `"method":"notifications/x","params":{"file":7,"_meta":{"message_type":"REVIEW_SEEN"}}`},
		"progress": {payload: `"method":"notifications/progress","params":{"progressToken":1,"progress":1,"intermediate_results":{"file":7},` +
			`"_meta":{"message_type":"REVIEW_NEWS"}}`},
		"a result": {`"id":1,"result":{"structuredContent":{"file":7},"content":[],"_meta":{"message_type":"REVIEW_DONE"}}`, true},
	} {
		r := reviews(t)
		for name, act := range map[string]performatives.Performative{"REVIEW_NEWS": performatives.ActStatusUpdate, "REVIEW_DONE": performatives.ActInformResult} {
			if err := performatives.RegisterMessageType[review](r, name, act); err != nil {
				t.Fatal(err)
			}
		}
		c := open(t, Options{}, wire.CodecOptions{Registry: r})
		if _, err := wiretest.Encode(t, c, ask(t, 1, performatives.TaskRequest{TaskType: "x"})); err != nil {
			t.Fatal(err)
		}
		in := one(t, c, `{"id":null,"timestamp":"2024-01-15T10:30:45Z","source":"peer","mcp_payload":{"jsonrpc":"2.0",`+of.payload+`}}`)
		switch {
		case of.failed && (in.Message == nil || in.Message.Performative() != performatives.ActFailure):
			t.Errorf("%s: %+v", name, in)
		case !of.failed && (!errors.Is(in.Err, performatives.CodeInvalidPayload) || in.Message != nil):
			t.Errorf("%s: %+v", name, in)
		}
	}
}

// The refusal of a call that comes again leaves the first one as it is.
func TestRefusedRepetition(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Stamper: &clock{}, MaxPending: 2})
	first := one(t, c, toolCall("7"))
	for range 3 {
		if out := c.Refuse(nil, one(t, c, toolCall("7")), performatives.CodeRateLimited); !strings.Contains(string(out), `"id":7`) {
			t.Errorf("refused by %q", out)
		}
	}
	if c.calls.Len() != 1 {
		t.Errorf("%d calls", c.calls.Len())
	}
	if out := answered(t, c, first, "a", performatives.ActInformResult, `{"task_status":"success"}`); !strings.Contains(string(out), `"id":7`) || c.calls.Len() != 0 {
		t.Errorf("answered by %q, %d calls", out, c.calls.Len())
	}
}
