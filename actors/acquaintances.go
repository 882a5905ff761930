package actors

import (
	"sync"
	"weak"

	"github.com/ribosome-agents/ribosome/performatives"
)

// rememberedAcquaintances is how many peers an agent knows. It bounds the memory: the
// one that it has known longest is a stranger again.
const rememberedAcquaintances = 4096

// Know has the agent remember that it knows a peer: that they have shaken hands. It
// does so across its own restarts, until [Self.Forget], or until a peer that runs
// here stops: another of the same name is another. It remembers the last 4096.
func (s Self) Know(peer performatives.AgentID) {
	s.acquaintances().add(peer.Fold(), s.c.sys.incarnation(peer))
}

// Expect has the agent know whoever has that id, until met is called: what a peer says
// once it has shaken hands may overtake its answer. met, called once, leaves alone what
// Know and Forget have done.
func (s Self) Expect(peer performatives.AgentID) (met func()) {
	a, id := s.acquaintances(), peer.Fold()
	a.expect(id, 1)
	return func() { a.expect(id, -1) }
}

// acquaintances returns those of the agent, and makes them first.
func (s Self) acquaintances() *acquaintances {
	if a := s.c.acquaintances.Load(); a != nil {
		return a
	}
	s.c.acquaintances.CompareAndSwap(nil, &acquaintances{})
	return s.c.acquaintances.Load()
}

// Forget ends what Know began. It does nothing for a stranger.
func (s Self) Forget(peer performatives.AgentID) {
	if a := s.c.acquaintances.Load(); a != nil {
		a.remove(peer.Fold())
	}
}

// Knows reports whether the agent knows a peer.
func (s Self) Knows(peer performatives.AgentID) bool {
	a := s.c.acquaintances.Load()
	return a != nil && a.has(peer.Fold(), s.c.sys.incarnation(peer))
}

// incarnation tells an agent that runs here from others of its name, before and after
// it. It is zero for any other agent.
func (s *System) incarnation(id performatives.AgentID) weak.Pointer[cell] {
	if c, ok := s.lookup(id); ok {
		return weak.Make(c)
	}
	return weak.Pointer[cell]{}
}

// acquaintances are the peers that one agent knows, by their folded ids.
type acquaintances struct {
	mu       sync.Mutex
	known    map[performatives.AgentID]acquaintance
	ring     []performatives.AgentID // in the order in which they were met
	next     int
	expected map[performatives.AgentID]int // how often, at the moment
}

type acquaintance struct {
	who   weak.Pointer[cell]
	place int // in ring
}

func (a *acquaintances) add(id performatives.AgentID, who weak.Pointer[cell]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k, ok := a.known[id]; ok {
		a.known[id] = acquaintance{who, k.place}
		return
	}
	if a.known == nil {
		a.known = make(map[performatives.AgentID]acquaintance)
	}
	if len(a.ring) < rememberedAcquaintances {
		a.ring = append(a.ring, "")
	} else if oldest := a.ring[a.next]; a.known[oldest].place == a.next {
		delete(a.known, oldest)
	}
	a.ring[a.next], a.known[id] = id, acquaintance{who, a.next}
	a.next = (a.next + 1) % rememberedAcquaintances
}

func (a *acquaintances) expect(id performatives.AgentID, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.expected == nil {
		a.expected = make(map[performatives.AgentID]int)
	}
	if a.expected[id] += n; a.expected[id] == 0 {
		delete(a.expected, id)
	}
}

func (a *acquaintances) remove(id performatives.AgentID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, id)
}

func (a *acquaintances) has(id performatives.AgentID, who weak.Pointer[cell]) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[id]
	return ok && k.who == who || a.expected[id] > 0
}
