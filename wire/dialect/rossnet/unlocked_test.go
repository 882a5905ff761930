package rossnet

import (
	"errors"
	goruntime "runtime"
	"sync"
	"testing"

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
	ran := func(what string) {
		t.Helper()
		if calls == 0 {
			t.Errorf("%s: no code was called", what)
		}
		calls = 0
	}
	registry := new(performatives.Registry)
	if err := performatives.RegisterMessageType[probe](registry, "PROBE", performatives.ActRequest); err != nil {
		t.Fatal(err)
	}
	c = open(t, func(o *wire.CodecOptions) {
		o.Registry, o.Token = registry, func() string {
			if err := probed(); err != nil {
				t.Error(err)
			}
			return "secret"
		}
	})
	accept(t, c, frameOf("PROBE", "A", "B", "c", `{}`))
	ran("a request is read")
	asked, err := performatives.New(performatives.Envelope{
		ID: "q", Sender: "B", Receiver: "A", Timestamp: noon, Performative: performatives.ActRequest, MessageType: "PROBE", Payload: probe{},
	})
	if err != nil {
		t.Fatal(err)
	}
	calls = 0
	write(t, c, asked)
	ran("a request is written")
	m := accept(t, c, frameOf(kindAssign, "A", "B", "c", task))
	answer, err := m.Reply(performatives.Stamp{ID: "a", Time: noon},
		performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(probe{})})
	if err != nil {
		t.Fatal(err)
	}
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

// A request whose answer is read while its CANCEL is written has ended: nothing stays of the CANCEL.
func TestCancelMeetsTheAnswer(t *testing.T) {
	c := open(t)
	m, err := performatives.New(performatives.Envelope{
		ID: "q", Sender: "A", Receiver: "B", ConversationID: "c", Timestamp: noon, Payload: performatives.TaskRequest{TaskType: "t"},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, m)
	cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, with(t, cancel, func() { accept(t, c, frameOf(kindError, "B", "A", "c", `{"error_code":"E004","error_message":"no"}`)) }))
	if x := c.asked.Find("A", "cancel"); x != nil || c.asked.Len() != 0 {
		t.Errorf("%+v is left, of %d", x, c.asked.Len())
	}
}

// While the answer to a request is written, another goroutine reads its CANCEL.
func TestCancelIsReadWhileItIsAnswered(t *testing.T) {
	c := open(t)
	m := accept(t, c, frameOf(kindAssign, "A", "B", "c", task))
	answer, err := m.Reply(performatives.Stamp{ID: "answer", Time: noon}, performatives.Failure{ErrorCode: performatives.CodeFailed})
	if err != nil {
		t.Fatal(err)
	}
	var reads sync.WaitGroup
	write(t, c, with(t, answer, func() {
		reads.Go(func() {
			if all := c.items(frameOf("CANCEL", "A", "B", "c", `{"subtask_id":"s-1"}`)); len(all) != 1 || all[0].Message == nil {
				t.Errorf("%+v", all)
			}
		})
		for range 1000 { // the frame is read, and nothing tells this goroutine so
			goruntime.Gosched()
		}
	}))
	reads.Wait()
}
