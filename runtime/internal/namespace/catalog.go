package namespace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
)

// The namespaces that contain all agents (wire specification, Namespace Extraction). They are not
// agents, and no peer may use them as its id.
const (
	System  performatives.AgentID = "system"
	Default performatives.AgentID = "default"
)

// Within reports whether an id belongs to a namespace. Both are folded.
func Within(namespace, id string) bool {
	rest, ok := strings.CutPrefix(id, namespace)
	return ok && (rest == "" || rest[0] == '/')
}

// New returns the catalog of the agents of a system. changed is told of agents that may have other
// actions than before, some time after the changes.
func New(s *actors.System, changed func(ids []performatives.AgentID)) *Catalog {
	return &Catalog{system: s, tell: changed, offers: make(map[name][]*Agent)}
}

// Catalog lists the visible agents, sorted by folded id, and keeps the texts of their capabilities.
// A change costs what the changed agent offers, and the text of a block of agents at the next
// summary. The catalog lists no agent until its first use. It is safe for concurrent use.
type Catalog struct {
	system *actors.System
	tell   func(ids []performatives.AgentID)
	used   atomic.Bool

	mu      sync.Mutex
	blocks  []*block
	offers  map[name][]*Agent       // who offers it, sorted by folded id
	changed []performatives.AgentID // which nobody was told of yet
}

// maxBlock is the number of agents of a block that is divided.
const maxBlock = 64

// block is a run of agents. It is guarded by Catalog.mu.
type block struct {
	agents []*Agent   // one at least, sorted by folded id
	texts  *[2][]byte // of what these agents are the first to offer: topics, actions; nil after a change
}

// name is the name of a topic or of an action.
type name struct {
	kind   int // of block.texts
	folded string
}

// The kinds of names.
const (
	topic = iota
	action
)

// Agent is an agent of the catalog. Other goroutines than the owner of Catalog.mu use it only
// without its block.
type Agent struct {
	key    performatives.AgentID // folded id
	id     performatives.AgentID
	has    performatives.Capabilities
	offers []offer // each name once, in the order of has
	in     *block
}

// offer is a capability of one agent.
type offer struct {
	name
	at   int    // in the topics or the actions of the agent
	text []byte // in the text of the catalog, with a comma
}

// newAgent returns the entry of a registered agent.
func newAgent(r *actors.Registration) *Agent {
	a := &Agent{key: r.ID().Fold(), id: r.ID(), has: r.Describe()}
	met := make(map[name]bool, len(a.has.Topics)+len(a.has.Actions))
	add := func(n name, at int, value any) {
		n.folded = performatives.FoldCapability(n.folded)
		if !met[n] {
			met[n] = true
			a.offers = append(a.offers, offer{n, at, textOf(value)})
		}
	}
	for i, t := range a.has.Topics {
		add(name{topic, t}, i, t)
	}
	for i, of := range a.has.Actions {
		of.Extra = withAgent(of.Extra, a.id)
		add(name{action, of.Name}, i, of)
	}
	return a
}

// Is reports whether the agent has that id.
func (a *Agent) Is(id performatives.AgentID) bool { return a.key == id.Fold() }

// ID returns the id of the agent.
func (a *Agent) ID() performatives.AgentID { return a.id }

// Has reports whether the agent has a resource with that URI.
func (a *Agent) Has(uri string) bool {
	return slices.ContainsFunc(a.has.Resources, func(r performatives.Resource) bool { return r.URI == uri })
}

func compareKey(a *Agent, key performatives.AgentID) int { return cmp.Compare(a.key, key) }

// burstTime is the time in which changes are told together.
const burstTime = 100 * time.Millisecond

