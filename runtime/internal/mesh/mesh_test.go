package mesh

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/library"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// newMesh returns the mesh of a node n1, to be stopped.
func newMesh(t *testing.T) *Mesh {
	t.Helper()
	return newLoggingMesh(t, slog.DiscardHandler)
}

// newLoggingMesh is newMesh with the handler of the node's log.
func newLoggingMesh(t *testing.T, log slog.Handler) *Mesh {
	t.Helper()
	return newMeshOf(t, actors.Options{Logger: slog.New(log)})
}

// newMeshOf is newMesh with some options of the actor system.
func newMeshOf(t *testing.T, o actors.Options) *Mesh {
	t.Helper()
	n := New(new(sync.Mutex), route.Decide)
	o.Node, o.Remote, o.OnChange, o.OnAbandon = "n1", n, n.AgentChanged, func(m *performatives.Message) { n.Relay.Abandon(m) }
	system, err := actors.NewSystem(o)
	if err != nil {
		t.Fatal(err)
	}
	r := relay.New(system, library.Codons(), n.LinkOf, n.ActivatesHere)
	n.Begin(Host{
		System: system, Relay: r, Sessions: sessions.New(sessions.Host{System: system, Relay: r, Knows: n.Knows}), Events: unheard{},
		Limits: relay.Limits{Open: 1 << 20, Bytes: 1 << 30, Grace: time.Second, Patience: time.Minute},
	})
	return n
}

func stop(ctx context.Context, n *Mesh) error {
	n.Close()
	err := n.System.Stop(ctx)
	if err == nil {
		n.Relay.Close()
	}
	if left := n.Leave(ctx); err == nil {
		err = left
	}
	return err
}

// unheard takes no notice of events.
type unheard struct{}

func (unheard) MemberJoined(string, uint64)                        {}
func (unheard) MemberLost(string, uint64, string)                  {}
func (unheard) MemberLinked(string, uint64, []string)              {}
func (unheard) AgentContested(performatives.AgentID, string, bool) {}
func (unheard) AgentActivated(performatives.AgentID, uint64)       {}
func (unheard) AgentMoving(performatives.AgentID)                  {}
func (unheard) AgentMoved(performatives.AgentID, string, int)      {}
func (unheard) AgentPassivated(performatives.AgentID)              {}
func (unheard) KindHosts(string, []string)                         {}
