package mesh

import (
	"fmt"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
)

// view is what the node knows, for decisions about messages.
type view struct{ n *Mesh }

var _ route.View = view{}

// way returns a link as that of package route, where no link is nil.
func way(l *nodeLink) route.Link {
	if l == nil {
		return nil
	}
	return l
}

// Entry implements [route.View].
func (v view) Entry(id performatives.AgentID) route.Entry {
	r, _ := v.n.System.Find(id)
	return entryOf(r)
}

// entryOf returns a registration as an entry; nil is that of no agent.
func entryOf(r *actors.Registration) route.Entry {
	if r == nil {
		return route.Entry{}
	}
	if a, ok := r.Destination().(*nodeAgent); ok {
		return route.Entry{Agent: r, Home: a.link, Link: a.over(), Placed: a.Placed}
	}
	return route.Entry{Agent: r}
}

// Heard implements [route.View].
func (v view) Heard(id performatives.AgentID) route.Link {
	return way(v.n.cluster.heard.from(id))
}

// Strays implements [route.View].
func (v view) Strays(id performatives.AgentID) bool { return v.n.cluster.heard.overOf(id).strays() }

// Host implements [route.View].
func (v view) Host(id performatives.AgentID, except route.Link) route.Host {
	l, _ := except.(*nodeLink)
	return v.n.placer.pick(id, l)
}

// RunsElsewhere implements [route.View]. If the directory has the agent at another node, and it is
// not registered here, that node has not joined yet: the others may know it already. To activate
// the agent here would begin a second run of it.
func (v view) RunsElsewhere(id performatives.AgentID) bool {
	c := v.n.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.replica.Lookup(id), func(e directory.Entry) bool { return e.Placed && e.Owner != c.self })
}

// HandedTo implements [route.View].
func (v view) HandedTo(id performatives.AgentID) (route.Link, bool) {
	c := v.n.cluster
	c.mu.Lock()
	to := c.handed[id.Fold()]
	c.mu.Unlock()
	if to == nil {
		return nil, false
	}
	return way(c.linkTo(*to)), true
}

// Run implements [route.View].
func (v view) Run(id performatives.AgentID) route.Run {
	return v.n.placer.runOf(id).Run
}

// Uplink implements [route.View].
func (v view) Uplink() (there, connected bool) {
	u := v.n.Sessions.Uplink()
	return u != nil, u.Connected()
}

// HasRun implements [route.View].
func (v view) HasRun(id performatives.AgentID) bool {
	return v.n.System.HasRun(id) || v.n.placer.ctx.Err() != nil
}

// Unreachable implements [route.View].
func (v view) Unreachable(id performatives.AgentID) string {
	c := v.n.cluster
	c.heard.mu.Lock()
	node, known := c.heard.absent[id.Fold()]
	c.heard.mu.Unlock()
	if !known || slices.ContainsFunc(*c.current.Load(), func(l *nodeLink) bool { return l.peer.Name == node && l.met.Load() }) {
		return ""
	}
	return fmt.Sprintf("the node %s of the agent cannot be reached", node)
}

// Name implements [route.View].
func (v view) Name() string { return v.n.Name() }
