package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

func task(t *testing.T, from performatives.AgentID, name string) *performatives.Message {
	t.Helper()
	return asked(t, performatives.TaskRequest{TaskType: name}, func(e *performatives.Envelope) { e.Sender = from })
}

// accept returns the answer to a handshake of ours.
func accept(about, payload string) string {
	return frame("welcome-"+about, "handshake_response", "far", "", about, payload)
}

const welcome = `{"agent_id":"far","agent_name":"n","agent_role":"r","accepted":true}`

// The end that opened the connection shakes hands for each agent. What the agent sends is written
// after the answer, in order.
func TestShakesHandsFirst(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	hello := read(t, p.send(task(t, "Eddy", "one")))
	if hello.Type != "handshake_request" || hello.Sender != "Eddy" || hello.Receiver != "" || hello.Payload["agent_id"] != "Eddy" || fmt.Sprint(hello.Payload["tools"]) != "[]" {
		t.Fatalf("got %+v", hello)
	}
	if got := p.send(task(t, "Eddy", "two")); got != "" {
		t.Errorf("a request before the answer: %s", got)
	}
	other := read(t, p.send(task(t, "Ada", "three")))
	if other.Type != "handshake_request" || other.Sender != "Ada" {
		t.Errorf("another agent: %+v", other)
	}
	items := p.all(accept(hello.ID, welcome))
	if len(items) != 3 || items[2].Message != nil || items[2].Err != nil {
		t.Fatalf("got %+v", items)
	}
	for i, tool := range []string{"one", "two"} {
		if got := read(t, string(items[i].Answer)); got.Type != "request" || got.Payload["tool_name"] != tool || got.Sender != "Eddy" {
			t.Errorf("got %+v, want the request %s", got, tool)
		}
	}
	request := task(t, "Eddy", "four")
	if got := read(t, p.send(request)); got.Payload["tool_name"] != "four" {
		t.Errorf("afterwards: %+v", got)
	}
	if m := p.message(frame("r-4", "response", "agent-1", "", string(request.ID()), `{"success":true}`)).Message; m.Receiver() != "Eddy" {
		t.Errorf("got %+v", m.Envelope())
	}
}

// An answer waits for the handshake of its sender, too, whatever its act: the peer may ask an agent
// before it has answered that.
func TestAnswersBeforeTheHandshakeIsAnswered(t *testing.T) {
	for name, payload := range map[string]any{
		"result":     performatives.InformResult{Status: performatives.StatusSuccess, Summary: "done"},
		"capability": performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}},
		"refusal":    performatives.TaskReject{ReasonCode: performatives.CodeIncapable},
		"failure":    performatives.Failure{ErrorCode: performatives.CodeFailed},
	} {
		p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
		hello := read(t, p.send(task(t, "Eddy", "one")))
		answer := asked(t, payload, func(e *performatives.Envelope) { e.Sender, e.InReplyTo, e.Receiver = "Eddy", "far-1", "far" })
		if got, err := wiretest.Encode(t, p.codec, answer); err != nil || len(got) > 0 {
			t.Errorf("%s: %q, %v; want it to wait", name, got, err)
		}
		if got := p.all(accept(hello.ID, welcome)); len(got) < 2 || len(got[1].Answer) == 0 {
			t.Errorf("%s: %d items; want it after the request", name, len(got))
		}
	}
}

// Each request has an outline, so that it can be written.
func TestOutline(t *testing.T) {
	outlines := map[performatives.Performative]int{}
	for act := performatives.ActAcceptProposal; act.Valid(); act++ {
		if !act.ExpectsReply() {
			continue
		}
		e := performatives.Envelope{ID: "m", Performative: act, Sender: "a", Receiver: "b", InReplyTo: "m0", Timestamp: time.Unix(1, 0)}
		for _, e.Payload = range []any{
			nil, performatives.Raw(`{}`), performatives.TaskRequest{TaskType: "x"}, performatives.Cancel{}, performatives.QueryCapabilities{Type: performatives.QuerySummary},
		} {
			m, err := performatives.New(e)
			if err != nil {
				continue // not of this act
			}
			if exchange.Outline(m) == m {
				t.Errorf("%s with %T keeps its payload", act, e.Payload)
			}
			outlines[act]++
		}
		if outlines[act] == 0 {
			t.Errorf("the test has no payload of %s", act)
		}
	}
}

