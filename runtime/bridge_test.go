package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// newStaffedBridgeHub returns a hub with a calculator and a builder.
func newStaffedBridgeHub(t *testing.T) (h *gatewayHub, began chan struct{}, ended chan error) {
	t.Helper()
	began, ended = make(chan struct{}, 4), make(chan error, 4)
	h = newBridgeHub(t)
	h.spawn("Calc", returning(newCalculator(t)))
	h.spawn("Bob", returning(newBuilder(began, ended)))
	return h, began, ended
}

// A peer shakes hands before anything else. A message before the handshake is refused, and the
// session goes on.
func TestBridgeHandshake(t *testing.T) {
	h, _, _ := newStaffedBridgeHub(t)
	p := h.bridge("py")
	if got := p.outcome(p.call("Calc", "add", `{"a":1,"b":2}`)); got != "UNAUTHORIZED: send a handshake_request first" {
		t.Errorf("before the handshake: %s", got)
	}
	if got := fmt.Sprint(p.greet(`[]`).Tools); got != "[build slow add]" {
		t.Errorf("tools of the node: %s", got)
	}
	if got := p.outcome(p.call("Calc", "add", `{"a":1,"b":2}`)); got != `{"sum":3}` {
		t.Errorf("after the handshake: %s", got)
	}
	id := p.say("handshake_request", "Calc", "", p.capabilities(`[]`))
	if _, payload := p.hear("handshake_response", id); fmt.Sprint(payload.Tools) != "[add]" {
		t.Errorf("tools of an agent: %s", payload.Tools)
	}
	other := h.bridge("py2")
	id = other.say("handshake_request", "nobody", "", other.capabilities(`[]`))
	if _, payload := other.hear("error", id); payload.Code != "INTERNAL_ERROR" || !strings.Contains(payload.Text, "nobody") {
		t.Errorf("with an unknown agent: %+v", payload)
	}
	if got := other.outcome(other.call("Calc", "add", `{"a":1,"b":2}`)); !strings.HasPrefix(got, "UNAUTHORIZED") {
		t.Errorf("after a refused handshake: %s", got)
	}
}

func TestBridgeCallsTools(t *testing.T) {
	h, began, ended := newStaffedBridgeHub(t)
	h.spawn("Eve", returning(worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{Status: performatives.StatusFailure, Summary: "there is none"}, nil
	}}))
	h.spawn("Mallory", returning(worker{func(context.Context, delegation.Task) (performatives.InformResult, error) {
		return performatives.InformResult{}, errors.New("a secret of the agent")
	}}))
	p := h.bridge("py")
	p.greet("[]")
	for _, tt := range []struct{ to, tool, arguments, want string }{
		{"Calc", "add", `{"a":1,"b":2}`, `{"sum":3}`},
		{"system", "add", `{"a":9007199254740993,"b":0}`, `{"sum":9007199254740993}`},
		{"Bob", "build", `{"plan":"x"}`, `"built"`},
		{"Eve", "find", `{}`, "failure: there is none"},
		{"Mallory", "find", `{}`, "EXECUTION_FAILED: "},
		{"system", "nothing", `{}`, `TOOL_NOT_FOUND: there is no action "nothing"`},
		{"Calc", "nothing", `{}`, `TOOL_NOT_FOUND: `},
		{"Calc", "add", `{"a":"x","b":2}`, "INVALID_ARGUMENTS: arguments.a: "},
		{"nobody", "add", `{}`, "INTERNAL_ERROR: "},
	} {
		got := p.outcome(p.call(tt.to, tt.tool, tt.arguments))
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "secret") {
			t.Errorf("%s.%s %s: got %s, want %s", tt.to, tt.tool, tt.arguments, got, tt.want)
		}
	}
	for seconds := 0.5; len(began) == 0; seconds *= 2 { // on a busy machine, the time may be over before the work begins
		id := p.say("request", "Bob", "", fmt.Sprintf(`{"tool_name":"slow","arguments":{},"timeout":%g}`, seconds))
		if got := p.outcome(id); !strings.HasPrefix(got, "TIMEOUT: ") {
			t.Fatalf("too late: %s", got)
		}
	}
	if why := <-ended; !errors.Is(why, codons.ErrDeadline) {
		t.Errorf("the work ended because of %v", why)
	}
}

