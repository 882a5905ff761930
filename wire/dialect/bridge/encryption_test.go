package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// canary is what sealed payloads carry in these tests, in place of a JWE: no frame may have it for
// a peer that has not agreed.
const canary = "canary-3c1d"

// sealedMessage returns a message with a sealed payload, of Eddy to agent-1.
func sealedMessage(t testing.TB, act performatives.Performative, change ...func(*performatives.Envelope)) *performatives.Message {
	t.Helper()
	return asked(t, performatives.Raw(`{"jose":"`+canary+`"}`), append([]func(*performatives.Envelope){func(e *performatives.Envelope) {
		e.Performative, e.MessageType = act, performatives.TypeSealed
	}}, change...)...)
}

// answerTo makes a message the answer to a request.
func answerTo(request *performatives.Message) func(*performatives.Envelope) {
	return func(e *performatives.Envelope) {
		e.Sender, e.Receiver, e.ConversationID, e.InReplyTo = request.Receiver(), request.Sender(), request.ConversationID(), string(request.ID())
	}
}

// offering returns a session of the node in which agent-1 has shaken hands and offered these
// extensions.
func offering(t testing.TB, offer string) *peer {
	t.Helper()
	p := newPeer(t, wire.CodecOptions{Local: "node"})
	payload := handshake("agent-1")
	if offer != "" {
		payload = strings.TrimSuffix(payload, "}") + `,"extensions":` + offer + `}`
	}
	hello := p.message(frame("hello-1", "handshake_request", "agent-1", "", "", payload)).Message
	p.send(answered(t, hello, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))
	return p
}

// refusesSealed checks that a sealed message is not written, that its sender is told why, and that
// nothing waits for its answer.
func refusesSealed(t *testing.T, p *peer, m *performatives.Message) {
	t.Helper()
	before := p.codec.(*session).asks.Len()
	out, err := p.codec.Encode([]byte("before"), m)
	r := performatives.RefusalOf(err)
	if r == nil || r.Code != performatives.CodeIncapable || r.About != m.ID() || r.Field != "metadata.message_type" || !strings.Contains(r.Text, extensionNames[extensionEncryption]) {
		t.Errorf("%s: got %v", m.Performative(), err)
	}
	if string(out) != "before" {
		t.Errorf("%s: written: %s", m.Performative(), out)
	}
	if after := p.codec.(*session).asks.Len(); after != before {
		t.Errorf("%s: %d requests wait for an answer, want %d", m.Performative(), after, before)
	}
}

// A peer that has not agreed on the extension gets no sealed payload, of any act, and none in
// another form.
func TestSealedForAPeerThatHasNotAgreed(t *testing.T) {
	for offer, agreed := range map[string]bool{
		``: false, `{}`: false, `{"compression":{"methods":["gzip"]},"progress":{}}`: false, `{"encryption":true}`: false, `{"encryption":{}}`: false,
		`{"encryption":{"formats":"jose"}}`: false, `{"encryption":{"formats":["pgp","JOSE"]}}`: false, `{"Encryption":{"formats":["jose"]}}`: false,
		`{"encryption":{"formats":["pgp","jose"]}}`: true,
	} {
		t.Run(offer, func(t *testing.T) {
			p := offering(t, offer)
			request := p.message(frame("m-1", "request", "agent-1", "Eddy", "", `{"tool_name":"build"}`)).Message
			all := []*performatives.Message{
				sealedMessage(t, performatives.ActRequest),
				sealedMessage(t, performatives.ActTaskRequest, func(e *performatives.Envelope) { e.MessageType = performatives.SealedType("REVIEW") }),
				sealedMessage(t, performatives.ActInform, func(e *performatives.Envelope) { e.ReplyWith = "" }),
				sealedMessage(t, performatives.ActCancel, func(e *performatives.Envelope) { e.InReplyTo = "m-9" }),
				sealedMessage(t, performatives.ActStatusUpdate, answerTo(request)),
				sealedMessage(t, performatives.ActInformResult, answerTo(request)),
			}
			for _, m := range all {
				if !agreed {
					refusesSealed(t, p, m)
				} else if got := p.send(m); !strings.Contains(got, canary) || !strings.Contains(got, `"message_type":"`+m.MessageType()+`"`) {
					t.Errorf("%s: got %s", m.Performative(), got)
				}
			}
			if agreed {
				return
			}
			refusal := request.Refuse("Eddy", stampOf(), performatives.CodeFailed, "")
			if got := read(t, p.send(refusal)); got.Type != "error" || got.Correlation != "m-1" {
				t.Errorf("the request can't be answered any more: %+v", got)
			}
		})
	}
}

// The agreement is that of one agent. Another one of the same connection has none.
func TestSealedForAnotherAgent(t *testing.T) {
	p := offering(t, `{"encryption":{"formats":["jose"]}}`)
	second := p.message(frame("hello-2", "handshake_request", "agent-2", "", "", handshake("agent-2"))).Message
	p.send(answered(t, second, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))
	for _, other := range []performatives.AgentID{"agent-2", "agent-3", ""} {
		refusesSealed(t, p, sealedMessage(t, performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = other }))
	}
	if got := p.send(sealedMessage(t, performatives.ActRequest, func(e *performatives.Envelope) { e.Receiver = "AGENT-1" })); got == "" {
		t.Error("not written for the agent that has agreed")
	}
	p.message(frame("hello-3", "handshake_request", "agent-1", "", "", handshake("agent-1"))) // again, without the extension
	refusesSealed(t, p, sealedMessage(t, performatives.ActRequest))
}

