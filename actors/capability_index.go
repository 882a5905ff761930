package actors

import (
	"iter"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// capabilityIndex finds agents by the name of an action. Its lock also guards changes of
// the indexed capabilities, so that index and capabilities always match. It contains the
// registered agents.
type capabilityIndex struct {
	mu     sync.Mutex
	byName map[string]*registrationSet // by folded name
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

// add adds a registered agent, with the actions of its Describe.
func (x *capabilityIndex) add(r *Registration) {
	if r.describes == nil {
		return
	}
	has := actionNames(*r.describes)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !r.unregistered.Load() && r.announced.Load() == nil { // else it has stopped, or is listed already: see [Reservation.Spawn]
		x.addLocked(r, has)
	}
}

// update replaces the capabilities of an agent.
func (x *capabilityIndex) update(r *Registration, to *performatives.Capabilities) {
	has := actionNames(*to)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !r.unregistered.Load() {
		x.removeLocked(r)
		x.addLocked(r, has)
	}
	r.announced.Store(to)
}

// remove removes an agent that is unregistered. It reports false at a further call.
func (x *capabilityIndex) remove(r *Registration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.unregistered.Load() {
		return false
	}
	x.removeLocked(r)
	r.unregistered.Store(true)
	return true
}

// has reports whether remove was not called for an agent.
func (x *capabilityIndex) has(r *Registration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !r.unregistered.Load()
}

func (x *capabilityIndex) addLocked(r *Registration, has []string) {
	if len(has) == 0 {
		return
	}
	r.indexedActions = &has
	for _, name := range has {
		set := x.byName[name]
		if set == nil {
			if x.byName == nil {
				x.byName = make(map[string]*registrationSet)
			}
			set = new(registrationSet)
			x.byName[name] = set
		}
		set.insert(r)
	}
}

func (x *capabilityIndex) removeLocked(r *Registration) {
	if r.indexedActions == nil {
		return
	}
	for _, name := range *r.indexedActions {
		set := x.byName[name]
		if set == nil {
			continue // the agent has two actions with that name
		}
		set.remove(r)
		if len(set.chunks) == 0 {
			delete(x.byName, name)
		}
	}
	r.indexedActions = nil
}

// page is [registrationSet.page] for the agents with an action.
func (x *capabilityIndex) page(dst []*Registration, action string, from performatives.AgentID) []*Registration {
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
func (s *System) WithAction(action string, from performatives.AgentID) iter.Seq[*Registration] {
	return func(yield func(*Registration) bool) {
		name, next := performatives.FoldCapability(action), from.Fold()
		var room [16]*Registration
		for {
			page := s.capabilities.page(room[:0], name, next)
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				if r.Visible() && r.current() && !yield(r) {
					return
				}
			}
			next = page[len(page)-1].folded + "\x00" // the next possible id
		}
	}
}
