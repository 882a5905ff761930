package rossnet

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/wiretest"
)

// refusedAsCanceled decodes a request that must be refused, because its CANCEL came before.
func refusedAsCanceled(t *testing.T, c *codec, frame string) {
	t.Helper()
	all := c.items(frame)
	if len(all) != 1 || all[0].Message != nil || !errors.Is(all[0].Err, performatives.CodeCanceled) {
		t.Fatalf("%+v of %s", all, frame)
	}
	if _, text, _ := errorOf(t, all[0].Answer); !strings.Contains(text, "cancel") || jsonscan.Text(jsonscan.Member(jsonscan.Member(all[0].Answer, memHeader), headerNames[memKind])) != kindFail {
		t.Errorf("answered by %s", all[0].Answer)
	}
}

// A request that comes after its CANCEL is refused, and so is its copy: by the subtask_id, or by
// the correlation_id where the CANCEL has no other.
func TestRequestAfterItsCancel(t *testing.T) {
	other := strings.Replace(task, "s-1", "s-2", 1)
	for name, cancel := range map[string]string{"subtask": `{"subtask_id":"s-1","reason":"late"}`, "correlation": `{"reason":"late"}`} {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			accept(t, c, frameOf("CANCEL", "A", "B", "c", cancel))
			accept(t, c, frameOf(kindAssign, "C", "B", "c", task)) // of another agent
			for range 2 {
				refusedAsCanceled(t, c, frameOf(kindAssign, "a", "B", "c", task))
			}
			accept(t, c, strings.Replace(frameOf(kindAssign, "A", "B", "c", other), "TASK_ASSIGN-A", "other", 1))
		})
	}
}

// A CANCEL of a request that has ended is not for the next one of its flow.
func TestCancelOfAnEndedRequest(t *testing.T) {
	for name, cancel := range map[string]string{"subtask": `{"subtask_id":"s-1"}`, "correlation": `{}`} {
		t.Run(name, func(t *testing.T) {
			c := open(t)
			m := accept(t, c, frameOf(kindAssign, "A", "B", "c", task))
			answer, err := m.Reply(performatives.Stamp{ID: "answer", Time: noon}, performatives.Failure{ErrorCode: performatives.CodeFailed})
			if err != nil {
				t.Fatal(err)
			}
			write(t, c, answer)
			accept(t, c, frameOf("CANCEL", "A", "B", "c", cancel))
			accept(t, c, strings.Replace(frameOf(kindAssign, "A", "B", "c", task), "TASK_ASSIGN-A", "other", 1))
		})
	}
}

// A request of this node that is written after its CANCEL is refused instead, and others are
// written.
func TestOwnRequestAfterItsCancel(t *testing.T) {
	c := open(t)
	m, err := performatives.New(performatives.Envelope{
		ID: "m-1", Sender: "A", Receiver: "B", ConversationID: "c", Timestamp: noon, Payload: performatives.TaskRequest{TaskType: "t"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cancel, err := m.Follow(performatives.Stamp{ID: "cancel", Time: noon}, performatives.Cancel{Reason: "late"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, cancel)
	for range 2 {
		var r *performatives.Refusal
		if out, err := wiretest.Encode(t, c, m); !errors.As(err, &r) || r.Code != performatives.CodeCanceled || r.About != m.ID() || len(out) != 0 {
			t.Errorf("%v, written %s", err, out)
		}
	}
	other, err := m.With(func(e *performatives.Envelope) { e.ID = "m-2" })
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, other)
}

// A registered message type with the name of an act is the application's. One with the name of a
// type of the specification is not.
func TestRegisteredNamesOfActs(t *testing.T) {
	r := new(performatives.Registry)
	for _, name := range []string{"INFORM", kindStatus} {
		if err := r.RegisterChecked(name, performatives.ActInform, func(json.RawMessage) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	c := open(t, func(o *wire.CodecOptions) { o.Registry = r })
	if m := accept(t, c, frameOf("INFORM", "A", "B", "c", `{"x":1}`)); m.MessageType() != "INFORM" {
		t.Errorf("INFORM is read as %s with the type %q", m.Performative(), m.MessageType())
	}
	m := accept(t, c, frameOf(kindStatus, "A", "B", "c", `{"subtask_id":"s","progress_percentage":1,"status_description":"d"}`))
	if m.MessageType() != "" || m.Performative() != performatives.ActStatusUpdate {
		t.Errorf("STATUS_UPDATE is read as %s with the type %q", m.Performative(), m.MessageType())
	}
}
