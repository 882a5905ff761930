package runtime

import (
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
		c.left = make(map[performatives.AgentID]directory.Entry)
	}
	c.left[id.Fold()] = directory.Entry{Owner: by, Since: activation}
	c.mu.Unlock()
	c.refreshLocked(id)
}

// stale reports whether an entry is of a run of an agent that has left its node. It is called with c.mu.
func (c *clustered) stale(e directory.Entry) bool {
	key := e.Agent.Fold()
	left, ok := c.left[key]
	if !ok || left.Owner != e.Owner {
		return false
	}
	if e.Since > left.Since { // it has come back there
		delete(c.left, key)
		return false
	}
	return true
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

// introduceToAll sends each node all that this one knows of its own agents, behind what it was sent before.
func (c *clustered) introduceToAll() {
	if c == nil {
		return
	}
	for _, l := range *c.current.Load() {
		c.introduce(l.peer)
	}
}
