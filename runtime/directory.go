package runtime

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Directory is the yellow pages of a node: the agents that can be found, which
// are those that run and are not hidden. It is always up to date.
type Directory struct{ system *actors.System }

// Directory returns the node's directory.
func (n *Node) Directory() Directory { return Directory{n.system} }

// Entry is one agent of a [Directory].
type Entry struct {
	ID           performatives.AgentID // as it was registered
	Node         string
	Capabilities performatives.Capabilities
}

// Lookup returns the agent with that id, compared without regard to case.
func (d Directory) Lookup(id performatives.AgentID) (Entry, bool) {
	agent, ok := d.system.Lookup(id)
	if !ok {
		return Entry{}, false
	}
	return d.entry(agent), true
}

// All returns every agent, by id.
func (d Directory) All() []Entry {
	var entries []Entry
	for agent := range d.system.Agents() {
		entries = append(entries, d.entry(agent))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.ID, b.ID) })
	return entries
}

// IDs returns the id of every agent, sorted.
func (d Directory) IDs() []performatives.AgentID {
	var ids []performatives.AgentID
	for agent := range d.system.Agents() {
		ids = append(ids, agent.ID())
	}
	slices.Sort(ids)
	return ids
}

// WithCapabilities returns the agents that have all of the named topics or
// actions, by id. Names match as [performatives.FoldCapability] has it.
func (d Directory) WithCapabilities(names ...string) []Entry {
	return slices.DeleteFunc(d.All(), func(e Entry) bool {
		return !e.Capabilities.HasAll(names)
	})
}

func (d Directory) entry(agent actors.Self) Entry {
	return Entry{ID: agent.ID(), Node: d.system.Node(), Capabilities: agent.Describe()}
}