// The sealed answer to a request that was withdrawn is an error without any of it.
func TestSealedAnswerToAWithdrawnRequest(t *testing.T) {
	p := offering(t, "")
	p.message(frame("m-1", "request", "agent-1", "Eddy", "", `{"tool_name":"build"}`))
	cancel := p.message(frame("m-2", "notification", "agent-1", "", "m-1", `{"event_type":"cancel"}`)).Message
	got := p.send(sealedMessage(t, performatives.ActInform, answerTo(cancel)))
	if strings.Contains(got, canary) || read(t, got).Type != "error" || read(t, got).Correlation != "m-1" {
		t.Errorf("got %s", got)
	}
}

// sealedFrame returns a frame of agent-1 with a sealed payload, as a peer that has agreed writes
// it.
func sealedFrame(t *testing.T, messageType string, change ...func(*performatives.Envelope)) string {
	t.Helper()
	far := newPeer(t, wire.CodecOptions{Local: "far"})
	far.message(frame("hello-1", "handshake_request", "Eddy", "", "", strings.TrimSuffix(handshake("Eddy"), "}")+`,"extensions":{"encryption":{"formats":["jose"]}}}`))
	return far.send(sealedMessage(t, performatives.ActRequest, append([]func(*performatives.Envelope){func(e *performatives.Envelope) {
		e.Sender, e.Receiver, e.MessageType = "agent-1", "Eddy", messageType
	}}, change...)...))
}

// A sealed payload of a peer that has not agreed is refused to the peer, alone and in a batch, and
// reaches no agent.
func TestSealedOfAPeerThatHasNotAgreed(t *testing.T) {
	for _, messageType := range []string{"jose", "jose:REVIEW"} {
		text := sealedFrame(t, messageType)
		for name, p := range map[string]*peer{"none": greeted(t, wire.CodecOptions{Local: "node"}), "others": extended(t, wire.CodecOptions{Local: "node"})} {
			texts := []string{text}
			if name == "others" {
				texts = append(texts, "["+text+"]")
			}
			for _, text := range texts {
				in := p.one(text)
				if in.Message != nil || in.Err == nil || !errors.Is(in.Err, performatives.CodeInvalidPayload) || in.Err.Field != "metadata.message_type" {
					t.Fatalf("%s, %s: %+v", messageType, name, in)
				}
				if got := read(t, string(in.Answer)); got.Type != "error" || got.Payload["error_code"] != "INVALID_ARGUMENTS" || got.Receiver != "agent-1" || strings.Contains(string(in.Answer), canary) {
					t.Errorf("%s, %s: the peer is told %s", messageType, name, in.Answer)
				}
			}
		}
		if in := offering(t, `{"encryption":{"formats":["jose"]}}`).one(text); in.Message == nil || !in.Message.Sealed() || in.Message.MessageType() != messageType {
			t.Errorf("%s, agreed: %+v", messageType, in)
		}
	}
	if in := greeted(t, wire.CodecOptions{Local: "node"}).one(sealedFrame(t, "josephine")); in.Message == nil {
		t.Errorf("a type of the application: %v", in.Err)
	}
}

// A sealed answer of a peer that has not agreed fails the request, because no other answer comes.
func TestSealedAnswerOfAPeerThatHasNotAgreed(t *testing.T) {
	p := offering(t, "")
	request := task(t, "Eddy", "paint")
	p.send(request)
	text := strings.NewReplacer(`"message_type":"request"`, `"message_type":"response"`, `"correlation_id":null`, fmt.Sprintf(`"correlation_id":%q`, request.ID()),
		`"tool_name":"jose"`, `"success":true,"result":null`, `"performative":"REQUEST",`, "").Replace(sealedFrame(t, "jose"))
	var failed *performatives.Message
	for _, in := range p.all(text) {
		if in.Message != nil {
			failed = in.Message
		}
	}
	if failed == nil || !failed.Answers(request) || !errors.Is(failed.AsRefusal(), performatives.CodeFailed) {
		t.Errorf("got %+v of %s", failed, text)
	}
}