// Changed updates the entry of an agent. It is OnList of the node's [actors.Options].
func (c *Catalog) Changed(id performatives.AgentID) {
	if !c.used.Load() {
		return // the first use sees the change
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var before, after []performatives.Action
	if a := c.removeLocked(id.Fold()); a != nil {
		before = a.has.Actions
	}
	if r, ok := c.system.Find(id); ok && r.Visible() {
		a := newAgent(r)
		c.addLocked(a)
		after = a.has.Actions
	}
	if len(before)+len(after) == 0 || reflect.DeepEqual(before, after) {
		return
	}
	if c.changed = append(c.changed, id); len(c.changed) == 1 {
		c.system.AfterFunc(burstTime, func() {
			c.mu.Lock()
			ids := c.changed
			c.changed = nil
			c.mu.Unlock()
			c.tell(ids)
		})
	}
}

// useLocked lists the agents at the first use.
func (c *Catalog) useLocked() {
	if c.used.Swap(true) {
		return
	}
	for r := range c.system.Agents() {
		c.addLocked(newAgent(r))
	}
}

// findLocked returns the block that has a key or may get it, and the place in it.
func (c *Catalog) findLocked(key performatives.AgentID) (in, at int, there bool) {
	in, _ = slices.BinarySearchFunc(c.blocks, key, func(b *block, key performatives.AgentID) int {
		return compareKey(b.agents[len(b.agents)-1], key)
	})
	in = min(in, len(c.blocks)-1)
	if in < 0 {
		return 0, 0, false
	}
	at, there = slices.BinarySearchFunc(c.blocks[in].agents, key, compareKey)
	return in, at, there
}

// addLocked lists an agent, unless one with its id is listed: the id changed hands meanwhile.
func (c *Catalog) addLocked(a *Agent) {
	in, at, there := c.findLocked(a.key)
	switch {
	case there:
		return
	case len(c.blocks) == 0:
		c.blocks = []*block{{}}
	}
	b := c.blocks[in]
	b.agents, b.texts, a.in = slices.Insert(b.agents, at, a), nil, b
	if half := len(b.agents) / 2; len(b.agents) == maxBlock {
		upper := &block{agents: slices.Clone(b.agents[half:])}
		for _, moved := range upper.agents {
			moved.in = upper
		}
		c.blocks = slices.Insert(c.blocks, in+1, upper)
		b.agents = slices.Delete(b.agents, half, len(b.agents))
	}
	for _, of := range a.offers {
		by := c.offers[of.name]
		i, _ := slices.BinarySearchFunc(by, a.key, compareKey)
		if i == 0 && len(by) > 0 {
			by[0].in.texts = nil
		}
		c.offers[of.name] = slices.Insert(by, i, a)
	}
}

// removeLocked removes the entry of an agent, and returns it, or nil.
func (c *Catalog) removeLocked(key performatives.AgentID) *Agent {
	in, at, there := c.findLocked(key)
	if !there {
		return nil
	}
	b := c.blocks[in]
	a := b.agents[at]
	b.agents, b.texts = slices.Delete(b.agents, at, at+1), nil
	if len(b.agents) == 0 {
		c.blocks = slices.Delete(c.blocks, in, in+1)
	}
	for _, of := range a.offers {
		by := c.offers[of.name]
		i, _ := slices.BinarySearchFunc(by, key, compareKey)
		if by = slices.Delete(by, i, i+1); len(by) == 0 {
			delete(c.offers, of.name)
			continue
		}
		c.offers[of.name] = by
		if i == 0 {
			by[0].in.texts = nil
		}
	}
	return a
}

// Summary returns the JSON of [Union] of all agents but one.
func (c *Catalog) Summary(except performatives.AgentID) performatives.Parsed {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked()
	if a := c.removeLocked(except.Fold()); a != nil { // another agent may be the first now that offers the same
		defer c.addLocked(a)
	}
	parts := append(make([][]byte, 0, 2*len(c.blocks)+3), []byte(`{"capabilities":{"topics":[`))
	for kind, end := range [...]string{topic: `],"actions":[`, action: `]},"status":"success"}`} {
		begin := len(parts)
		for _, b := range c.blocks {
			if text := c.textsLocked(b)[kind]; len(text) > 0 {
				parts = append(parts, text)
			}
		}
		if last := len(parts) - 1; last >= begin {
			parts[last] = parts[last][:len(parts[last])-1] // without the comma
		}
		parts = append(parts, []byte(end))
	}
	return bytes.Join(parts, nil)
}

// textsLocked returns the texts of a block.
func (c *Catalog) textsLocked(b *block) *[2][]byte {
	if b.texts == nil {
		b.texts = new([2][]byte)
		for _, a := range b.agents {
			for _, of := range a.offers {
				if c.offers[of.name][0] == a {
					b.texts[of.kind] = append(b.texts[of.kind], of.text...)
				}
			}
		}
	}
	return b.texts
}

// maxDepth is how deep the text of a capability may nest. That of the catalog nests four levels
// more, and a message at most 128 in all dialects.
const maxDepth = 90

// textOf returns the entry of a capability in the text of the catalog. It is empty for an action
// that no message can have: one that cannot be marshalled, is not in UTF-8, or nests too deep.
func textOf(capability any) []byte {
	text, err := json.Marshal(capability)
	if scan := (jsonscan.Scanner{Data: text, Depth: maxDepth}); err != nil || !scan.Value() || !utf8.Valid(text) {
		return nil
	}
	return slices.Clip(append(text, ','))
}

// Members returns the agents of a namespace, sorted by folded id. That with the empty name has
// all.
func (c *Catalog) Members(name performatives.AgentID) []*Agent {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked()
	var members []*Agent
	folded := string(name.Fold())
	for _, b := range c.blocks {
		for _, a := range b.agents {
			if folded == "" || Within(folded, string(a.key)) {
				members = append(members, a)
			}
		}
	}
	return members
}

// Union returns the combined capabilities of the agents for which seen is true. Each action
// contains the id of its agent. Of several capabilities with the same name, the first agent's is
// kept; with each, that of each agent.
func Union(agents []*Agent, seen func(*Agent) bool, each bool) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	covered := make(map[name]bool)
	fresh := func(of offer) bool { return each || !covered[of.name] }
	for _, a := range agents {
		if !slices.ContainsFunc(a.offers, fresh) && len(a.has.Resources) == 0 || !seen(a) {
			continue
		}
		for _, of := range a.offers {
			switch {
			case !fresh(of):
			case of.kind == topic:
				all.Topics = append(all.Topics, a.has.Topics[of.at])
			default:
				can := a.has.Actions[of.at]
				can.Extra = withAgent(can.Extra, a.id)
				all.Actions = append(all.Actions, can)
			}
			covered[of.name] = true
		}
		for _, r := range a.has.Resources {
			r.Extra = withAgent(r.Extra, a.id)
			all.Resources = append(all.Resources, r)
		}
	}
	return all
}

// memberAgent is the JSON member of an action or a resource that contains the id of its agent.
const memberAgent = "agent"

// withAgent returns a copy of members with the id of an agent.
func withAgent(m performatives.Members, by performatives.AgentID) performatives.Members {
	id, err := json.Marshal(by)
	if err != nil {
		return m // the error is an invalid id
	}
	m = maps.Clone(m)
	if m == nil {
		m = make(performatives.Members, 1)
	}
	m[memberAgent] = id
	return m
}
