package runtime

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Directory is the list of the agents that discovery can find: the running, visible ones of the
// node, and what the node knows of those of its cluster. Each method reads the current state.
type Directory struct{ n *Node }

// Directory returns the node's directory.
func (n *Node) Directory() Directory { return Directory{n} }

// Entry is one agent of a [Directory].
type Entry struct {
	ID           performatives.AgentID // as registered
	Node         string                // the name of its node
	Capabilities performatives.Capabilities
}

// Lookup returns the agent with that id, compared case-insensitively. It also finds
// hidden agents.
func (d Directory) Lookup(id performatives.AgentID) (Entry, bool) {
	agent, ok := d.n.system.Find(id)
	if !ok {
		return Entry{}, false
	}
	return d.entry(agent), true
}

// NodeOf returns the name of the node of an agent: that in the directory or, of an agent that is
// not in it, the one whose link its last message came over. The latter may have passed the message
// on for a third one. known is false for an agent of which the node has neither. Safe for
// concurrent use.
func (n *Node) NodeOf(id performatives.AgentID) (node string, known bool) {
	if e, ok := n.Directory().Lookup(id); ok {
		return e.Node, true
	}
	return n.mesh.HeardAt(id)
}

// All returns all entries, sorted by id.
func (d Directory) All() []Entry {
	var entries []Entry
	for agent := range d.n.system.Agents() {
		entries = append(entries, d.entry(agent))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return entries
}

// IDs returns the ids of all entries, sorted.
func (d Directory) IDs() []performatives.AgentID {
	var ids []performatives.AgentID
	for agent := range d.n.system.Agents() {
		ids = append(ids, agent.ID())
	}
	slices.Sort(ids)
	return ids
}

func (d Directory) entry(agent *actors.Registration) Entry {
	return Entry{ID: agent.ID(), Node: d.n.mesh.NodeOf(agent), Capabilities: agent.Describe()}
}

// memberListing is a node in the reply to QUERY_REF "members".
type memberListing struct {
	cluster.Member
	Agents int `json:"agents"` // visible ones
	// Unlinked is the reason why no messages pass between the node that answers and this one; empty
	// if they do.
	Unlinked string `json:"unlinked,omitempty"`
}

// listMembers returns the nodes of the cluster. A node without a cluster lists itself.
func (n *Node) listMembers() (all []memberListing) {
	agents := make(map[string]int)
	for _, e := range n.Directory().All() {
		agents[e.Node]++
	}
	members := n.Members()
	if members == nil {
		members = []cluster.Member{{Incarnation: cluster.Incarnation{Name: n.Name()}}}
	}
	states := n.LinkStates()
	for _, m := range members {
		if m.Labels == nil {
			m.Labels = map[string]string{} // an object in JSON, not null
		}
		listing := memberListing{Member: m, Agents: agents[m.Name]}
		if why := states[m.Incarnation]; why != nil {
			listing.Unlinked = why.Error()
		}
		all = append(all, listing)
	}
	return all
}
