package actors

import (
	"strings"
	"sync"

	"github.com/ribosome-agents/ribosome/performatives"
)

// rememberedDepartures is how many stopped agents a system remembers. It bounds
// the memory; of an agent that stopped earlier, it says that there is none.
const rememberedDepartures = 1024

// departed remembers the last agents that stopped, so that who sends to one
// learns that it has stopped, and not that there never was one.
type departed struct {
	mu   sync.Mutex
	ids  map[performatives.AgentID]int // folded → number of its places in ring
	ring []performatives.AgentID
	next int
}

func (d *departed) add(id performatives.AgentID) {
	id = performatives.AgentID(strings.Clone(string(id.Fold()))) // and nothing of the message that it came with
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil {
		d.ids = make(map[performatives.AgentID]int)
	}
	d.ids[id]++
	if len(d.ring) < rememberedDepartures {
		d.ring = append(d.ring, id)
		return
	}
	oldest := d.ring[d.next]
	if d.ids[oldest]--; d.ids[oldest] == 0 {
		delete(d.ids, oldest)
	}
	d.ring[d.next] = id
	d.next = (d.next + 1) % rememberedDepartures
}

func (d *departed) has(id performatives.AgentID) bool {
	id = id.Fold()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ids[id] > 0
}
