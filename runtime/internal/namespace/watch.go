package namespace

import (
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Watcher is told which agents have other actions than before. It may be told of one that has the
// same actions again.
type Watcher interface {
	ActionsChanged(ids []performatives.AgentID)
}

// burstTime is the time in which changes are told together.
const burstTime = 100 * time.Millisecond

// Watch has w told of changes until Unwatch.
func (c *Catalog) Watch(w Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked()
	if c.watchers == nil {
		c.watchers, c.changed = make(map[Watcher]struct{}), make(map[performatives.AgentID]struct{})
	}
	c.watchers[w] = struct{}{}
}

// Unwatch ends Watch. A call that has begun may end later.
func (c *Catalog) Unwatch(w Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.watchers, w)
}

// tell tells the watchers of the changes.
func (c *Catalog) tell() {
	c.mu.Lock()
	ids, watchers := slices.Collect(maps.Keys(c.changed)), slices.Collect(maps.Keys(c.watchers))
	clear(c.changed)
	c.mu.Unlock()
	for _, w := range watchers {
		w.ActionsChanged(ids)
	}
}
