package namespace

import (
	"maps"
	"reflect"
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

// compareLocked notes that an agent has changed from one entry to another, for the watchers. A nil
// entry is that of an agent that is not listed.
func (c *Catalog) compareLocked(from, to *Agent) {
	var before, after []performatives.Action
	var id performatives.AgentID
	if from != nil {
		id, before = from.id, from.has.Actions
	}
	if to != nil {
		id, after = to.id, to.has.Actions
	}
	if len(c.watchers) == 0 || len(before)+len(after) == 0 || reflect.DeepEqual(before, after) {
		return
	}
	if c.changed[id] = struct{}{}; len(c.changed) == 1 {
		c.system.AfterFunc(burstTime, c.tell)
	}
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