// When the peer does not accept an agent, its requests are refused, and its next one begins again.
func TestIsNotAccepted(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(id string) string
		code   performatives.Code
	}{
		"accepted is false": {func(id string) string { return accept(id, strings.Replace(welcome, "true", "false", 1)) }, performatives.CodeUnauthorized},
		"an error": {func(id string) string {
			return frame("e-1", "error", "far", "Eddy", id, `{"error_code":"TIMEOUT","error_message":"late"}`)
		}, performatives.CodeTimeout},
		"unreadable": {func(id string) string { return accept(id, `{}`) }, performatives.CodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
			request := task(t, "Eddy", "one")
			hello := read(t, p.send(request))
			if got := p.send(asked(t, performatives.Raw(`{}`), func(e *performatives.Envelope) { e.Sender, e.Performative = "Eddy", performatives.ActInform })); got != "" {
				t.Errorf("written: %s", got)
			}
			var refused []*performatives.Message
			for _, in := range p.all(tt.answer(hello.ID)) {
				if in.Message != nil {
					refused = append(refused, in.Message)
				}
			}
			if len(refused) != 1 || !refused[0].Answers(request) || !refused[0].Undeliverable() || !errors.Is(refused[0].AsRefusal(), tt.code) {
				t.Fatalf("got %+v", refused)
			}
			s := p.codec.(*session)
			if s.asks.Len() != 0 || s.held != 0 || len(s.greetings) != 0 {
				t.Errorf("pending: %+v %+v", s.asks, s.hellos)
			}
			if got := read(t, p.send(task(t, "Eddy", "two"))); got.Type != "handshake_request" {
				t.Errorf("the next request: %+v", got)
			}
		})
	}
}

// An agent that introduces itself needs no other handshake, and its answer is for whoever has
// asked.
func TestIntroducesItself(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	own := asked(t, performatives.QueryCapabilities{Type: performatives.QuerySummary, Capabilities: &performatives.Capabilities{Actions: []performatives.Action{{Name: "paint"}}}})
	hello := read(t, p.send(own))
	if fmt.Sprint(hello.Payload["tools"]) != "[paint]" {
		t.Errorf("got %+v", hello)
	}
	if got := p.send(task(t, "Eddy", "one")); got != "" {
		t.Errorf("before the answer: %s", got)
	}
	items := p.all(accept(hello.ID, welcome))
	if len(items) != 2 || read(t, string(items[0].Answer)).Type != "request" || items[1].Message == nil || !items[1].Message.Answers(own) {
		t.Fatalf("got %+v", items)
	}
}

// A message that is sent while those before it are written after the handshake waits for them.
func TestHeldFramesKeepTheirOrder(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	hello := read(t, p.send(task(t, "Eddy", "one")))
	var order []any
	p.codec.Decode([]byte(accept(hello.ID, welcome)), func(in wire.Inbound) {
		if len(in.Answer) == 0 {
			return
		}
		if order = append(order, read(t, string(in.Answer)).Payload["tool_name"]); len(order) == 1 {
			if got := p.send(task(t, "Eddy", "two")); got != "" {
				t.Errorf("written before the handshake is over: %s", got)
			}
		}
	})
	if got := read(t, p.send(task(t, "Eddy", "three"))); fmt.Sprint(order) != "[one two]" || got.Payload["tool_name"] != "three" {
		t.Errorf("order %v, then %+v", order, got)
	}
}

// What waits for a handshake is bounded.
func TestHeldFramesAreBounded(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true, MaxBytes: 400})
	refused := false
	for range 4 {
		_, err := wiretest.Encode(t, p.codec, task(t, "Eddy", "one"))
		refused = refused || errors.Is(err, performatives.CodeBusy)
	}
	if s := p.codec.(*session); !refused || s.held > 800 || s.asks.Len() > 3 {
		t.Errorf("refused %t, %d bytes, %d requests", refused, s.held, s.asks.Len())
	} else if m := s.hellos["eddy"].held[0].message; m != s.asks.Find(m.Sender(), string(m.ID())).message {
		t.Error("a message is kept beside its outline")
	}
}

