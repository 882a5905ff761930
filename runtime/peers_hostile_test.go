package runtime_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// A peer that reconnects a hundred times leaves no state.
func TestReconnectStorm(t *testing.T) { synctest.Test(t, reconnectStorm) }

func reconnectStorm(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := connected(t, h, "out", crew{"Jules": returning(reporter), "Eddy": returning(reporter)})
	for i := range 100 {
		o.disconnect()
		if err := o.up.Connect(patience.Context(t)); err != nil { // at once, while the hub still cleans up
			t.Fatal(err)
		}
		h.awaitVisibleAgain("Jules", i+1)
		h.awaitVisibleAgain("Eddy", i+1)
	}
	if _, err := h.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	if n := h.Counts().Remote; n != 2 {
		t.Errorf("%d agents are registered", n)
	}
}

func TestPeerWithManyActions(t *testing.T) {
	h := newHub(t, noPeerOptions)
	c := newCaller(t, h, nil)
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprint("action ", i))
	}
	c.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers(names...)))
	c.answer(1)
	if e, ok := h.Directory().Lookup("Jules"); !ok || len(e.Capabilities.Actions) != len(names) {
		t.Errorf("it is found %t, with %d actions", ok, len(e.Capabilities.Actions))
	}
	other := newCaller(t, h, nil)
	other.say(message(t, "Eddy", "system", performatives.ActTaskRequest, with(task("ACTION-9999"))))
	if m := c.answer(2); m.Performative() != performatives.ActTaskRequest {
		t.Errorf("got %s", m.Performative())
	}
}

// Long messages are queued up to LongBytes and then refused; short ones are still
// accepted.
func TestLongMessagesToABusyAgent(t *testing.T) {
	const length, fit, sent = 64 << 10, 15, 40
	h := newHubOf(t, newNode(t, runtime.Options{Name: "hub", LongBytes: fit*length + length/2}), noPeerOptions)
	held, release := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(held); <-release })
	h.spawn("Slow", always(scripted{receive: func(c *actors.Context, m *performatives.Message) { once(); echo(c, m) }}))
	c := newCaller(t, h, nil)
	c.say(message(t, "Jules", "Slow", performatives.ActRequest))
	<-held
	text := performatives.Raw(`{"x":"` + strings.Repeat("x", length) + `"}`)
	for range sent {
		c.say(message(t, "Jules", "Slow", performatives.ActRequest, with(text)))
	}
	c.say(message(t, "Jules", "Slow", performatives.ActRequest))
	busy := 0
	for _, m := range c.Await(t, sent-fit) {
		if errors.Is(m.AsRefusal(), performatives.CodeBusy) {
			busy++
		}
	}
	if busy != sent-fit {
		t.Errorf("%d of %d are refused as busy", busy, sent-fit)
	}
	close(release)
	if got := c.Await(t, 1+sent+1); len(got) != 1+sent+1 {
		t.Errorf("%d answers", len(got))
	}
}

// When one agent sends over two sessions alternately, one of the sessions remains.
func TestTwoSessionsOneAgent(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{})
	h.spawn("Eliza", always(scripted{receive: echo}))
	first, second := newCaller(t, h, nil), newCaller(t, h, nil)
	first.say(message(t, "Jules", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	first.answer(1)
	second.say(message(t, "JULES", "system", performatives.ActQueryCapabilities, offers("debug_code")))
	if m := second.answer(1); m.Performative() != performatives.ActInformCapabilities {
		t.Errorf("the second is told %v", m.AsRefusal())
	}
	first.AwaitEnd(t, 1)
	second.say(message(t, "Jules", "Eliza", performatives.ActRequest))
	if m := second.answer(2); m.Performative() != performatives.ActInform {
		t.Errorf("the second is told %v", m.AsRefusal())
	}
}
