package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// probe is an application's payload whose code needs the session, as that of another goroutine may.
type probe struct{ A int }

var probed func() error

func (p probe) MarshalJSON() ([]byte, error) { return []byte(`{"A":1}`), probed() }

func (p *probe) UnmarshalJSON([]byte) error { return probed() }

// An application's code runs while the session is not locked, and may fail in any way: the session
// goes on.
func TestPayloadsAreReadAndWrittenUnlocked(t *testing.T) {
	registry := new(performatives.Registry)
	if err := performatives.RegisterMessageType[probe](registry, "PROBE", performatives.ActRequest); err != nil {
		t.Fatal(err)
	}
	p := greeted(t, wire.CodecOptions{Registry: registry})
	s := p.codec.(*session)
	calls := 0
	probed = func() error {
		calls++
		if !s.mu.TryLock() {
			return errors.New("the session is locked")
		}
		s.mu.Unlock()
		return nil
	}
	in := p.one(frame("m-1", "request", "agent-1", "Eddy", "", `{"tool_name":"PROBE","arguments":{}}`))
	if in.Message == nil || calls == 0 {
		t.Fatalf("%v after %d calls", in.Err, calls)
	}
	typed := func(e *performatives.Envelope) { e.Performative, e.MessageType = performatives.ActRequest, "PROBE" }
	calls = 0
	if w := read(t, p.send(asked(t, probe{}, typed))); calls == 0 || w.Payload["tool_name"] != "PROBE" {
		t.Errorf("%+v after %d calls", w, calls)
	}
	probed = func() error { panic("an application's fault") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = p.codec.Encode(nil, asked(t, probe{}, typed))
	}()
	probed = func() error { return json.Unmarshal([]byte("{"), new(any)) }
	if _, err := p.codec.Encode(nil, asked(t, probe{}, typed)); err == nil {
		t.Error("a payload without JSON is written")
	}
	if n := s.asks.Len(); n != 1 {
		t.Errorf("%d requests are open", n)
	}
}

// The token of this end comes from an application. It is asked for once for each message, while the
// session is not locked, and the handshake that the codec puts before a message has the same one.
func TestTokenIsAskedForUnlocked(t *testing.T) {
	var s *session
	var wrong error
	calls := 0
	p := newPeer(t, wire.CodecOptions{Initiator: true, Token: func() string {
		if calls++; !s.mu.TryLock() {
			wrong = errors.New("the session is locked")
			return ""
		}
		s.mu.Unlock()
		return fmt.Sprint("token-", calls)
	}})
	s = p.codec.(*session)
	hello := p.send(task(t, "Eddy", "one"))
	in := p.all(accept(read(t, hello).ID, welcome))
	if wrong != nil || calls != 1 || len(in) == 0 {
		t.Fatalf("%v, %d calls, %d items", wrong, calls, len(in))
	}
	for _, frame := range []string{hello, string(in[0].Answer)} {
		if got := jsonscan.Text(jsonscan.Member([]byte(frame), exchange.MemberToken)); got != "token-1" {
			t.Errorf("the token %q in %s", got, frame)
		}
	}
}

// The payload of an answer is an application's. It is marshalled once.
func TestRefusalIsMarshalledOnce(t *testing.T) {
	registry := new(performatives.Registry)
	if err := performatives.RegisterMessageType[probe](registry, "PROBE_FAILED", performatives.ActFailure); err != nil {
		t.Fatal(err)
	}
	p := greeted(t, wire.CodecOptions{Registry: registry})
	in := p.message(frame("m-1", "request", "agent-1", "Eddy", "", `{"tool_name":"paint","arguments":{}}`))
	answer, err := in.Message.ReplyFrom("Eddy", stampOf(), performatives.ActFailure, probe{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = answer.With(func(e *performatives.Envelope) { e.MessageType = "PROBE_FAILED" }); err != nil {
		t.Fatal(err)
	}
	calls := 0
	probed = func() error {
		calls++
		return nil
	}
	if w := read(t, p.send(answer)); w.Type != "error" || w.details()["payload"] == nil || calls != 1 {
		t.Errorf("%+v after %d calls", w, calls)
	}
}

// A CANCEL whose request is answered while it is read has no effect, and nothing stays of it.
func TestCancelMeetsTheAnswer(t *testing.T) {
	p := greeted(t, wire.CodecOptions{})
	s := p.codec.(*session)
	in := p.message(frame("m-1", "request", "agent-1", "Eddy", "", `{"tool_name":"paint","arguments":{}}`))
	d := decoder{codec: s.codec, session: s}
	cancel, failed := s.codec.decode(&d, []byte(frame("c-1", "notification", "agent-1", "", "m-1", `{"event_type":"cancel","data":{}}`)))
	if failed != nil {
		t.Fatal(failed)
	}
	p.send(answered(t, in.Message, performatives.InformResult{Status: performatives.StatusSuccess}))
	if in := s.received(&d, wire.Inbound{Message: cancel}); in.Message != nil || s.calls.Find("agent-1", "c-1") != nil {
		t.Errorf("%+v, of a request that has ended", in)
	}
}

// While one goroutine writes and another one reads, each message is written once: those from before
// the end of the handshake after it. Each request ends with its answer.
func TestWritesAndReadsAtOnce(t *testing.T) {
	const messages = 300
	p := newPeer(t, wire.CodecOptions{Local: "node", Initiator: true, Stamper: wire.SystemStamper{}})
	all := make([]*performatives.Message, messages)
	for i := range all {
		all[i] = task(t, "Eddy", "one")
	}
	written := make(chan string, 2*messages)
	go func() {
		defer close(written)
		for _, m := range all {
			out, err := p.codec.Encode(nil, m)
			if err != nil {
				t.Error(err)
			}
			if len(out) > 0 {
				written <- string(out)
			}
		}
	}()
	ids := make(map[string]int)
	answer := func(text string) []wire.Inbound {
		w := read(t, text)
		if w.Type == "handshake_request" {
			return p.all(accept(w.ID, welcome))
		}
		ids[w.ID]++
		return p.all(frame("a-"+w.ID, "response", "far", "Eddy", w.ID, `{"success":true}`))
	}
	answers := 0
	for text := range written {
		for _, in := range answer(text) {
			if len(in.Answer) > 0 { // it was held until the end of the handshake
				for _, in := range answer(string(in.Answer)) {
					answers += min(len(in.Message.InReplyTo()), 1)
				}
			} else if in.Message != nil {
				answers++
			}
		}
	}
	s := p.codec.(*session)
	if len(ids) != messages || answers != messages || s.asks.Len() != 0 || s.held != 0 {
		t.Errorf("%d messages, %d answers, %d requests, %d bytes are left", len(ids), answers, s.asks.Len(), s.held)
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("%s is written %d times", id, n)
		}
	}
}