// What waits for the handshake is written if its answer has the extension. Otherwise a request is
// refused, what expects no reply is in the log, and other messages are written.
func TestSealedMessagesWaitForTheHandshake(t *testing.T) {
	for extensions, agreed := range map[string]bool{
		`{"encryption":{"formats":["jose"]}}`: true, `{"progress":{}}`: false, `{"encryption":{"formats":["pgp"]}}`: false, ``: false,
	} {
		t.Run(extensions, func(t *testing.T) {
			p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
			request := sealedMessage(t, performatives.ActRequest)
			hello := p.send(request)
			for _, m := range []*performatives.Message{sealedMessage(t, performatives.ActInform, func(e *performatives.Envelope) { e.ReplyWith = "" }), task(t, "Eddy", "plain")} {
				if got := p.send(m); got != "" {
					t.Errorf("before the answer: %s", got)
				}
			}
			if strings.Contains(hello, canary) || !strings.Contains(hello, `"encryption":{"formats":["jose"]}`) {
				t.Errorf("the handshake: %s", hello)
			}
			payload := welcome
			if extensions != "" {
				payload = strings.TrimSuffix(payload, "}") + `,"extensions":` + extensions + `}`
			}
			items := p.all(accept(read(t, hello).ID, payload))
			if len(items) != 4 || read(t, string(items[2].Answer)).Payload["tool_name"] != "plain" {
				t.Fatalf("got %+v", items)
			}
			s := p.codec.(*session)
			if agreed {
				if !strings.Contains(string(items[0].Answer), canary) || !strings.Contains(string(items[1].Answer), canary) || p.send(sealedMessage(t, performatives.ActRequest)) == "" {
					t.Errorf("got %+v", items)
				}
				return
			}
			refused := items[0].Message
			if refused == nil || !refused.Answers(request) || !refused.Undeliverable() || !errors.Is(refused.AsRefusal(), performatives.CodeIncapable) || refused.Receiver() != "Eddy" {
				t.Errorf("the request: %+v", items[0])
			}
			if items[1].Err == nil || !errors.Is(items[1].Err, performatives.CodeIncapable) || items[1].Answer != nil {
				t.Errorf("the INFORM: %+v", items[1])
			}
			if s.held != 0 || s.asks.Len() != 1 || s.parties.Len() != 1 {
				t.Errorf("pending: %+v, %+v", s.asks, s.hellos)
			}
			refusesSealed(t, p, sealedMessage(t, performatives.ActRequest))
		})
	}
}

// The answer to the handshake comes while a sealed message is written: it is refused, whether it is
// held or not.
func TestSealedMessageMeetsTheAnswer(t *testing.T) {
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true})
	answer := accept(read(t, p.send(task(t, "Eddy", "plain"))).ID, welcome)
	m := sealedMessage(t, performatives.ActRequest)
	read := make(chan []wire.Inbound)
	go func() { read <- p.all(answer) }()
	out, err := p.codec.Encode(nil, m)
	refused := errors.Is(err, performatives.CodeIncapable)
	for _, in := range <-read {
		if strings.Contains(string(in.Answer), canary) {
			t.Errorf("written: %s", in.Answer)
		}
		refused = refused || in.Message != nil && in.Message.Answers(m)
	}
	if !refused || len(out) > 0 || p.codec.(*session).asks.Len() != 1 {
		t.Errorf("wrote %s, %v", out, err)
	}
}

// Whoever stands between two nodes and takes the extension out of their handshake can stop sealed
// messages, as it could cut the connection. No end sends them in another form, and each sender is
// told.
func TestExtensionIsStripped(t *testing.T) {
	strip := strings.NewReplacer(`"encryption":{"formats":["jose"]},`, "", `,"encryption":{"formats":["jose"]}`, "", `"encryption":{"formats":["jose"]}`, "")
	for _, stripped := range []string{"handshake_request", "handshake_response"} {
		t.Run(stripped, func(t *testing.T) {
			near, far := newPeer(t, wire.CodecOptions{Local: "near", Initiator: true}), newPeer(t, wire.CodecOptions{Local: "far"})
			passed := func(text string) string { // what the other end gets
				if strings.Contains(text, canary) {
					t.Errorf("on the way: %s", text)
				}
				if read(t, text).Type != stripped {
					return text
				}
				out := strip.Replace(text)
				if out == text {
					t.Fatalf("there is nothing to strip in %s", text)
				}
				return out
			}
			request := sealedMessage(t, performatives.ActRequest)
			hello := far.message(passed(near.send(request))).Message
			items := near.all(passed(far.send(answered(t, hello, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}))))
			if len(items) == 0 || items[0].Message == nil || !items[0].Message.Answers(request) || !errors.Is(items[0].Message.AsRefusal(), performatives.CodeIncapable) {
				t.Fatalf("got %+v", items)
			}
			for _, in := range items {
				if len(in.Answer) > 0 {
					passed(string(in.Answer))
				}
			}
			refusesSealed(t, near, sealedMessage(t, performatives.ActRequest))
			back := sealedMessage(t, performatives.ActRequest, func(e *performatives.Envelope) { e.Sender, e.Receiver = "agent-1", "Eddy" })
			if stripped == "handshake_request" {
				refusesSealed(t, far, back)
				return
			}
			in := near.one(far.send(back)) // sealed: far believes that both have agreed
			if in.Message != nil || in.Err == nil || !errors.Is(in.Err, performatives.CodeInvalidPayload) {
				t.Fatalf("got %+v", in)
			}
			told := far.all(passed(string(in.Answer)))[0].Message
			if told == nil || !told.Answers(back) || !errors.Is(told.AsRefusal(), performatives.CodeInvalidPayload) {
				t.Errorf("the sender is told %+v", told)
			}
		})
	}
}
