package runtime

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// An agent that is stopped before its session knows that it runs leaves its id to whoever
// speaks next, whether the session goes on or not.
func TestStoppedBeforeReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	n, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	p, err := NewPeers(n, PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	session := func() *peerLink {
		return &peerLink{link: newLink(n, nil, p.opts.limits()), agents: make(map[performatives.AgentID]*proxy)}
	}
	for _, ends := range []bool{false, true} {
		l := session()
		a, _, _, err := p.claim(l, "Jules", "Jules")
		if err != nil || a == nil {
			t.Fatalf("the session ends: %t: the id is not free: %v", ends, err)
		}
		self, err := n.system.Spawn(ctx, actors.Spec{ID: a.id, New: func() actors.Agent { return a }, Hidden: true})
		if err == nil {
			err = n.StopAgent(ctx, a.id)
		}
		if err != nil {
			t.Fatal(err)
		}
		if ends {
			p.end(l, disconnected)
		}
		if err := p.spawned(a, self, nil); !errors.Is(err, performatives.CodeStopped) {
			t.Errorf("the session ends: %t: %v", ends, err)
		}
	}
	if _, fresh, _, err := p.claim(session(), "Jules", "Jules"); err != nil || !fresh {
		t.Errorf("the id is not free: %v", err)
	}
}

// TestLabelsOfClients checks that a client hears the name by which it knows itself, and that a request to it that was not
// delivered comes back for the id by which the node knows it.
func TestLabelsOfClients(t *testing.T) {
	n, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Stop(t.Context()) }()
	p, err := NewPeers(n, PeerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := &peerLink{link: newLink(n, nil, p.opts.limits()), agents: make(map[performatives.AgentID]*proxy)}
	first, second := p.client(l, "Router"), p.client(l, "cli")
	if first == second || p.client(l, "router") != first {
		t.Errorf("the clients are %s and %s", first, second)
	}
	for id, label := range map[performatives.AgentID]performatives.AgentID{first: "Router", second: "cli"} {
		if _, _, _, err := p.claim(l, id, label); err != nil {
			t.Fatal(err)
		}
	}
	request, err := performatives.New(performatives.Envelope{
		ID: "m-1", ConversationID: "c-1", Performative: performatives.ActRequest, Sender: "Eddy", Receiver: first, Timestamp: time.Unix(1, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.ledger.note(entry{message: request, local: "Eddy", peer: first}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * DefaultPeerAgents {
		if p.client(l, performatives.AgentID(fmt.Sprint("label", i))); len(l.clients) > DefaultPeerAgents {
			t.Fatalf("the session keeps %d labels", len(l.clients))
		}
	}
	out := p.proxies[first.Fold()].labelled(request)
	if out.Receiver() != "Router" {
		t.Errorf("the client gets a message for %s", out.Receiver())
	}
	if back := p.unlabelled(l, out); back.Receiver() != first {
		t.Errorf("it comes back as one for %s", back.Receiver())
	}
	if other := renamed(out, "Eddy", "cli"); p.unlabelled(l, other) != other {
		t.Error("a message that nobody awaits was renamed")
	}
}
