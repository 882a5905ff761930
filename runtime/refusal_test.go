package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// silent is an agent without Receive.
type silent struct{}

func (silent) Describe() performatives.Capabilities { return performatives.Capabilities{} }

// blocked spawns an agent that blocks in its first message until the test ends, and waits
// until it does.
func blocked(t *testing.T, n *runtime.Node, id performatives.AgentID, capacity int) (release func()) {
	t.Helper()
	busy, free := make(chan struct{}, 1), make(chan struct{})
	err := n.Spawn(patience.Context(t), id, always(scripted{receive: func(*actors.Context, *performatives.Message) {
		select {
		case busy <- struct{}{}:
		default:
		}
		<-free
	}}), runtime.WithCapacity(capacity))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Send(message(t, "x", id, performatives.ActInform)); err != nil {
		t.Fatal(err)
	}
	<-busy
	return func() { close(free) }
}

// The sender of each invalid message gets a refusal with the reason.
func TestBadInput(t *testing.T) {
	n := newNode(t, runtime.Options{})
	ctx := patience.Context(t)
	for id, create := range map[performatives.AgentID]func() actors.Agent{
		"silent": func() actors.Agent { return silent{} },
		"panics": always(scripted{receive: func(*actors.Context, *performatives.Message) { panic("secret") }}),
		"gone":   always(scripted{}),
		"echo":   always(scripted{receive: echo}),
	} {
		if err := n.Spawn(ctx, id, create); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.StopAgent(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(blocked(t, n, "full", 1))
	if err := n.Send(message(t, "x", "full", performatives.ActInform)); err != nil {
		t.Fatal(err)
	}
	past := func(e *performatives.Envelope) { e.ReplyBy = time.Now().Add(-time.Second) }
	tests := map[string]struct {
		to   performatives.AgentID
		mod  func(*performatives.Envelope)
		want performatives.Code
	}{
		"unknown agent":    {"nobody", nil, performatives.CodeUnknownAgent},
		"full mailbox":     {"full", nil, performatives.CodeBusy},
		"stopped agent":    {"Gone", nil, performatives.CodeStopped},
		"expired deadline": {"echo", past, performatives.CodeExpired},
		"no such skill":    {"silent", nil, performatives.CodeIncapable},
		"panic":            {"panics", nil, performatives.CodeInternal},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := n.Counts()
			m := message(t, n.Self().ID(), tt.to, performatives.ActRequest)
			if tt.mod != nil {
				m = message(t, n.Self().ID(), tt.to, performatives.ActRequest, tt.mod)
			}
			got := refusalOf(ctx, n, m)
			if got == nil || got.Code != tt.want || got.About != m.ID() {
				t.Errorf("got %+v, want %s about %s", got, tt.want, m.ID())
			}
			if after := n.Counts(); after.Refused != before.Refused+1 || after.DeadLetters != before.DeadLetters {
				t.Errorf("counted %+v, before %+v", after, before)
			}
		})
	}
}

// refusalOf sends a request and returns the refusal, from Send or as a message.
func refusalOf(ctx context.Context, n *runtime.Node, m *performatives.Message) *performatives.Refusal {
	answer, err := n.Self().Ask(ctx, m)
	if err == nil {
		return answer.AsRefusal()
	}
	r, _ := errors.AsType[*performatives.Refusal](err)
	return r
}

// A message that expects no reply is a dead letter with the same code.
func TestDeadLetters(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	for to, want := range map[performatives.AgentID]performatives.Code{
		"nobody": performatives.CodeUnknownAgent,
		"silent": performatives.CodeConversationEnded,
		"panics": performatives.CodeInternal,
	} {
		if to == "silent" {
			_ = n.Spawn(patience.Context(t), to, func() actors.Agent { return silent{} })
		}
		if to == "panics" {
			_ = n.Spawn(patience.Context(t), to, always(scripted{receive: func(*actors.Context, *performatives.Message) { panic(1) }}))
		}
		m := message(t, "x", to, performatives.ActInform)
		err := n.Send(m)
		if (err != nil) != (to == "nobody") {
			t.Errorf("%s: Send: %v", to, err)
		}
		got := await(t, r, 1, func(d events.DeadLetter) bool { return d.Message == m })
		if len(got) != 1 || got[0].Code != want || got[0].To != string(to) {
			t.Errorf("%s: got %+v, want %s", to, got, want)
		}
	}
	if c := n.Counts(); c.DeadLetters != 3 || c.Refused != 0 {
		t.Errorf("counted %+v", c)
	}
}

func TestMalformed(t *testing.T) {
	n := newNode(t, runtime.Options{})
	_, err := n.Ask(patience.Context(t), "anyone", performatives.TaskRequest{})
	if r, ok := errors.AsType[*performatives.Refusal](err); !ok || r.Code != performatives.CodeInvalidPayload || r.Field == "" {
		t.Errorf("got %v", err)
	}
	err = n.Self().Send(message(t, "somebody", "else", performatives.ActInform))
	if r, ok := errors.AsType[*performatives.Refusal](err); !ok || r.Code != performatives.CodeForbidden || r.Field != "sender" {
		t.Errorf("got %v", err)
	}
}

// Messages queued when an agent stops are refused.
func TestStopAgentDrains(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	release := blocked(t, n, "a", 10)
	for range 3 {
		if err := n.Send(message(t, n.Self().ID(), "a", performatives.ActRequest)); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() { done <- n.StopAgent(patience.Context(t), "a") }()
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, e := range r.all() {
		if m, ok := e.(events.MessageRefused); ok && m.Refusal.Code == performatives.CodeStopped {
			got++
		}
	}
	if handled := len(await[events.MessageReceived](t, r, 1, func(m events.MessageReceived) bool { return m.Agent == "a" })); handled+got != 4 {
		t.Errorf("%d handled, %d refused, want 4 in all, as StopAgent returns", handled, got)
	}
	if _, found := n.Directory().Lookup("a"); found {
		t.Error("it is still in the directory")
	}
}

func TestBroadcast(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	m := message(t, "x", "", performatives.ActInform)
	if err := n.Send(m); code(err) != performatives.CodeUnknownAgent {
		t.Errorf("to nobody: %v", err)
	}
	t.Cleanup(blocked(t, n, "full", 1))
	if err := n.Send(message(t, "x", "full", performatives.ActInform)); err != nil {
		t.Fatal(err)
	}
	if err := n.Send(message(t, "x", "", performatives.ActRequest)); code(err) != performatives.CodeBusy {
		t.Errorf("to one who is busy: %v", err)
	}
	for _, id := range []performatives.AgentID{"a", "b"} {
		_ = n.Spawn(patience.Context(t), id, always(scripted{receive: echo}))
	}
	m = message(t, n.Self().ID(), "", performatives.ActRequest)
	if err := n.Send(m); err != nil {
		t.Fatal(err)
	}
	await(t, r, 2, func(e events.MessageReceived) bool { return e.Message == m })
	refused := await(t, r, 1, func(e events.MessageRefused) bool { return e.Message == m })
	if len(refused) != 1 || refused[0].Refusal.From != "full" {
		t.Errorf("got %+v", refused)
	}
}
