package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/patience"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
)

// drainOf is a request to drain a node, as an operator writes it.
func drainOf(node string) func(*performatives.Envelope) {
	return with(performatives.Raw(`{"operation":"drain","node":"` + node + `"}`))
}

// isOpen reports whether a channel is not closed.
func isOpen(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// Who may have a node drain: the principals that it names, those below them, and with * everyone.
func TestOperators(t *testing.T) {
	ops := []performatives.AgentID{"Ops"}
	for name, tt := range map[string]struct {
		operators []performatives.AgentID
		id        wire.Identity
		from      performatives.AgentID
		may       bool
	}{
		"nobody by default":                {nil, wire.Identity{Name: "ops"}, "ops", false},
		"nobody by default, anonymous":     {nil, wire.Identity{}, "ops", false},
		"an operator":                      {ops, wire.Identity{Name: "ops"}, "ops", true},
		"its agent":                        {ops, wire.Identity{Name: "OPS"}, "ops/1", true},
		"below an operator":                {ops, wire.Identity{Name: "ops/ana"}, "ops/ana", true},
		"a name that begins the same":      {ops, wire.Identity{Name: "opsx"}, "opsx", false},
		"a name above":                     {[]performatives.AgentID{"ops/ana"}, wire.Identity{Name: "ops"}, "ops/ana", false},
		"another that may speak as anyone": {ops, wire.Identity{Name: "gateway", Agents: []performatives.AgentID{"*"}}, "ops", false},
		"an anonymous one of that name":    {ops, wire.Identity{}, "ops", false},
		"everyone":                         {[]performatives.AgentID{"*"}, wire.Identity{Name: "crm"}, "crm", true},
		"everyone, anonymous":              {[]performatives.AgentID{"*"}, wire.Identity{}, "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, runtime.PeerOptions{Operators: tt.operators}, func(o *wire.Options) { o.Auth, o.Anonymous = connectionsOnly{}, false })
			begins := listen(t, h.Node, runtime.KindNodeDraining)
			c := newCaller(t, h, &tt.id)
			c.say(message(t, tt.from, "system", performatives.ActRequest, drainOf("hub")))
			if !tt.may {
				if m := c.answer(1); m.AsRefusal() == nil || m.AsRefusal().Code != performatives.CodeForbidden || !isOpen(h.peers.Drained()) {
					t.Errorf("got %s %v", m.Performative(), m.AsRefusal())
				}
				if all := begins.all(); len(all) > 0 {
					t.Errorf("published was %+v", all)
				}
				return
			}
			if m := c.answer(1); m.Performative() != performatives.ActAgree {
				t.Errorf("got %s %v", m.Performative(), m.AsRefusal())
			}
			if got := await[runtime.NodeDraining](t, begins, 1, nil); got[0].Principal != string(tt.id.Name) || got[0].Agent != tt.from {
				t.Errorf("published was %+v", got)
			}
			<-h.peers.Drained()
			type answer struct {
				Node string `json:"node"`
				Lost string `json:"lost"`
			}
			if got, err := performatives.PayloadAs[answer](c.answer(2)); err != nil || got != (answer{Node: "hub"}) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// A program drains its node for an operator, whose name is published first. The drain goes on when
// the operator waits no longer, and each further operator waits for its end.
func TestDrainByAProgram(t *testing.T) {
	all := newHall()
	block := make(chan struct{})
	all.block = block
	h := newHub(t, runtime.PeerOptions{Operators: []performatives.AgentID{"ops"}, DrainTime: 4 * time.Minute})
	if err := h.RegisterKind("counter", all.kind("hub")); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = h.Delegate(patience.Context(t), "counter/1", performatives.TaskRequest{TaskType: "wait"})
	}()
	<-all.began
	begins := listen(t, h.Node, runtime.KindNodeDraining)
	for _, nobody := range []string{"", "crm", "opsx"} {
		if _, err := h.peers.Drain(t.Context(), nobody); !errors.Is(err, performatives.CodeForbidden) {
			t.Errorf("%q: %v", nobody, err)
		}
	}
	soon, cancel := context.WithCancelCause(t.Context())
	cancel(actors.ErrExists)
	if _, err := h.peers.Drain(soon, "ops/ana"); !errors.Is(err, actors.ErrExists) || !isOpen(h.peers.Drained()) {
		t.Errorf("without time: %v", err)
	}
	if got := await[runtime.NodeDraining](t, begins, 1, nil); got[0].Principal != "ops/ana" {
		t.Errorf("published was %+v", got)
	}
	close(block)
	if lost, err := h.peers.Drain(patience.Context(t), "OPS"); err != nil || !strings.Contains(lost, "1 agents were not handed over") {
		t.Errorf("got %q, %v", lost, err)
	}
	<-h.peers.Drained()
}

// What is no drain of this node is refused, and does nothing.
func TestOperationsThatAreRefused(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{Operators: []performatives.AgentID{"*"}})
	c := newCaller(t, h, nil)
	for i, tt := range []struct {
		to      performatives.AgentID
		payload string
		code    performatives.Code
		text    string
	}{
		{"system", `{"operation":"drain","node":"n2"}`, performatives.CodeUnknownAgent, `this node is hub, not "n2"`},
		{"system", `{"operation":"drain"}`, performatives.CodeUnknownAgent, `this node is hub, not ""`},
		{"system", `{"operation":"explode","node":"hub"}`, performatives.CodeIncapable, `unknown operation "explode"`},
		{"system", `{"operation":7}`, performatives.CodeInvalidPayload, ""},
		{"default", `{"operation":"drain","node":"hub"}`, performatives.CodeIncapable, "a namespace takes tasks and questions about its agents only"},
	} {
		c.say(message(t, "x", tt.to, performatives.ActRequest, with(performatives.Raw(tt.payload))))
		if r := c.answer(i + 1).AsRefusal(); r == nil || r.Code != tt.code || !strings.Contains(r.Text, tt.text) {
			t.Errorf("%s to %s: got %v", tt.payload, tt.to, r)
		}
	}
	if !isOpen(h.peers.Drained()) {
		t.Error("it has drained")
	}
	if _, err := runtime.NewPeers(h.Node, runtime.PeerOptions{Operators: []performatives.AgentID{""}}); err == nil || !strings.Contains(err.Error(), "Operators") {
		t.Errorf("an empty operator: %v", err)
	}
	if _, err := runtime.NewPeers(h.Node, runtime.PeerOptions{DrainTime: -1}); err == nil || !strings.Contains(err.Error(), "DrainTime") {
		t.Errorf("less than no time: %v", err)
	}
}

// An agent that no other node takes is lost, and each operator that has asked is told so. The node
// goes on until it is stopped, without placed agents.
func TestADrainWithoutAnotherNode(t *testing.T) {
	h := newHub(t, runtime.PeerOptions{Operators: []performatives.AgentID{"*"}})
	if err := h.RegisterKind("counter", newHall().kind("hub")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Delegate(patience.Context(t), "counter/1", performatives.TaskRequest{TaskType: "count"}); err != nil {
		t.Fatal(err)
	}
	h.spawn("Eliza", always(scripted{topics: []string{"x"}}))
	for range 2 {
		c := newCaller(t, h, nil)
		c.say(message(t, "x", "system", performatives.ActRequest, drainOf("HUB")))
		if got, err := performatives.PayloadAs[struct {
			Lost string `json:"lost"`
		}](c.answer(2)); err != nil || !strings.Contains(got.Lost, "1 agents were not handed over") {
			t.Errorf("got %+v, %v", got, err)
		}
		c.cut()
	}
	if _, runs := h.Directory().Lookup("Eliza"); !runs {
		t.Error("an agent that is not placed has stopped")
	}
	if _, err := h.Delegate(patience.Context(t), "counter/2", performatives.TaskRequest{TaskType: "count"}); !errors.Is(err, performatives.CodeStopped) {
		t.Errorf("a new agent: %v", err)
	}
}

// The first message of a peer activates a placed agent, also that of a node at the other end of an
// uplink. A CANCEL activates none.
func TestAPeerActivatesAPlacedAgent(t *testing.T) {
	h := newHub(t, noPeerOptions)
	all := newHall()
	if err := h.RegisterKind("counter", all.kind("hub")); err != nil {
		t.Fatal(err)
	}
	o := connected(t, h, "far", nil)
	if _, err := o.Delegate(patience.Context(t), "counter/1", performatives.TaskRequest{TaskType: "count"}); err != nil {
		t.Error(err)
	}
	c := newCaller(t, h, nil)
	c.say(message(t, "x", "counter/2", performatives.ActCancel, with(performatives.Cancel{Reason: "x"})))
	if r := c.answer(1).AsRefusal(); r == nil || r.Code != performatives.CodeUnknownAgent || len(all.runsOf("counter/2")) > 0 {
		t.Errorf("a CANCEL: %v, and the agent ran on %v", r, all.runsOf("counter/2"))
	}
}

// A second hand-over waits for the first, as long as its own time lasts.
func TestHandOverTwice(t *testing.T) {
	h := newHall()
	block := make(chan struct{})
	h.block = block
	n := newNode(t, runtime.Options{Name: "n1"})
	if err := n.RegisterKind("counter", h.kind("n1")); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = n.Delegate(patience.Context(t), "counter/1", performatives.TaskRequest{TaskType: "wait"})
	}()
	<-h.began
	moving := listen(t, n, runtime.KindAgentMoving)
	first := make(chan error)
	go func() { first <- n.HandOver(patience.Context(t)) }()
	await(t, moving, 1, func(e runtime.AgentMoving) bool { return e.Agent.Is("counter/1") })
	soon, cancel := context.WithCancelCause(t.Context())
	cancel(actors.ErrExists)
	if err := n.HandOver(soon); !errors.Is(err, actors.ErrExists) {
		t.Errorf("without time: %v", err)
	}
	close(block)
	want := <-first
	if err := n.HandOver(patience.Context(t)); want == nil || !errors.Is(err, want) {
		t.Errorf("got %v, and of the first %v", err, want)
	}
}
