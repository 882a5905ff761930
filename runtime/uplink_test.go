package runtime_test

import (
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
)

// A peer of a node reaches the agents and namespaces beyond the node's uplink, and is told an end
// when the uplink is lost.
func TestPeerReachesBeyondTheUplink(t *testing.T) {
	held := make(chan struct{}, 10)
	h := newHub(t, noPeerOptions)
	h.spawn("Eliza", always(scripted{topics: []string{"x"}, receive: func(c *actors.Context, m *performatives.Message) {
		if m.Performative() == performatives.ActQueryIf {
			held <- struct{}{}
			return
		}
		echo(c, m)
	}}))
	h.spawn("crm/bot", newActionWorker("audit"))
	o := connected(t, h, "out", nil)
	c := newCaller(t, newHubOf(t, o.Node, noPeerOptions), nil)
	c.say(message(t, "Jules", "Eliza", performatives.ActRequest))
	if m := c.answer(1); m.Performative() != performatives.ActInform || m.Sender() != "Eliza" {
		t.Errorf("told %s by %s", m.Performative(), m.Sender())
	}
	c.say(message(t, "Jules", "crm", performatives.ActTaskRequest, with(task("audit"))))
	if m := c.answer(2); m.Performative() != performatives.ActTaskAccept || m.Sender() != "crm" {
		t.Errorf("told %s by %s, %v", m.Performative(), m.Sender(), m.AsRefusal())
	}
	c.answer(3) // the result
	c.say(message(t, "Jules", "nobody", performatives.ActRequest))
	if r := c.answer(4).AsRefusal(); r == nil || r.Code != performatives.CodeUnknownAgent {
		t.Errorf("about an unknown agent: told %v", r)
	}
	c.say(message(t, "Jules", "Eliza", performatives.ActQueryIf, with(performatives.Raw(`{"condition":"x"}`))))
	<-held
	o.disconnect()
	if r := c.answer(5).AsRefusal(); r == nil || r.Code != performatives.CodeDisconnected {
		t.Errorf("after the loss of the uplink: told %v", r)
	}
}

// A message of the far node for an agent that is not on this node any more does not go back to the
// far node, and its sender is told.
func TestUplinkSendsNothingBack(t *testing.T) {
	h := newHub(t, noPeerOptions)
	got := make(chan *performatives.Message, 10)
	h.spawn("Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *performatives.Message) { got <- m }}))
	o := connected(t, h, "out", crew{"Jules": returning(reporter)})
	if err := o.StopAgent(patience.Context(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[performatives.AgentID]performatives.Code{
		"Jules": performatives.CodeStopped, "nobody": performatives.CodeUnknownAgent,
	} {
		if err := o.Send(message(t, "Eliza", to, performatives.ActRequest)); !errors.Is(err, want) { // as if the agent had just gone
			t.Errorf("to %s: %v, want %s", to, err, want)
		}
	}
	if err := o.Send(message(t, "Jules", "Eliza", performatives.ActInform)); err != nil { // the last message of an agent
		t.Error(err)
	}
	if m := <-got; m.Sender() != "Jules" {
		t.Errorf("the far node got a message of %s", m.Sender())
	}
}

// An agent that has stopped on a node and lives beyond its uplink now is reached there.
func TestAgentThatMoved(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := connected(t, h, "out", crew{"Jules": returning(reporter)})
	if _, err := o.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
		t.Fatal(err)
	}
	if err := o.StopAgent(patience.Context(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Delegate(patience.Context(t), "Jules", task("debug_code")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("an agent that has stopped, and lives nowhere: %v", err)
	}
	o.disconnect()
	h.awaitStopped("Jules", 1)
	h.spawn("Jules", returning(reporter))
	if _, err := o.Delegate(patience.Context(t), "Jules", task("debug_code")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("without a session: %v", err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Delegate(patience.Context(t), "Jules", task("debug_code")); err != nil {
		t.Errorf("an agent that has moved: %v", err)
	}
}

// A message of the far node for an agent that has gone does not return to it, even if its sender
// has run on this node before.
func TestUplinkSendsNothingBackOfAnAgentThatMoved(t *testing.T) {
	h := newHub(t, noPeerOptions)
	o := newOutpost(t, h, "out")
	for _, id := range []performatives.AgentID{"Eliza", "Jules"} {
		if err := o.Spawn(patience.Context(t), id, returning(reporter)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.StopAgent(patience.Context(t), "Eliza"); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("Jules")
	got := make(chan *performatives.Message, 10)
	h.spawn("Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *performatives.Message) { got <- m }}))
	if err := o.StopAgent(patience.Context(t), "Jules"); err != nil {
		t.Fatal(err)
	}
	if err := h.Send(message(t, "Eliza", "Jules", performatives.ActRequest)); err != nil {
		t.Fatal(err)
	}
	if r := (<-got).AsRefusal(); r == nil || r.Code != performatives.CodeStopped {
		t.Errorf("told %v, want %s", r, performatives.CodeStopped)
	}
}
