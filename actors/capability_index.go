package actors

import (
	"iter"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// capabilityIndex finds agents by the name of an action. Its lock also guards changes of
// the indexed capabilities, so that index and capabilities always match. It contains the
// registered cells.
type capabilityIndex struct {
	mu     sync.Mutex
	byName map[string]*cellSet // by folded name
}

// actionNames returns the folded names of the actions.
func actionNames(c performatives.Capabilities) []string {
	if len(c.Actions) == 0 {
		return nil
	}
	out := make([]string, len(c.Actions))
	for i, a := range c.Actions {
		out[i] = performatives.FoldCapability(a.Name)
	}
	return out
}

// add adds a registered cell, with the actions of its Describe.
func (x *capabilityIndex) add(c *cell) {
	has := actionNames(c.describes)
	if len(has) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addLocked(c, has)
}

// update replaces the capabilities of a cell.
func (x *capabilityIndex) update(c *cell, to *performatives.Capabilities) {
	has := actionNames(*to)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !c.unregistered {
		x.removeLocked(c)
		x.addLocked(c, has)
	}
	c.announced.Store(to)
}

// remove removes a cell that is unregistered.
func (x *capabilityIndex) remove(c *cell) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.removeLocked(c)
	c.unregistered = true
}

func (x *capabilityIndex) addLocked(c *cell, has []string) {
	c.indexedActions = has
	for _, name := range has {
		set := x.byName[name]
		if set == nil {
			if x.byName == nil {
				x.byName = make(map[string]*cellSet)
			}
			set = new(cellSet)
			x.byName[name] = set
		}
		set.insert(c)
	}
}

func (x *capabilityIndex) removeLocked(c *cell) {
	for _, name := range c.indexedActions {
		set := x.byName[name]
		if set == nil {
			continue // the cell has two actions with that name
		}
		set.remove(c)
		if len(set.chunks) == 0 {
			delete(x.byName, name)
		}
	}
	c.indexedActions = nil
}

// page is [cellSet.page] for the cells with an action.
func (x *capabilityIndex) page(dst []*cell, action string, from performatives.AgentID) []*cell {
	x.mu.Lock()
	defer x.mu.Unlock()
	if set := x.byName[action]; set != nil {
		return set.page(dst, from)
	}
	return dst
}

// WithAction yields the running, visible agents that have an action with the given name,
// compared as [performatives.FoldCapability] does. They come in the order of their folded
// ids, beginning at from. Agents added or removed during the iteration may be missed or
// included. The cost of the first result does not grow with the number of agents.
func (s *System) WithAction(action string, from performatives.AgentID) iter.Seq[Self] {
	return func(yield func(Self) bool) {
		name, next := performatives.FoldCapability(action), from.Fold()
		var room [16]*cell
		for {
			page := s.capabilities.page(room[:0], name, next)
			if len(page) == 0 {
				return
			}
			for _, c := range page {
				if !c.hidden() && c.pid.Load() != nil && !yield(Self{c}) {
					return
				}
			}
			next = page[len(page)-1].folded + "\x00" // the next possible id
		}
	}
}
