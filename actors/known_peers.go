package actors

import (
	"sync"
	"weak"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxKnownPeers is the largest number of peers that an agent remembers. One more replaces
// the oldest.
const maxKnownPeers = 4096

// Know records that the agent and the peer have completed a handshake. The record
// survives restarts of the agent. It ends with [Self.Forget], or when a peer that runs in
// this system stops: a later agent with the same id is a different peer. An agent
// remembers the last 4096 peers.
func (s Self) Know(peer performatives.AgentID) {
	s.knownPeers().add(peer.Fold(), s.c.sys.cellPointer(peer))
}

// Expect makes [Self.Knows] report true for the peer until the returned function is
// called. It covers the time of a handshake: the peer may send its first messages before
// its answer to the handshake arrives. The returned function must be called once. It does
// not undo Know or Forget.
func (s Self) Expect(peer performatives.AgentID) (done func()) {
	p, id := s.knownPeers(), peer.Fold()
	p.expect(id, 1)
	return func() { p.expect(id, -1) }
}

// knownPeers returns the agent's known peers, and creates the set on first use.
func (s Self) knownPeers() *knownPeers {
	if p := s.c.knownPeers.Load(); p != nil {
		return p
	}
	s.c.knownPeers.CompareAndSwap(nil, &knownPeers{})
	return s.c.knownPeers.Load()
}

// Forget removes the record of a handshake with the peer, if there is one.
func (s Self) Forget(peer performatives.AgentID) {
	if p := s.c.knownPeers.Load(); p != nil {
		p.remove(peer.Fold())
	}
}

// Knows reports whether the agent has completed a handshake with the peer, or expects to.
// See [Self.Know] and [Self.Expect].
func (s Self) Knows(peer performatives.AgentID) bool {
	p := s.c.knownPeers.Load()
	return p != nil && p.has(peer.Fold(), s.c.sys.cellPointer(peer))
}

// cellPointer returns a pointer to the cell of the running agent with that id. It
// distinguishes this agent from earlier and later agents with the same id. For any other
// id it is zero.
func (s *System) cellPointer(id performatives.AgentID) weak.Pointer[cell] {
	if c, ok := s.lookup(id); ok {
		return weak.Make(c)
	}
	return weak.Pointer[cell]{}
}

// knownPeers is the set of peers that one agent has completed a handshake with, by folded
// id.
type knownPeers struct {
	mu       sync.Mutex
	known    map[performatives.AgentID]knownPeer
	ring     []performatives.AgentID // circular, in the order of registration
	next     int
	expected map[performatives.AgentID]int // number of Expect calls in progress
}

type knownPeer struct {
	cell weak.Pointer[cell]
	slot int // index in ring
}

func (p *knownPeers) add(id performatives.AgentID, current weak.Pointer[cell]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id = id.Clone() // also for a known peer: an assignment replaces the key
	if peer, ok := p.known[id]; ok {
		p.known[id] = knownPeer{current, peer.slot}
		return
	}
	if p.known == nil {
		p.known = make(map[performatives.AgentID]knownPeer)
	}
	if len(p.ring) < maxKnownPeers {
		p.ring = append(p.ring, "")
	} else if oldest := p.ring[p.next]; p.known[oldest].slot == p.next {
		delete(p.known, oldest)
	}
	p.ring[p.next], p.known[id] = id, knownPeer{current, p.next}
	p.next = (p.next + 1) % maxKnownPeers
}

func (p *knownPeers) expect(id performatives.AgentID, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected == nil {
		p.expected = make(map[performatives.AgentID]int)
	}
	id = id.Clone()
	if p.expected[id] += n; p.expected[id] == 0 {
		delete(p.expected, id)
	}
}

func (p *knownPeers) remove(id performatives.AgentID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}

func (p *knownPeers) has(id performatives.AgentID, current weak.Pointer[cell]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	peer, ok := p.known[id]
	return ok && peer.cell == current || p.expected[id] > 0
}
