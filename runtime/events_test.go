package runtime_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/lifecycle"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Each event is published once, in order.
func TestEventsOfOneRequest(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	if err := n.Spawn(patience.Context(t), "a", always(scripted{receive: echo})); err != nil {
		t.Fatal(err)
	}
	ask(t, n, "a")
	if err := n.StopAgent(patience.Context(t), "a"); err != nil {
		t.Fatal(err)
	}
	var got []string
	started := map[performatives.AgentID]bool{"node": true} // started before the subscription
	for _, ev := range r.all() {
		if ev.EventTime().IsZero() {
			t.Errorf("%T has no time", ev)
		}
		switch e := ev.(type) {
		case events.MessageSent:
			got = append(got, fmt.Sprintf("sent %s by %s", e.Message.Performative(), e.Message.Sender()))
		case events.AgentStarted:
			started[e.Agent] = true // possibly after the first message to it was sent
		case events.MessageReceived:
			if !started[e.Agent] {
				t.Errorf("%s has received before it started", e.Agent)
			}
			got = append(got, fmt.Sprintf("received %s by %s", e.Message.Performative(), e.Agent))
		default:
			got = append(got, fmt.Sprintf("%T", ev))
		}
	}
	want := []string{
		"sent REQUEST by node", "received REQUEST by a", "sent INFORM by a", "received INFORM by node",
		"events.AgentStopped",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEventsOfDelegation(t *testing.T) {
	n := newNode(t, runtime.Options{})
	r := listen(t, n)
	if err := n.Spawn(patience.Context(t), "w", func() actors.Agent { return succeed }); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Delegate(patience.Context(t), "w", aTask); err != nil {
		t.Fatal(err)
	}
	await(t, r, 2, func(e lifecycle.Transition) bool { return e.Ended && e.Protocol == "task-delegation" })
}

// Without listeners, sending does not allocate for events.
func TestSendAllocates(t *testing.T) {
	if racetest.Enabled {
		t.Skip("the race detector allocates")
	}
	n := newNode(t, runtime.Options{})
	if err := n.Spawn(patience.Context(t), "a", func() actors.Agent { return silentReceiver{} }); err != nil {
		t.Fatal(err)
	}
	m := message(t, "x", "a", performatives.ActInform)
	send := func() {
		for range 100 {
			if err := n.Send(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	send()
	if got := testing.AllocsPerRun(20, send); got > 10 { // the queue may grow
		t.Errorf("%v allocations in 100 sends, want none", got)
	}
	defer n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindMessageDeadLettered}}).Close()
	if got := testing.AllocsPerRun(20, send); got > 10 {
		t.Errorf("%v allocations in 100 sends while someone listens to something else, want none", got)
	}
}

// silentReceiver ignores messages.
type silentReceiver struct{ silent }

func (silentReceiver) Receive(*actors.Context, *performatives.Message) {}
