package namespace

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
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
// A change costs what the changed agent offers. The catalog lists no agent until its first use. It
// is safe for concurrent use.
type Catalog struct {
	system *actors.System
	used   atomic.Bool

	mu     sync.Mutex
	agents []*Agent
	offers map[name]*capability
	walk   uint64 // the number of the latest walk over capabilities
	length int    // of the latest text

	watchers map[Watcher]struct{}
	changed  map[performatives.AgentID]struct{} // of which the watchers are not told yet
}

// name is the name of a topic or of an action.
type name struct {
	action bool
	folded string
}

// capability is what agents offer under one name. It is guarded by Catalog.mu.
type capability struct {
	name
	agents int    // how many offer it
	walk   uint64 // the latest that has met it
}

// meet notes that a walk has met the capability, and reports whether that is the first time.
func (c *capability) meet(walk uint64) (first bool) {
	first = c.walk != walk
	c.walk = walk
	return first
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
	*capability
	at int // in the topics or the actions of the agent
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
	before := c.removeLocked(id.Fold())
	var after []performatives.Action
	if r, ok := c.system.Find(id); ok && r.Visible() {
		after = c.addLocked(r).has.Actions
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
	c.offers = make(map[name]*capability)
	for r := range c.system.Agents() {
		c.addLocked(r)
	}
}

// addLocked lists an agent, and returns its entry.
func (c *Catalog) addLocked(r *actors.Registration) *Agent {
	a := &Agent{key: r.ID().Fold(), id: r.ID(), has: r.Describe()}
	at, there := slices.BinarySearchFunc(c.agents, a.key, compareKey)
	if there {
		return c.agents[at] // its id changed hands while the agents were listed
	}
	c.agents = slices.Insert(c.agents, at, a)
	c.walk++
	for i, t := range a.has.Topics {
		c.offerLocked(a, name{false, t}, i)
	}
	for i, of := range a.has.Actions {
		c.offerLocked(a, name{true, of.Name}, i)
	}
	return a
}

// offerLocked notes a capability of a new agent, unless it has another one of that name.
func (c *Catalog) offerLocked(a *Agent, n name, at int) {
	n.folded = performatives.FoldCapability(n.folded)
	of := c.offers[n]
	if of == nil {
		of = &capability{name: n}
		c.offers[n] = of
	}
	if of.meet(c.walk) {
		of.agents++
		a.offers, a.texts = append(a.offers, offer{of, at}), append(a.texts, nil)
	}
}

// removeLocked removes the entry of an agent, if there is one, and returns its actions.
func (c *Catalog) removeLocked(key performatives.AgentID) []performatives.Action {
	at, there := slices.BinarySearchFunc(c.agents, key, compareKey)
	if !there {
		return nil
	}
	a := c.agents[at]
	c.agents = slices.Delete(c.agents, at, at+1)
	for _, of := range a.offers {
		if of.agents--; of.agents == 0 {
			delete(c.offers, of.name)
		}
	}
	return a.has.Actions
}

// Summary returns the JSON of [Union] of all agents but one.
func (c *Catalog) Summary(except performatives.AgentID) performatives.Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked()
	out := append(make([]byte, 0, c.length+c.length/16+256), `{"capabilities":{"topics":[`...)
	out = c.appendLocked(out, false, except.Fold())
	out = append(out, `],"actions":[`...)
	out = c.appendLocked(out, true, except.Fold())
	out = append(out, `]},"status":"success"}`...)
	c.length = len(out)
	return performatives.Raw(out)
}

// appendLocked appends the elements of the JSON array of the actions or the topics of all agents
// but one.
func (c *Catalog) appendLocked(out []byte, actions bool, except performatives.AgentID) []byte {
	c.walk++
	begin := len(out)
	for _, a := range c.agents {
		if a.key == except {
			continue
		}
		for i, of := range a.offers {
			if of.action != actions || !of.meet(c.walk) {
				continue
			}
			if a.texts[i] == nil {
				a.texts[i] = a.textOf(of)
			}
			out = append(out, a.texts[i]...)
		}
	}
	if last := len(out) - 1; last >= begin {
		out = out[:last] // the comma
	}
	return out
}

// textOf returns the entry of a capability in the text of the catalog. It is empty for an action
// that cannot be marshalled.
func (a *Agent) textOf(of offer) []byte {
	var v any
	if of.action {
		v = withAgentID(a.has.Actions[of.at], a.id)
	} else {
		v = a.has.Topics[of.at]
	}
	text, err := json.Marshal(v)
	if err != nil {
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
	if name == "" {
		return slices.Clone(c.agents)
	}
	folded := string(name.Fold())
	from, _ := slices.BinarySearchFunc(c.agents, performatives.AgentID(folded), compareKey)
	var members []*Agent
	for _, a := range c.agents[from:] {
		if !strings.HasPrefix(string(a.key), folded) {
			break
		}
		if Within(folded, string(a.key)) {
			members = append(members, a)
		}
	}
	return members
}

// Union returns the combined capabilities of the agents for which seen is true. Each action
// contains the id of its agent. Of several capabilities with the same name, the first agent's is
// kept; with each, that of each agent.
func Union(agents []*Agent, seen func(*Agent) bool, each bool) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	covered := make(map[*capability]bool)
	fresh := func(of offer) bool { return each || !covered[of.capability] }
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
			covered[of.capability] = true
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
