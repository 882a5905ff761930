package runtime

import (
	"context"
	"errors"
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
