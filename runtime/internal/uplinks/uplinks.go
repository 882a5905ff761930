package uplinks

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// Uplinks are the uplinks of a node. They are safe for concurrent use.
type Uplinks struct {
	system  *actors.System
	chain   *chain.Chain
	relay   *relay.Relay
	knows   func(performatives.AgentID) bool
	stopped func(performatives.AgentID) *performatives.Refusal

	mu   sync.Mutex                // held to change list
	list atomic.Pointer[[]*Uplink] // nil without an uplink
}

// New returns no uplinks. knows reports whether the node has a way to an agent without them, and
// stopped returns the refusal of a message for an agent that is not there any more.
func New(
	s *actors.System, c *chain.Chain, r *relay.Relay, knows func(performatives.AgentID) bool, stopped func(performatives.AgentID) *performatives.Refusal,
) *Uplinks {
	return &Uplinks{system: s, chain: c, relay: r, knows: knows, stopped: stopped}
}

// Add creates an uplink, which is not connected yet. It returns nil if another one has one of its
// names, or both have none.
func (us *Uplinks) Add(o Options) *Uplink {
	u := &Uplink{Uplinks: us, opts: o}
	us.mu.Lock()
	defer us.mu.Unlock()
	if slices.ContainsFunc(us.all(), u.overlaps) {
		return nil
	}
	all := append(slices.Clone(us.all()), u)
	us.list.Store(&all)
	return u
}

func (us *Uplinks) all() []*Uplink {
	if all := us.list.Load(); all != nil {
		return *all
	}
	return nil
}

// For returns the uplink beyond which an id is that is unknown here, or nil.
func (us *Uplinks) For(id performatives.AgentID) *Uplink {
	var found *Uplink
	longest := -1
	for _, u := range us.all() {
		if len(u.opts.Names) == 0 && longest < 0 {
			found, longest = u, 0
		}
		for _, name := range u.opts.Names {
			if len(name) > longest && namespace.Within(string(name.Fold()), string(id.Fold())) {
				found, longest = u, len(name)
			}
		}
	}
	return found
}

// LinkOf returns the link of the uplink beyond which an unknown id is, or nil.
func (us *Uplinks) LinkOf(id performatives.AgentID) *relay.Link {
	if u := us.For(id); u != nil {
		if l := u.current.Load(); l != nil {
			return l.Link
		}
	}
	return nil
}

// AgentChanged tells the far nodes of an agent of this node.
func (us *Uplinks) AgentChanged(id performatives.AgentID) {
	for _, u := range us.all() {
		if l := u.current.Load(); l != nil && u.opts.Introduce {
			l.updateIntroduction(id)
		}
	}
}
