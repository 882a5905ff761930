package rag

import (
	"errors"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// probe is an application's payload whose code needs the session, as that of another goroutine may.
type probe struct {
	A int `json:"a"`
}

var probed func() error

func (p probe) MarshalJSON() ([]byte, error) { return []byte(`{"a":1}`), probed() }

func (p *probe) UnmarshalJSON([]byte) error { return probed() }

func (p probe) Validate() error { return probed() }

// openProbed returns a codec that knows the probe as the payload of a request and of a result.
func openProbed(t *testing.T, token func() string) *codec {
	t.Helper()
	registry := new(performatives.Registry)
	for name, act := range map[string]performatives.Performative{"PROBE": performatives.ActRequest, "PROBE_DONE": performatives.ActInformResult, "PROBE_CANCEL": performatives.ActCancel} {
		if err := performatives.RegisterMessageType[probe](registry, name, act); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, func(o *wire.CodecOptions) { o.Registry, o.Token = registry, token })
}

// An application's code runs while the codec is not locked: that of its payloads, of the contents
// of others, and of the token.
func TestApplicationsCodeRunsUnlocked(t *testing.T) {
	var c *codec
	calls := 0
	probed = func() error {
		calls++
		if !c.mu.TryLock() {
			return errors.New("the codec is locked")
		}
		c.mu.Unlock()
		return nil
	}
	c = openProbed(t, func() string {
		if err := probed(); err != nil {
			t.Error(err)
		}
		return "secret"
	})
	ran := func(what string) {
		t.Helper()
		if calls == 0 {
			t.Errorf("%s: no code was called", what)
		}
		calls = 0
	}
	accept(t, c, frameOf("PROBE", "A", "B", "ret-c-001", `{}`))
	ran("a request is read")
	asked := newMessage(t, performatives.Envelope{
		ID: "q", Sender: "B", Receiver: "A", ConversationID: "d", Performative: performatives.ActRequest, MessageType: "PROBE", Payload: probe{},
	})
	ran("a request is made")
	write(t, c, asked)
	ran("a request is written")
	if m := accept(t, c, frameOf("PROBE_DONE", "A", "System", "ret-d-001", `{}`)); m.Receiver() != "B" || m.InReplyTo() != "q" {
		t.Errorf("the answer is for %s, to %s", m.Receiver(), m.InReplyTo())
	}
	ran("an answer is read")
	task := accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-e-001", query))
	answer := reply(t, task, performatives.ActInformResult, performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(probe{})})
	calls = 0
	write(t, c, answer)
	ran("a content is written")
}

// with returns m with a budget whose code calls f once, when it is written.
func with(t *testing.T, m *performatives.Message, f func()) *performatives.Message {
	t.Helper()
	probed = func() error { return nil }
	m, err := m.With(func(e *performatives.Envelope) { e.Budget = performatives.ContentOf(probe{}) })
	if err != nil {
		t.Fatal(err)
	}
	probed = func() error {
		probed = func() error { return nil }
		f()
		return nil
	}
	return m
}

// A request whose answer is read while its CANCEL is written has ended. The receipt answers the
// CANCEL.
func TestCancelMeetsTheAnswer(t *testing.T) {
	c := openProbed(t, nil)
	m := request(t, "A", "B", "retrieval_request", query)
	trace := jsonscan.Text(jsonscan.Member([]byte(write(t, c, m)), "trace_id"))
	cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	out := write(t, c, with(t, cancel, func() { accept(t, c, frameOf("RETRIEVAL_RESULT", "B", "A", trace, `{"retrieved_chunks":[]}`)) }))
	receipt := accept(t, c, frameOf("INFORM", "B", "A", jsonscan.Text(jsonscan.Member([]byte(out), "trace_id")), `{}`))
	if receipt.InReplyTo() != "cancel" || receipt.ConversationID() != cancel.ConversationID() {
		t.Errorf("the receipt answers %s in %s", receipt.InReplyTo(), receipt.ConversationID())
	}
}

