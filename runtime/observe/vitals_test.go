package observe

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// What is kept is bounded: agents by their number, and open requests by two generations, of which
// the older is forgotten.
func TestVitalsBounded(t *testing.T) {
	h := newHealth()
	for i := range maxVitals + 2 {
		if v := h.of(performatives.AgentID(fmt.Sprint("a", i))); (v == nil) != (i >= maxVitals) {
			t.Fatalf("%d: %v", i, v)
		}
	}
	for i := range 2*maxAsked + 1 {
		h.note(h.question("a", fmt.Sprint(i)), asked{at: time.Unix(1, 0)})
	}
	if _, ok := h.find(h.question("a", "0")); ok || len(h.younger) != 1 || len(h.older) != maxAsked {
		t.Errorf("%v, %d and %d", ok, len(h.younger), len(h.older))
	}
	if _, ok := h.find(h.question("a", fmt.Sprint(maxAsked))); !ok {
		t.Error("the older generation is forgotten too early")
	}
}

// A request that waits for its answer, and an agent with counts, hold no memory of a message: ids
// may be parts of a long one.
func TestVitalsHoldNoMessage(t *testing.T) {
	h := newHealth()
	const requests, length = 1000, 64 << 10
	before := heap()
	for i := range requests {
		frame := fmt.Sprintf("m%04d asker%04d worker%04d %s", i, i, i, strings.Repeat("x", length))
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(frame[:5]), Performative: performatives.ActRequest, Sender: performatives.AgentID(frame[6:15]),
			Receiver: performatives.AgentID(frame[16:26]), ReplyWith: frame[:4], Timestamp: time.Unix(1, 0), Payload: performatives.Raw(`{}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		h.sent(&events.MessageSent{At: events.At{Time: time.Unix(1, 0)}, Message: m})
		h.received(&events.MessageReceived{At: events.At{Time: time.Unix(1, 0)}, Agent: m.Receiver(), Message: m})
	}
	if grown := heap() - before; grown > requests*length/4 {
		t.Errorf("%d requests hold %d bytes", requests, grown)
	}
	if len(h.younger) != 2*requests || len(h.agents) != requests {
		t.Errorf("%d references, %d agents", len(h.younger), len(h.agents))
	}
}

// The counts of an agent end with it, and not when its supervisor starts it again.
func TestHealthIsForgotten(t *testing.T) {
	n, err := runtime.New(runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := NewHealthCounter(n)
	c.once.Do(c.begin)
	defer c.Close()
	r, err := New(n, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := n.Stop(t.Context()); err != nil { // the events of its own agent are over
		t.Fatal(err)
	}
	m, err := performatives.New(performatives.Envelope{
		ID: "1", Performative: performatives.ActInform, Sender: "a", Receiver: "W", ConversationID: "c", Timestamp: time.Unix(1, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	received := events.MessageReceived{Agent: "W", Message: m}
	for _, step := range []struct {
		event events.Event
		known bool
	}{
		{received, true},
		{events.AgentStopped{Agent: "w"}, false},
		{received, true},
		{events.AgentStarted{Agent: "w", Again: true}, true}, // by its supervisor
		{events.AgentStarted{Agent: "w"}, false},             // its stop was lost
	} {
		n.Events().Publish(step.event)
		for by, health := range map[string]func() map[performatives.AgentID]*vitals{
			"counter":  func() map[performatives.AgentID]*vitals { defer c.lock().Unlock(); return maps.Clone(c.vitals.agents) },
			"recorder": func() map[performatives.AgentID]*vitals { defer r.lock().Unlock(); return maps.Clone(r.vitals.agents) },
		} {
			if known := health()["w"] != nil; known != step.known {
				t.Errorf("%s: after %+v: %v", by, step.event, known)
			}
		}
	}
}

// heap returns the bytes that are in use.
func heap() int {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
