package actors

import (
	"iter"
	"maps"
	"slices"
	"sync"
)

// openSet holds the open conversations of one agent for other goroutines. The zero value
// is empty.
type openSet struct {
	mu  sync.Mutex
	all map[Conversation]struct{}
}

func (o *openSet) add(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[Conversation]struct{})
	}
	o.all[c] = struct{}{}
}

func (o *openSet) remove(c Conversation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, c)
}

func (o *openSet) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = nil // a map does not shrink
}

func (o *openSet) list() []Conversation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.all))
}

// Conversations yields the open conversations of all agents, in no order. It may be
// called from any goroutine. A conversation that ends meanwhile may be among them.
func (s *System) Conversations() iter.Seq[Conversation] {
	return func(yield func(Conversation) bool) {
		seen := make(map[*cell]bool)
		for _, v := range s.cells.Range {
			c, _ := v.(*cell)
			if seen[c] { // a cell is registered under its id as written, too
				continue
			}
			seen[c] = true
			for _, conversation := range c.openConversations.list() {
				if !yield(conversation) {
					return
				}
			}
		}
	}
}