// A peer withdraws its request: the work stops, and the request gets its one answer.
func TestBridgeCancels(t *testing.T) {
	h, began, ended := newStaffedBridgeHub(t)
	p, thief := h.bridge("py"), h.bridge("thief")
	p.greet("[]")
	thief.greet("[]")
	id := p.call("Bob", "slow", "{}")
	<-began // else the request may end before the work has
	thief.say("notification", "Bob", id, `{"event_type":"cancel","data":{}}`)
	if got := thief.outcome(thief.call("Calc", "add", `{"a":1,"b":2}`)); got != `{"sum":3}` {
		t.Errorf("the thief: %s", got)
	}
	if got := p.outcome(p.call("Calc", "add", `{"a":1,"b":2}`)); got != `{"sum":3}` {
		t.Errorf("while it runs: %s", got)
	}
	p.say("notification", "Bob", id, `{"event_type":"cancel","data":{"reason":"enough"}}`)
	if got := p.outcome(id); !strings.HasPrefix(got, "EXECUTION_FAILED: ") || !strings.Contains(got, "cancel") {
		t.Errorf("cancelled: %s", got)
	}
	if why := <-ended; !errors.Is(why, codons.ErrCanceled) {
		t.Errorf("the work ended because of %v", why)
	}
	p.say("notification", "Bob", id, `{"event_type":"cancel","data":{}}`) // it has ended
	if got := p.outcome(p.call("Calc", "add", `{"a":1,"b":2}`)); got != `{"sum":3}` {
		t.Errorf("afterwards: %s", got)
	}
}

// Go agents call the tools of a peer like those of any agent.
func TestBridgeProvidesTools(t *testing.T) {
	h := newBridgeHub(t)
	p := h.provider("py", "paint")
	found, err := h.Whisper(patience.Context(t), performatives.QueryCapabilities{
		Type: performatives.QuerySpecific, Parameters: performatives.QueryParameters{Capabilities: []string{"paint"}},
	})
	if err != nil || len(found) != 1 || found[0].Agent != "py" || !found[0].Match {
		t.Errorf("found %+v, %v", found, err)
	}
	for _, tt := range []struct {
		kind, payload string
		want          string
	}{
		{"response", `{"success":true,"result":{"area":12345678901234567890},"execution_time":0.5,"error":null}`, `success  {"area":12345678901234567890}`},
		{"response", `{"success":true,"result":"red"}`, `success red null`},
		{"response", `{"success":true,"result":[1,2]}`, `success  {"result":[1,2]}`},
		{"response", `{"success":false,"error":"no paint"}`, `failure no paint null`},
		{"error", `{"error_code":"TOOL_NOT_FOUND","error_message":"no such tool"}`, "incapable: no such tool"},
		{"error", `{"error_code":"UNAUTHORIZED","error_message":"not you"}`, "unauthorized: not you"},
		{"error", `{"error_code":"INVALID_ARGUMENTS","error_message":"no colour"}`, "invalid_payload_structure: no colour"},
		{"error", `{"error_code":"EXECUTION_FAILED","error_message":"it fell","details":{"x":1}}`, "execution_failed: it fell"},
		{"error", `{"error_code":"TIMEOUT","error_message":"late"}`, "timeout: late"},
		{"error", `{"error_code":"INTERNAL_ERROR","error_message":"oops"}`, "internal_error: oops"},
		{"response", `{"success":"yes"}`, "execution_failed: the peer's answer cannot be read"},
	} {
		result := make(chan string, 1)
		go func() {
			res, err := h.Delegate(patience.Context(t), "py", performatives.TaskRequest{TaskType: "paint", Parameters: performatives.RawContent([]byte(`{"n":1.10}`))})
			var r *performatives.Refusal
			if errors.As(err, &r) {
				result <- string(r.Code) + ": " + r.Text
				return
			}
			details, errDetails := res.Details.MarshalJSON()
			result <- fmt.Sprintf("%s %s %s%v", res.Status, res.Summary, details, errors.Join(err, errDetails))
		}()
		m, payload := p.hear("request", "")
		if payload.Tool != "paint" || string(payload.Arguments) != `{"n":1.10}` || *m.Receiver != "py" || payload.Timeout < 1 {
			t.Errorf("got %s", m.Payload)
		}
		p.say(tt.kind, m.Sender, m.ID, tt.payload)
		if got := strings.TrimSuffix(<-result, "<nil>"); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.kind, tt.payload, got, tt.want)
		}
		if strings.Contains(tt.want, "cannot be read") {
			if _, payload := p.hear("error", ""); payload.Code != "INVALID_ARGUMENTS" || payload.Details["field"] != "payload.success" {
				t.Errorf("the peer is told %+v", payload)
			}
		}
	}
}

