package gateway

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

const withdrawal = `{"id":"e","timestamp":"2024-01-15T10:30:45.789Z","source":"peer","mcp_payload":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}}`

// A call that comes after its CANCEL gets an error, and so does its copy. A later call of another
// content with its id is served.
func TestCallAfterItsCancel(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Stamper: &clock{}})
	if in := one(t, c, withdrawal); in.Message != nil || in.Err != nil || in.Answer != nil {
		t.Fatalf("%+v", in)
	}
	for range 2 {
		in := one(t, c, toolCall("7"))
		if in.Message != nil || !errors.Is(in.Err, performatives.CodeCanceled) {
			t.Fatalf("%+v", in)
		}
		if text := string(in.Answer); !strings.Contains(text, `"id":7`) || !strings.Contains(text, `"error":{`) || !strings.Contains(text, "cancel") {
			t.Errorf("answered by %s", text)
		}
	}
	for name, frame := range map[string]string{
		"of another id":      toolCall("8"),
		"of another source":  strings.Replace(toolCall("7"), `"peer"`, `"other"`, 1),
		"of another content": strings.Replace(toolCall("7"), `"name":"a"`, `"name":"b"`, 1),
	} {
		if in := one(t, c, frame); in.Message == nil {
			t.Errorf("a call %s: %v", name, in.Err)
		}
	}
}

// A CANCEL is forgotten after some minutes.
func TestEarlyCancelExpires(t *testing.T) {
	at := &clock{}
	c := open(t, Options{}, wire.CodecOptions{Stamper: at})
	one(t, c, withdrawal)
	at.ahead = time.Hour
	if in := one(t, c, toolCall("7")); in.Message == nil {
		t.Error(in.Err)
	}
}

// A CANCEL of a call that has ended is not for the next one with its id.
func TestCancelOfAnEndedCall(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Stamper: &clock{}})
	answered(t, c, one(t, c, toolCall("7")), "a", performatives.ActInformResult, `{"task_status":"success"}`)
	one(t, c, withdrawal)
	if in := one(t, c, strings.Replace(toolCall("7"), `"name":"a"`, `"name":"b"`, 1)); in.Message == nil {
		t.Error(in.Err)
	}
}

// A request of this node that is written after its CANCEL is refused instead, and others are
// written.
func TestOwnRequestAfterItsCancel(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Stamper: &clock{}})
	m := ask(t, 1, performatives.TaskRequest{TaskType: "a"})
	cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: epoch}, performatives.Cancel{Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := wiretest.Encode(t, c, cancel); err != nil || len(out) != 0 {
		t.Errorf("%v, written %s", err, out)
	}
	for range 2 {
		var r *performatives.Refusal
		if out, err := wiretest.Encode(t, c, m); !errors.As(err, &r) || r.Code != performatives.CodeCanceled || r.About != m.ID() || len(out) != 0 {
			t.Errorf("%v, written %s", err, out)
		}
	}
	if out, err := wiretest.Encode(t, c, ask(t, 2, performatives.TaskRequest{TaskType: "a"})); err != nil || len(out) == 0 {
		t.Errorf("%v, written %s", err, out)
	}
}

// A call that comes again after it was cancelled is answered.
func TestCancelledCallComesAgain(t *testing.T) {
	c := open(t, Options{}, wire.CodecOptions{Stamper: &clock{}})
	first := one(t, c, toolCall("7"))
	if in := one(t, c, withdrawal); in.Message == nil {
		t.Fatalf("%+v", in)
	}
	one(t, c, toolCall("7"))
	if out := answered(t, c, first, "a", performatives.ActInformResult, `{"task_status":"success"}`); !strings.Contains(string(out), `"id":7`) {
		t.Errorf("answered by %q", out)
	}
}

// While one goroutine writes the answer to a call, another one refuses the CANCEL of it.
func TestCancelIsRefusedWhileTheCallIsAnswered(t *testing.T) {
	for range 100 {
		c := open(t, Options{}, wire.CodecOptions{Stamper: wire.SystemStamper{}})
		in := one(t, c, toolCall("7"))
		answer, err := in.Message.Reply(performatives.Stamp{ID: "a", Time: time.Now()}, performatives.InformResult{Status: performatives.StatusSuccess})
		if err != nil {
			t.Fatal(err)
		}
		cancel := one(t, c, withdrawal)
		var refused sync.WaitGroup
		refused.Go(func() { c.Refuse(nil, cancel, performatives.Refused(performatives.CodeBusy, "")) })
		if _, err := c.Encode(nil, answer); err != nil {
			t.Error(err)
		}
		refused.Wait()
	}
}
