package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// names sets UplinkOptions.Names.
func names(of ...performatives.AgentID) func(*runtime.UplinkOptions) {
	return func(o *runtime.UplinkOptions) { o.Names = of }
}

// A node with two uplinks reaches each agent by the one with its name, the longest, and any other
// by the one without names. The loss of one leaves the conversations over the other alone.
func TestSeveralUplinks(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "out"})
	started, ended := make(chan struct{}, 10), make(chan error, 10)
	hubs := map[string]*hub{}
	outposts := map[string]*outpost{}
	for _, tt := range []struct {
		hub   string
		agent performatives.AgentID
		names []performatives.AgentID
	}{
		{"default", "Jules", nil},
		{"crm", "CRM/bot", []performatives.AgentID{"crm", "billing"}},
		{"crm eu", "crm/eu/bot", []performatives.AgentID{"crm/eu"}},
	} {
		h := newHubOf(t, newNode(t, runtime.Options{Name: tt.hub}), noPeerOptions)
		h.spawn(tt.agent, returning(newCancellableWorker(started, ended)))
		o := newOutpostOf(t, n, h, names(tt.names...), withoutIntroduction)
		if err := o.up.Connect(patience.Context(t)); err != nil {
			t.Fatal(err)
		}
		hubs[tt.hub], outposts[tt.hub] = h, o
	}
	tasks := map[string]*delegation.Delegated{}
	for name, to := range map[string]performatives.AgentID{"default": "Jules", "crm": "crm/bot", "crm eu": "crm/EU/bot"} {
		d, err := delegation.Start(patience.Context(t), n, to, task("debug_code"))
		if err != nil {
			t.Fatal(err)
		}
		<-started
		tasks[name] = d
	}
	outposts["crm"].disconnect()
	if _, err := tasks["crm"].Wait(); !errors.Is(err, performatives.CodeDisconnected) {
		t.Errorf("over the lost uplink: %v", err)
	}
	if n := len(n.Conversations()); n != 2 {
		t.Errorf("%d conversations remain, want those over the other two", n)
	}
	if _, err := n.Delegate(patience.Context(t), "billing", task("debug_code")); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("over an uplink without a session: %v", err)
	}
	for _, name := range []string{"default", "crm eu"} {
		tasks[name].Cancel()
		if _, err := tasks[name].Wait(); !errors.Is(err, performatives.CodeCanceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUplinksOverlap(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "out"})
	h := newHub(t, noPeerOptions)
	newOutpostOf(t, n, h)
	newOutpostOf(t, n, h, names("a", "b"))
	for _, o := range []runtime.UplinkOptions{{}, {Names: []performatives.AgentID{"c", "B"}}} {
		o.Dial = func(context.Context, wire.Handler) (*wire.Session, error) { return nil, errors.New("not dialed") }
		if _, err := n.Uplink(o); !errors.Is(err, runtime.ErrUplink) {
			t.Errorf("names %q: %v", o.Names, err)
		}
	}
}

// A far node sends messages only of agents that its uplink leads to.
func TestUplinkWithAnotherSender(t *testing.T) {
	n := newNode(t, runtime.Options{Name: "out"})
	h := newHub(t, noPeerOptions)
	o := newOutpostOf(t, n, h, names("crm"))
	got := make(chan *performatives.Message, 10)
	if err := n.Spawn(patience.Context(t), "Eliza", always(scripted{topics: []string{"x"}, receive: func(_ *actors.Context, m *performatives.Message) { got <- m }})); err != nil {
		t.Fatal(err)
	}
	if err := o.up.Connect(patience.Context(t)); err != nil {
		t.Fatal(err)
	}
	h.awaitVisible("Eliza")
	refused := listen(t, n, events.KindMessageDeadLettered)
	for _, from := range []performatives.AgentID{"mallory", "crm/bot"} {
		if err := h.Send(message(t, from, "Eliza", performatives.ActInform)); err != nil {
			t.Fatal(err)
		}
	}
	if m := <-got; m.Sender() != "crm/bot" {
		t.Errorf("got a message of %s", m.Sender())
	}
	await(t, refused, 1, func(e events.DeadLetter) bool { return e.Code == performatives.CodeForbidden })
}

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
