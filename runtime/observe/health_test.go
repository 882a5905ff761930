package observe_test

import (
	"context"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

// An agent's figures are those of its requests: what it has taken, how long until the result, and
// how many failed.
func TestHealth(t *testing.T) {
	n, r := record(t, observe.Options{})
	testHealth(t, n, r.Health)
}

// Without a recorder, the figures are counted from the first question on, and nothing before.
func TestHealthCounter(t *testing.T) {
	n := start(t)
	c, closed := observe.NewHealthCounter(n), observe.NewHealthCounter(n)
	closed.Close()
	spawn(t, n, "other", nil)
	if h, ok := closed.Health("other"); !ok || !h.CountedSince.IsZero() {
		t.Errorf("closed before: %v %+v", ok, h)
	}
	if _, ok := c.Health("nobody"); ok {
		t.Error("there is nobody")
	}
	if events.Wants[events.MessageSent](n.Events()) {
		t.Error("it counts before it is asked")
	}
	testHealth(t, n, c.Health)
	if _, err := n.Delegate(patience.Context(t), "w", performatives.TaskRequest{TaskType: "work"}); err == nil {
		t.Error("the task does not fail")
	}
	c.Close()
	if events.Wants[events.MessageSent](n.Events()) {
		t.Error("it counts after the end")
	}
	for range 2 {
		if h, ok := c.Health("w"); !ok || h.Processed != 1 || h.ErrorRate != 1 {
			t.Errorf("at the end: %v %+v", ok, h)
		}
	}
	c.Close()
}

func testHealth(t *testing.T, n *runtime.Node, health func(performatives.AgentID) (runtime.Health, bool)) {
	t.Helper()
	fails := false
	spawn(t, n, "w", func(context.Context) (performatives.InformResult, error) {
		if fails {
			return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeTimeout, Text: "no model"}
		}
		return performatives.InformResult{Status: performatives.StatusFailure}, nil // the work was done, and its answer is no
	})
	if h, ok := health("W"); !ok || h.Agent != "w" || h.Status != "active" || h.Processed != 0 || !h.LastHeartbeat.IsZero() || h.CountedSince.IsZero() {
		t.Errorf("before: %v %+v", ok, h)
	}
	if _, ok := health("nobody"); ok {
		t.Error("there is nobody")
	}
	for i := range 4 {
		fails = i == 3
		if _, err := n.Delegate(patience.Context(t), "w", performatives.TaskRequest{TaskType: "work"}); (err != nil) != fails {
			t.Fatal(err)
		}
	}
	h, _ := health("w")
	if h.Processed != 4 || h.ErrorRate != 0.25 || h.ResponseMillis <= 0 || h.LastHeartbeat.IsZero() || h.Reported {
		t.Errorf("after: %+v", h)
	}
	if err := n.StopAgent(patience.Context(t), "w"); err != nil {
		t.Fatal(err)
	}
	if h, ok := health("w"); ok {
		t.Errorf("stopped: %+v", h)
	}
	spawn(t, n, "w", func(context.Context) (performatives.InformResult, error) {
		return performatives.InformResult{}, &performatives.Refusal{Code: performatives.CodeTimeout}
	})
	if h, ok := health("w"); !ok || h.Processed != 0 || h.ErrorRate != 0 {
		t.Errorf("another agent of that name has the counts of the first: %v %+v", ok, h)
	}
}

// spawn starts an agent, and waits for the event of that, with which its counts begin.
func spawn(t *testing.T, n *runtime.Node, id performatives.AgentID, w worker) {
	t.Helper()
	started := n.Events().Subscribe(events.SubscribeOptions{Kinds: []events.Kind{events.KindAgentStarted}})
	defer started.Close()
	if err := n.Spawn(patience.Context(t), id, func() actors.Agent { return w }); err != nil {
		t.Fatal(err)
	}
	if _, err := started.Next(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
}

// The response time is that from the first sight of the request to its result: neither its
// acceptance, nor a copy, nor the answer of another agent, nor one to another asker counts.
func TestResponseTime(t *testing.T) {
	n, r := record(t, observe.Options{})
	spawn(t, n, "w", nil)
	spawn(t, n, "other", nil)
	say := func(second int64, from, to performatives.AgentID, id, about, ref string, payload any) *performatives.Message {
		t.Helper()
		m, err := performatives.New(performatives.Envelope{
			ID: performatives.MessageID(id), Sender: from, Receiver: to, InReplyTo: about, ReplyWith: ref, Timestamp: time.Unix(second, 0), Payload: payload,
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	publish := func(second int64, from, to performatives.AgentID, id, about, ref string, payload any) *performatives.Message {
		t.Helper()
		m := say(second, from, to, id, about, ref, payload)
		sent(n, m)
		return m
	}
	task := performatives.TaskRequest{TaskType: "work"}
	done := performatives.InformResult{Status: performatives.StatusSuccess}
	request := publish(10, "Asker", "w", "q1", "", "ref", task)
	n.Events().Publish(events.MessageReceived{At: events.At{Time: time.Unix(11, 0)}, Agent: "w", Message: request})
	sent(n, request)
	publish(12, "w", "asker", "a1", "q1", "", performatives.TaskAccept{})
	publish(12, "other", "asker", "a2", "q1", "", done)
	publish(12, "w", "another", "a3", "q1", "", done)
	publish(14, "w", "asker", "a4", "ref", "", done)
	if h, _ := r.Health("w"); h.ResponseMillis != 4000 || h.Processed != 1 || h.ErrorRate != 0 || !h.LastHeartbeat.Equal(time.Unix(14, 0)) {
		t.Errorf("got %+v", h)
	}
	publish(15, "w", "asker", "a5", "ref", "", done) // an answer to what was answered
	publish(20, "asker", "w", "q2", "", "", task)
	publish(28, "w", "asker", "a6", "q2", "", performatives.Failure{ErrorCode: performatives.CodeFailed})
	if h, _ := r.Health("w"); h.ResponseMillis != 6000 || h.Processed != 2 || h.ErrorRate != 0.5 {
		t.Errorf("got %+v", h)
	}
	n.Events().Publish(events.MessageReceived{At: events.At{Time: time.Unix(30, 0)}, Agent: "w", Message: say(30, "asker", "w", "q3", "", "", task)}) // of another node
	publish(36, "w", "asker", "a7", "q3", "", done)
	if h, _ := r.Health("w"); h.ResponseMillis != 6000 || h.Processed != 3 {
		t.Errorf("got %+v", h)
	}
	if h, _ := r.Health("other"); h.Processed != 0 || h.ResponseMillis != 0 {
		t.Errorf("the other: %+v", h)
	}
}
