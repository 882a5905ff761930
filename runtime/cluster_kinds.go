package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
)

// hostEntry is the id of the entry of the directory by which a node says that it hosts a kind. No agent of a kind has it.
func hostEntry(kind string) performatives.AgentID {
	return performatives.AgentID(kind + placement.Separator)
}

// hosting tells the other nodes that this one hosts a kind, or does not any more.
func (c *clustered) hosting(kind string, on bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delta := c.replica.Remove(hostEntry(kind))
	if on {
		delta = c.replica.Put(directory.Entry{Agent: hostEntry(kind), Hidden: true, Hosts: true, Since: 1}, nil)
	}
	if delta != nil && c.members != nil {
		c.spreadLocked(delta)
	}
}

// hostsOf returns the links to the other nodes that host a kind.
func (c *clustered) hostsOf(kind string) (links []*nodeLink) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	entries := c.replica.Lookup(hostEntry(kind))
	c.mu.Unlock()
	for _, l := range *c.current.Load() {
		for _, e := range entries {
			if e.Hosts && e.Owner == l.peer {
				links = append(links, l)
			}
		}
	}
	return links
}

// released notes that an agent has left its node, of which the directory need not have heard yet.
func (c *clustered) released(id performatives.AgentID, by cluster.Incarnation, activation uint64) {
	c.node.handover.Lock()
	defer c.node.handover.Unlock()
	c.mu.Lock()
	if c.left == nil {
		c.left = make(map[performatives.AgentID]*departure)
	}
	c.left[id.Fold()] = &departure{from: by, activation: activation}
	c.mu.Unlock()
	c.refreshLocked(id)
}

// handOver has the entry of an agent stand that is handed over to another node, until that one has told that it has it. Until then messages
// come here, and are passed on behind what the agent has left.
func (c *clustered) handOver(id performatives.AgentID, to cluster.Incarnation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handed == nil {
		c.handed = make(map[performatives.AgentID]cluster.Incarnation)
	}
	c.handed[id.Fold()] = to
}

// dropHandedLocked removes the entry of an agent that was handed over.
func (c *clustered) dropHandedLocked(key performatives.AgentID) {
	delete(c.handed, key)
	delete(c.since, key)
	if delta := c.replica.Remove(key); delta != nil {
		c.spreadLocked(delta)
	}
	c.settledLocked()
}

// departure is an agent that was handed over to this node, whose entry at its former node the directory may still have, or have yet to get.
type departure struct {
	from       cluster.Incarnation
	activation uint64 // which has ended
	seen       bool   // the entry was there
}

// stale reports whether an entry is of a run of an agent that has left its node. It is called with c.mu.
func (c *clustered) stale(e directory.Entry) bool {
	d := c.left[e.Agent.Fold()]
	if d == nil || d.from != e.Owner {
		return false
	}
	d.seen = true
	return e.Since <= d.activation // else it has come back there
}

// forgetLeft forgets the departure of an agent whose entry has gone. entries are all of the agent. It is called with c.mu.
func (c *clustered) forgetLeft(key performatives.AgentID, entries []directory.Entry) {
	d := c.left[key]
	if d != nil && d.seen && !slices.ContainsFunc(entries, func(e directory.Entry) bool { return e.Owner == d.from }) {
		delete(c.left, key)
	}
}

// leaving tells the other members that the node is about to leave.
func (c *clustered) leaving() {
	if c == nil {
		return
	}
	self := c.members.Self()
	if err := c.members.Update(self.Labels, true); err != nil {
		c.node.system.Logger().Debug("the other nodes were not told that this one is leaving", "err", err)
	}
}

// farewellTime is how long a node that leaves waits for the others.
const farewellTime = 5 * time.Second

// farewell waits until the other nodes send nothing more to the agents that were handed over: those that have got them say so, and then all
// others know it.
func (c *clustered) farewell(ctx context.Context) {
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	c.mu.Lock()
	c.settled = make(chan struct{})
	c.settledLocked()
	settled := c.settled
	c.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
	c.mu.Lock()
	state := c.replica.OwnState()
	c.settled, c.farewells = make(chan struct{}), make(map[cluster.Incarnation]struct{})
	settled = c.settled
	links := *c.current.Load()
	for _, l := range links {
		c.farewells[l.peer] = struct{}{}
	}
	c.mu.Unlock()
	for _, l := range links {
		if c.node.placer.tell(l, note{Leaves: true, State: state}) != nil {
			c.heardFarewell(l.peer)
		}
	}
	c.heardFarewell(cluster.Incarnation{})
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// settledLocked ends a wait of farewell whose reason is gone.
func (c *clustered) settledLocked() {
	if c.settled != nil && len(c.handed)+len(c.farewells) == 0 {
		close(c.settled)
		c.settled = nil
	}
}

// heardFarewell notes that a node knows that this one leaves, or has gone.
func (c *clustered) heardFarewell(peer cluster.Incarnation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.farewells, peer)
	c.settledLocked()
}

// leaves takes in what a node that leaves has in the directory.
func (c *clustered) leaves(state []byte) {
	c.Merge(state)
	c.refresh()
}