// Both ends use the extensions that both know, and only with the agent that has agreed to them.
func TestExtensionsAreAgreed(t *testing.T) {
	for name, tt := range map[string]struct {
		offer string
		want  any
	}{
		"none":    {"", nil},
		"known":   {`,"extensions":{"progress":{"x":1},"telepathy":{},"routing":{},"compression":{"methods":["zip"]}}`, map[string]any{"progress": map[string]any{}}},
		"unknown": {`,"extensions":{"telepathy":{}}`, nil},
		"broken":  {`,"extensions":{"progress":true}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, wire.CodecOptions{Local: "node"})
			payload := strings.TrimSuffix(handshake("agent-1"), "}") + tt.offer + "}"
			in := p.message(frame("hello-1", "handshake_request", "agent-1", "", "", payload))
			if _, ok := capabilitiesOf(in.Message).Extra[capsExtensions]; ok {
				t.Error("the extensions of the connection are announced as the agent's")
			}
			others := &performatives.Capabilities{Extra: performatives.Members{capsExtensions: json.RawMessage(`{"telepathy":{}}`)}}
			got := read(t, p.send(answered(t, in.Message, performatives.InformCapabilities{Capabilities: others})))
			if fmt.Sprint(got.Payload["extensions"]) != fmt.Sprint(tt.want) {
				t.Errorf("got %v, want %v", got.Payload["extensions"], tt.want)
			}
			request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
			half := 50.0
			news := p.send(answered(t, request, performatives.StatusUpdate{Progress: &half}))
			if (news != "") != (tt.want != nil) {
				t.Errorf("progress: %s", news)
			}
			if tt.want != nil {
				got := read(t, news)
				if got.Type != "notification" || got.Payload["event_type"] != "progress" || got.Correlation != "m-1" || fmt.Sprint(got.Payload["data"]) != "map[progress_percentage:50]" {
					t.Errorf("got %+v", got)
				}
			}
			if got := p.send(answered(t, request, performatives.TaskAccept{})); got != "" {
				t.Errorf("TASK_ACCEPT: %s", got)
			}
			id := read(t, p.send(task(t, "Eddy", "paint"))).ID
			m := p.message(frame("r-1", "notification", "agent-1", "", id, `{"event_type":"progress","data":{"progress_percentage":25}}`)).Message
			if (m.Performative() == performatives.ActStatusUpdate) != (tt.want != nil) {
				t.Errorf("progress of the peer is a %s", m.Performative())
			}
		})
	}
	p := newPeer(t, wire.CodecOptions{Local: "node"})
	if in := p.one(frame("hello-1", "handshake_request", "agent-1", "", "", strings.TrimSuffix(handshake("agent-1"), "}")+`,"extensions":[]}`)); in.Err == nil || in.Err.Field != "payload.extensions" {
		t.Errorf("got %v", in.Err)
	}
}

// An agent of the peer may have the name of one of the end that has opened the connection. Its
// handshake is no other handshake of that one.
func TestHandshakeOfANamesake(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	hello := read(t, p.send(task(t, "agent-1", "one")))
	p.all(accept(hello.ID, strings.TrimSuffix(welcome, "}")+`,"extensions":{"progress":{}}}`))
	p.message(frame("hello-1", "handshake_request", "agent-1", "", "", handshake("agent-1")))
	if got := read(t, p.send(task(t, "agent-1", "two"))); got.Type != "request" {
		t.Errorf("got %+v", got)
	}
	if s := p.codec.(*session); !s.agreedBetween("agent-1", "far").Has(extensionProgress) {
		t.Error("the extensions are forgotten")
	}
}

// The agents of one connection that this end has opened agree each for itself: what one has agreed
// on, another one does not use, and is not taken from the peer.
func TestExtensionsOfEachAgent(t *testing.T) {
	codec, err := Dialect{Node: "n1"}.Open(wire.CodecOptions{Local: "node", Initiator: true, Stamper: &clock{}})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, codec: codec}
	greet := func(agent performatives.AgentID, extensions string) {
		t.Helper()
		hello := read(t, p.send(task(t, agent, "first")))
		if items := p.all(accept(hello.ID, strings.TrimSuffix(welcome, "}")+extensions+"}")); len(items) != 2 {
			t.Fatalf("got %+v", items)
		}
	}
	greet("Eddy", `,"extensions":{"progress":{},"compression":{"methods":["gzip"]},"routing":{},"acknowledgement":{},"encryption":{"formats":["jose"]}}`)
	greet("Ada", "")
	for agent, agreed := range map[performatives.AgentID]bool{"Eddy": true, "Ada": false} {
		from := func(e *performatives.Envelope) {
			e.Sender, e.Payload = agent, performatives.TaskRequest{TaskType: "debug", Description: long}
		}
		request := asked(t, performatives.TaskRequest{TaskType: "debug"}, from)
		if sent := p.send(request); strings.Contains(sent, "payload_encoding") != agreed || strings.Contains(sent, `"route"`) != agreed {
			t.Errorf("%s sends %.200s", agent, sent)
		}
		if _, err := wiretest.Encode(t, p.codec, sealedMessage(t, performatives.ActInform, func(e *performatives.Envelope) { e.Sender = agent })); (err == nil) != agreed {
			t.Errorf("%s sends a sealed payload: %v", agent, err)
		}
		for _, receiver := range []string{string(agent), ""} {
			news := p.all(frame("p-"+string(agent)+receiver, "notification", "agent-1", receiver, string(request.ID()), `{"event_type":"progress","data":{"progress_percentage":25}}`))[0]
			if (news.Message.Performative() == performatives.ActStatusUpdate) != agreed {
				t.Errorf("the progress for %s, to %q, is a %s", agent, receiver, news.Message.Performative())
			}
			acked := p.all(frame("n-"+string(agent)+receiver, "notification", "agent-1", string(agent), "", `{"event_type":"x","data":{}}`))
			if (len(acked) == 2) != agreed {
				t.Errorf("a notification for %s: %+v", agent, acked)
			}
		}
		compressed := frame("c-"+string(agent), "notification", "agent-1", string(agent), "", `{"data":"H4sIAAAAAAAA/6uuBQBDv6ajAgAAAA=="}`)
		if in := p.all(beside(compressed, `"payload_encoding":"rot13"`))[0]; (in.Err != nil && in.Err.Field == "payload_encoding") != agreed {
			t.Errorf("a payload of an unknown encoding for %s: %+v", agent, in)
		}
	}
}

// A handshake that is relayed has the extensions of its new connection.
func TestExtensionsOfAnotherConnection(t *testing.T) {
	from := newPeer(t, wire.CodecOptions{Local: "node"})
	m := from.message(frame("hello-1", "handshake_request", "agent-1", "agent-2", "", strings.TrimSuffix(handshake("agent-1"), "}")+`,"extensions":{"telepathy":{}}}`)).Message
	to := newPeer(t, wire.CodecOptions{Local: "node"})
	if got := to.send(m); strings.Contains(got, "telepathy") || !strings.Contains(got, `"progress":{}`) {
		t.Errorf("got %s", got)
	}
}

// Answers that come as another message type, answers in vain, and refusals of a copy.
func TestOddAnswers(t *testing.T) {
	p := greeted(t, wire.CodecOptions{Local: "node"})
	request := p.message(frame("m-1", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`)).Message
	note := p.message(frame("n-1", "notification", "agent-1", "Bob", "", `{"event_type":"e","data":{}}`)).Message
	answer, err := note.With(func(e *performatives.Envelope) {
		e.InReplyTo, e.Sender, e.Receiver, e.ConversationID = string(request.ID()), "Bob", "agent-1", request.ConversationID()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.send(answer)); got.Type != "response" || got.Metadata["performative"] != "INFORM" {
		t.Errorf("an INFORM that answers a request: %+v", got)
	}
	vain := asked(t, performatives.Receipt{}, func(e *performatives.Envelope) { e.InReplyTo = "m-9" })
	if got := p.send(vain); got != "" {
		t.Errorf("a receipt in vain: %s", got)
	}
	p.message(frame("m-2", "request", "agent-1", "Bob", "", `{"tool_name":"build"}`))
	cancel := p.message(frame("m-3", "notification", "agent-1", "", "m-2", `{"event_type":"cancel"}`)).Message
	if got := read(t, p.send(cancel.RefuseCopy("Bob", stampOf(), &performatives.Refusal{Code: performatives.CodeBusy}))); got.Correlation != "m-3" {
		t.Errorf("the refusal of a CANCEL: %+v", got)
	}
	p.message(frame("m-4", "notification", "agent-1", "", "m-2", `{"event_type":"cancel"}`))
	answered := p.message(frame("m-5", "request", "agent-1", "Bob", "m-1", `{"tool_name":"build"}`)).Message
	if answered.ConversationID() != "m-5" {
		t.Errorf("a request about an ended one is of the conversation %s", answered.ConversationID())
	}
	running := p.message(frame("m-6", "request", "agent-1", "Bob", "m-2", `{"tool_name":"build"}`)).Message
	if running.ConversationID() != "m-6" {
		t.Errorf("a request about a running one is of the conversation %s", running.ConversationID())
	}
	late := asked(t, performatives.TaskRequest{TaskType: "paint"}, func(e *performatives.Envelope) { e.ReplyBy = arrival.Add(-1) })
	if got := read(t, p.send(late)); got.Payload["timeout"] != 1.0 {
		t.Errorf("a request that is late: %+v", got)
	}
}
