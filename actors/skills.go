package actors

import (
	"iter"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// skills is where the agents with an action are found, by its name: a directory that is
// changed under its lock together with what it is about, which is the cells that have a
// place and what they say that they can do.
type skills struct {
	mu sync.Mutex
	by map[string]*roster // by the folded name
}

// names are the folded names of the actions.
func names(c performatives.Capabilities) []string {
	if len(c.Actions) == 0 {
		return nil
	}
	out := make([]string, len(c.Actions))
	for i, a := range c.Actions {
		out[i] = performatives.FoldCapability(a.Name)
	}
	return out
}

// enter takes in a cell that has got its place, by what it says before it starts.
func (s *skills) enter(c *cell) {
	has := names(c.describes)
	if len(has) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putLocked(c, has)
}

// change replaces what a cell says that it can do.
func (s *skills) change(c *cell, to *performatives.Capabilities) {
	has := names(*to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.left {
		s.dropLocked(c)
		s.putLocked(c, has)
	}
	c.announced.Store(to)
}

// leave takes out a cell that gives its place up.
func (s *skills) leave(c *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(c)
	c.left = true
}

func (s *skills) putLocked(c *cell, has []string) {
	c.skilled = has
	for _, name := range has {
		r := s.by[name]
		if r == nil {
			if s.by == nil {
				s.by = make(map[string]*roster)
			}
			r = new(roster)
			s.by[name] = r
		}
		r.put(c)
	}
}

func (s *skills) dropLocked(c *cell) {
	for _, name := range c.skilled {
		r := s.by[name]
		if r == nil {
			continue // it has two actions of that name
		}
		r.drop(c)
		if len(r.chunks) == 0 {
			delete(s.by, name)
		}
	}
	c.skilled = nil
}

// page is [roster.page] of those that have an action.
func (s *skills) page(dst []*cell, action string, from performatives.AgentID) []*cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.by[action]; r != nil {
		return r.page(dst, from)
	}
	return dst
}

// Able yields the agents that run here and have an action of that name, which matches as
// [performatives.FoldCapability] has it, but not those that are hidden. They come in the
// order of their folded ids, the first at or after from; what changes meanwhile may or
// may not be seen. The first costs about the same however many agents there are.
func (s *System) Able(action string, from performatives.AgentID) iter.Seq[Self] {
	return func(yield func(Self) bool) {
		name, next := performatives.FoldCapability(action), from.Fold()
		var room [16]*cell
		for {
			page := s.skills.page(room[:0], name, next)
			if len(page) == 0 {
				return
			}
			for _, c := range page {
				if !c.hidden() && c.pid.Load() != nil && !yield(Self{c}) {
					return
				}
			}
			next = page[len(page)-1].folded + "\x00" // the least after it
		}
	}
}