// A Go agent withdraws its request of a peer: an error is the receipt, and a result that was there
// before stands.
func TestBridgeIsCanceled(t *testing.T) {
	h := newBridgeHub(t)
	p := h.provider("py", "paint")
	for _, answer := range []string{"error", "response"} {
		ctx, cancel := context.WithCancel(patience.Context(t))
		result := make(chan error, 1)
		go func() {
			_, err := h.Delegate(ctx, "py", task("paint"))
			result <- err
		}()
		request, _ := p.hear("request", "")
		cancel()
		if _, payload := p.hear("notification", request.ID); payload.Event != "cancel" {
			t.Errorf("got the event %s", payload.Event)
		}
		if answer == "error" {
			p.say("error", request.Sender, request.ID, `{"error_code":"EXECUTION_FAILED","error_message":"cancelled"}`)
		} else {
			p.say("response", request.Sender, request.ID, `{"success":true,"result":{},"execution_time":1}`)
		}
		if err := <-result; errors.Is(err, context.Canceled) != (answer == "error") || answer == "response" && err != nil {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// Notifications reach one agent or all of them, in both directions.
func TestBridgeNotifies(t *testing.T) {
	h := newBridgeHub(t)
	heard := make(chan string, 4)
	listener := scripted{topics: []string{"News"}, receive: func(c *actors.Context, m *performatives.Message) {
		if m.Performative() == performatives.ActInform {
			heard <- fmt.Sprintf("%s %s %q %s", c.ID(), m.Sender(), m.Receiver(), m.Payload())
		}
	}}
	h.spawn("Ann", always(listener))
	p, q := h.provider("py", "paint"), h.provider("py2", "draw")
	const event = `{"event_type":"agent_status_changed","data":{"status":"busy"}}`
	p.say("notification", "Ann", "", event)
	if got, want := <-heard, `Ann py "Ann" `+event; got != want {
		t.Errorf("targeted: got %s, want %s", got, want)
	}
	p.say("notification", "", "", event)
	if got, want := <-heard, `Ann py "" `+event; got != want {
		t.Errorf("broadcast: got %s, want %s", got, want)
	}
	if m, payload := q.hear("notification", ""); m.Sender != "py" || payload.Event != "agent_status_changed" || string(payload.Data) != `{"status":"busy"}` {
		t.Errorf("the other peer hears %s", m.Payload)
	}
	for _, to := range []performatives.AgentID{"py", ""} {
		if err := h.Send(message(t, "Ann", to, performatives.ActInform)); err != nil {
			t.Fatal(err)
		}
		if m, payload := p.hear("notification", ""); m.Sender != "Ann" || payload.Event != "inform" || string(payload.Data) != `{"n":1}` {
			t.Errorf("the peer hears %s", m.Payload)
		}
	}
}

// An acl agent and a bridge agent call each other: each gets an answer in its own dialect.
func TestBridgeAndACL(t *testing.T) {
	h := newBridgeHub(t)
	p := h.provider("py", "paint")
	c := newCaller(t, h.hub, nil)
	c.say(message(t, "Eddy", "system", performatives.ActQueryCapabilities, offers("debug")))
	c.answer(1)
	c.say(message(t, "Eddy", "py", performatives.ActTaskRequest, with(task("paint"))))
	m, payload := p.hear("request", "")
	if m.Sender != "Eddy" || payload.Tool != "paint" {
		t.Errorf("got %s", m.Payload)
	}
	p.say("response", "Eddy", m.ID, `{"success":true,"result":{"area":1.10},"execution_time":0.5}`)
	if got, err := performatives.PayloadAs[performatives.InformResult](c.answer(2)); err != nil || got.Status != performatives.StatusSuccess ||
		!got.Details.Equal(performatives.RawContent([]byte(`{"area":1.10}`))) {
		t.Errorf("the acl agent gets %+v, %v", got, err)
	}
	id := p.call("Eddy", "debug", `{"code":"x"}`)
	asked := c.answer(3)
	reply, err := asked.Reply(performatives.Stamp{ID: "r-1", Time: asked.Timestamp()}, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.RawContent([]byte(`{"fixed":true}`))})
	if err != nil {
		t.Fatal(err)
	}
	c.say(reply)
	if got := p.outcome(id); got != `{"fixed":true}` {
		t.Errorf("the bridge agent gets %s", got)
	}
}

// tokens maps tokens to the agents that they prove.
type tokens map[string]performatives.AgentID

func (t tokens) Authenticate(_ context.Context, c wire.Credentials) (wire.Identity, error) {
	if c.Token == "" {
		return wire.Identity{}, wire.ErrNoCredentials
	}
	if name, ok := t[c.Token]; ok {
		return wire.Identity{Name: name, Method: "token"}, nil
	}
	return wire.Identity{}, &performatives.Refusal{Code: performatives.CodeUnauthorized}
}

// A peer that has not authenticated, or speaks as another agent, is refused, and has not shaken
// hands.
func TestBridgeAuthenticates(t *testing.T) {
	h := newBridgeHub(t, func(o *wire.Options) { o.Anonymous, o.Auth = false, tokens{"secret": "py"} })
	h.spawn("Calc", returning(newCalculator(t)))
	p := h.bridge("py")
	hello := func(name, token string) string {
		id := fmt.Sprintf("%s-%s", name, token)
		p.write(fmt.Sprintf(`{"message_id":%q,"message_type":"handshake_request","sender_id":%q,"timestamp":"2025-01-30T10:30:00Z","auth_token":%q,"payload":{"agent_id":%q,"agent_name":"n","agent_role":"r"}}`,
			id, name, token, name))
		return id
	}
	if _, payload := p.hear("error", hello("py", "wrong")); payload.Code != "UNAUTHORIZED" {
		t.Errorf("a wrong token: %+v", payload)
	}
	if _, payload := p.hear("error", hello("other", "secret")); payload.Code != "UNAUTHORIZED" || payload.Details["reason_code"] != "forbidden" || payload.Details["field"] != "sender_id" {
		t.Errorf("another agent: %+v", payload)
	}
	p.call("Calc", "add", `{"a":1,"b":2}`)
	if _, payload := p.hear("error", ""); payload.Details["reason_code"] != "handshake_required" {
		t.Errorf("before an accepted handshake: %+v", payload)
	}
	p.hear("handshake_response", hello("py", "secret"))
	p.call("Calc", "add", `{"a":1,"b":2}`) // without a token
	if _, payload := p.hear("error", ""); payload.Code != "UNAUTHORIZED" || payload.Details["reason_code"] != nil {
		t.Errorf("without a token: %+v", payload)
	}
	p.write(`{"message_id":"last","message_type":"request","sender_id":"py","receiver_id":"Calc","auth_token":"Bearer secret","payload":{"tool_name":"add","arguments":{"a":1,"b":2}}}`)
	if got := p.outcome("last"); got != `{"sum":3}` {
		t.Errorf("with a token: %s", got)
	}
}
