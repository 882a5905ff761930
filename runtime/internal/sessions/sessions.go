package sessions

import (
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/chain"
	"github.com/ribosome-agents/ribosome/runtime/internal/namespace"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
)

// Sessions are the sessions of a node: those that peers open, see [Peers], and those that the node
// opens, see [Uplink]. It is safe for concurrent use.
type Sessions struct {
	Host
	Catalog *namespace.Catalog // of the agents of the node

	uplink    atomic.Pointer[Uplink]       // nil: there is none
	delegator func() performatives.AgentID // which delegates tasks for groups; empty if it could not start

	shownLock sync.Mutex
	shown     map[*link][]shown // by session, the lists that it is told of; guarded by shownLock
}

// Host is what the room has of its node.
type Host struct {
	System   *actors.System
	Chain    *chain.Chain
	Relay    *relay.Relay
	Handover *sync.Mutex // held while agents of sessions and of other nodes come and go

	Knows   func(performatives.AgentID) bool                              // whether the node has a way to an agent, without the uplink
	Changed func(performatives.AgentID)                                   // tells other nodes of an agent of a session
	Report  func(performatives.QueryCapabilities) (health any, only bool) // the health that a query reports; only says that it has no other purpose
	Members func() any                                                    // the nodes of the cluster, for the namespace system
}

// New returns the sessions of a node, which has none yet.
func New(h Host) *Sessions {
	n := &Sessions{Host: h, shown: make(map[*link][]shown)}
	n.delegator = sync.OnceValue(n.startDelegator)
	n.Catalog = namespace.New(h.System, n.actionsChanged)
	return n
}
