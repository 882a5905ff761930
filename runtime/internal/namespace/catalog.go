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

// New returns the catalog of the agents of a system.
func New(s *actors.System) *Catalog { return &Catalog{system: s} }

// Catalog lists the visible agents, sorted by folded id, and keeps the texts of their capabilities.
// A change costs what the changed agent offers, and the text of a block of agents at the next
// summary. The catalog lists no agent until its first use. It is safe for concurrent use.
type Catalog struct {
	system *actors.System
	used   atomic.Bool

	mu     sync.Mutex
	blocks []*block
	offers map[name][]*Agent // who offers it, sorted by folded id

	watchers map[Watcher]struct{}
	changed  map[performatives.AgentID]struct{} // of which the watchers are not told yet
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
	action bool
	folded string
}

// Agent is an agent of the catalog. Other goroutines than the owner of Catalog.mu use it only
// without its texts.
type Agent struct {
	key    performatives.AgentID // folded id
	id     performatives.AgentID
	has    performatives.Capabilities
	offers []offer  // each name once, in the order of has
	texts  [][]byte // of offers, in the text of the catalog, each with a comma; nil before its first use
}

// offer is a capability of one agent.
type offer struct {
	name
	at int // in the topics or the actions of the agent
}

// newAgent returns the entry of a registered agent.
func newAgent(r *actors.Registration) *Agent {
	a := &Agent{key: r.ID().Fold(), id: r.ID(), has: r.Describe()}
	met := make(map[name]bool, len(a.has.Topics)+len(a.has.Actions))
	add := func(n name, at int) {
		n.folded = performatives.FoldCapability(n.folded)
		if !met[n] {
			met[n] = true
			a.offers = append(a.offers, offer{n, at})
		}
	}
	for i, t := range a.has.Topics {
		add(name{false, t}, i)
	}
	for i, of := range a.has.Actions {
		add(name{true, of.Name}, i)
	}
	a.texts = make([][]byte, len(a.offers))
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

// Changed updates the entry of an agent, and has the watchers told if its actions have changed. It
// is OnList of the node's [actors.Options].
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
	if len(c.watchers) == 0 || len(before)+len(after) == 0 || reflect.DeepEqual(before, after) {
		return
	}
	if c.changed[id] = struct{}{}; len(c.changed) == 1 {
		c.system.AfterFunc(burstTime, c.tell)
	}
}

// useLocked lists the agents at the first use.
func (c *Catalog) useLocked() {
	if c.used.Swap(true) {
		return
	}
	c.offers = make(map[name][]*Agent)
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

// staleLocked has the text of the first of these agents, if there is one, made anew.
func (c *Catalog) staleLocked(agents []*Agent) {
	if len(agents) > 0 {
		in, _, _ := c.findLocked(agents[0].key)
		c.blocks[in].texts = nil
	}
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
	b.agents, b.texts = slices.Insert(b.agents, at, a), nil
	if half := len(b.agents) / 2; len(b.agents) == maxBlock {
		c.blocks = slices.Insert(c.blocks, in+1, &block{agents: slices.Clone(b.agents[half:])})
		b.agents = slices.Delete(b.agents, half, len(b.agents))
	}
	for _, of := range a.offers {
		by := c.offers[of.name]
		i, _ := slices.BinarySearchFunc(by, a.key, compareKey)
		if i == 0 {
			c.staleLocked(by)
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
			c.staleLocked(by)
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
	parts := make([][]byte, 0, 2*len(c.blocks)+3)
	parts = c.partsLocked(append(parts, []byte(`{"capabilities":{"topics":[`)), 0)
	parts = c.partsLocked(append(parts, []byte(`],"actions":[`)), 1)
	parts = append(parts, []byte(`]},"status":"success"}`))
	return bytes.Join(parts, nil)
}

// partsLocked appends the parts of the elements of the JSON array of the topics of all agents, or,
// for 1, of their actions.
func (c *Catalog) partsLocked(parts [][]byte, kind int) [][]byte {
	begin := len(parts)
	for _, b := range c.blocks {
		if b.texts == nil {
			c.writeLocked(b)
		}
		if text := b.texts[kind]; len(text) > 0 {
			parts = append(parts, text)
		}
	}
	if last := len(parts) - 1; last >= begin {
		parts[last] = parts[last][:len(parts[last])-1] // without the comma
	}
	return parts
}

// writeLocked makes the texts of a block.
func (c *Catalog) writeLocked(b *block) {
	b.texts = new([2][]byte)
	for _, a := range b.agents {
		for i, of := range a.offers {
			if c.offers[of.name][0] != a {
				continue
			}
			if a.texts[i] == nil {
				a.texts[i] = a.textOf(of)
			}
			to := &b.texts[0]
			if of.action {
				to = &b.texts[1]
			}
			*to = append(*to, a.texts[i]...)
		}
	}
}

// maxDepth is how deep the text of a capability may nest. That of the catalog nests four levels
// more, and a message at most 128 in all dialects.
const maxDepth = 90

// textOf returns the entry of a capability in the text of the catalog. It is empty for an action
// that no message can have: one that cannot be marshalled, is not in UTF-8, or nests too deep.
func (a *Agent) textOf(of offer) []byte {
	var v any
	if of.action {
		v = withAgentID(a.has.Actions[of.at], a.id)
	} else {
		v = a.has.Topics[of.at]
	}
	text, err := json.Marshal(v)
	if scan := (jsonscan.Scanner{Data: text, Depth: maxDepth}); err != nil || !scan.Value() || !utf8.Valid(text) {
		return []byte{}
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
	from, at, _ := c.findLocked(name.Fold())
	for _, b := range c.blocks[from:] {
		for _, a := range b.agents[at:] {
			switch {
			case !strings.HasPrefix(string(a.key), folded):
				return members
			case folded == "" || Within(folded, string(a.key)):
				members = append(members, a)
			}
		}
		at = 0
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
				continue
			case of.action:
				all.Actions = append(all.Actions, withAgentID(a.has.Actions[of.at], a.id))
			default:
				all.Topics = append(all.Topics, a.has.Topics[of.at])
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

// withAgentID returns a copy of the action with the id of its agent.
func withAgentID(a performatives.Action, by performatives.AgentID) performatives.Action {
	a.Extra = withAgent(a.Extra, by)
	return a
}

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