// A CANCEL of the peer whose request is answered while it is read gets a receipt with its trace id.
func TestAnswerMeetsTheCancel(t *testing.T) {
	c := openProbed(t, nil)
	answer := reply(t, accept(t, c, frameOf(typeRetrieval, "A", "B", "ret-c-001", query)), performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed})
	probed = func() error {
		probed = func() error { return nil }
		write(t, c, answer)
		return nil
	}
	cancel := accept(t, c, frameOf("PROBE_CANCEL", "A", "B", "ret-c-001", `{}`))
	out := write(t, c, reply(t, cancel, performatives.ActInform, performatives.Receipt{}))
	if trace := jsonscan.Text(jsonscan.Member([]byte(out), "trace_id")); trace != "ret-c-001" {
		t.Errorf("the receipt has the trace id %s", trace)
	}
}

// A malformed error about a request that ends while the error is read does not end it once more.
func TestMalformedErrorMeetsAnother(t *testing.T) {
	registry := new(performatives.Registry)
	if err := performatives.RegisterMessageType[probe](registry, typeError, performatives.ActFailure); err != nil {
		t.Fatal(err)
	}
	c := open(t, func(o *wire.CodecOptions) { o.Registry = registry })
	trace := jsonscan.Text(jsonscan.Member([]byte(write(t, c, request(t, "A", "B", "retrieval_request", query))), "trace_id"))
	malformed := frameOf(typeError, "B", "A", "err-conv-001",
		`{"original_request":{"type":"RETRIEVAL_REQUEST","trace_id":"`+trace+`"},"error_code":"INTERNAL_ERROR","error_message":"no","retry_possible":false,"suggested_action":"none"}`)
	read, told := 0, 0
	probed = func() error {
		if read++; read == 1 {
			told += len(c.items(malformed)) - 1
		}
		return errors.New("malformed")
	}
	told += len(c.items(malformed)) - 1
	if read != 2 || told != 1 || c.asked.Len() != 0 {
		t.Errorf("of %d errors, the asker is told %d times, %d requests are open", read, told, c.asked.Len())
	}
}

// While a message is written, another goroutine reads what changes its request, or the registration
// of its receiver.
func TestReadsWhileItWrites(t *testing.T) {
	registered := frameOf(typeRegistration, "A", "System", "reg", `{"agent_id":"A","agent_type":"t","capabilities":[],"message_types":["TASK_ACCEPT"],"status":"active"}`)
	for name, one := range map[string]struct {
		asked  string
		act    performatives.Performative
		answer any
		frame  string
	}{
		"a CANCEL":                            {frameOf(typeRetrieval, "A", "B", "ret-c-001", query), performatives.ActFailure, performatives.Failure{ErrorCode: performatives.CodeFailed}, frameOf("CANCEL", "A", "B", "ret-c-001", withdrawal)},
		"a registration":                      {frameOf(typeRetrieval, "A", "B", "ret-c-001", query), performatives.ActTaskAccept, performatives.TaskAccept{}, registered},
		"a registration while it is answered": {registered, performatives.ActInformCapabilities, performatives.InformCapabilities{Capabilities: &performatives.Capabilities{}}, registered},
	} {
		c := open(t, func(o *wire.CodecOptions) { o.Stamper = wire.SystemStamper{} })
		accept(t, c, registered)
		m := accept(t, c, one.asked)
		var reads sync.WaitGroup
		answer := with(t, reply(t, m, one.act, one.answer), func() {
			reads.Go(func() {
				if all := c.items(one.frame); len(all) != 1 || all[0].Message == nil {
					t.Errorf("%s: %+v", name, all)
				}
			})
			for range 1000 { // the frame is read, and nothing tells this goroutine so
				goruntime.Gosched()
			}
		})
		if write(t, c, answer) == "" {
			t.Errorf("%s: nothing is written", name)
		}
		reads.Wait()
	}
}
