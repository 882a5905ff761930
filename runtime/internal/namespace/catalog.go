package namespace

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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

// Catalog lists the visible agents, sorted by folded id, and keeps the text of their combined
// capabilities. A change costs what the changed agent offers. The catalog lists no agent until its
// first use. It is safe for concurrent use.
type Catalog struct {
	system *actors.System
	used   atomic.Bool

	mu     sync.Mutex
	agents []*Agent
	offers [kinds]map[string]*capability // by folded name
	length int                           // of the latest text

	watchers map[Watcher]struct{}
	changed  map[performatives.AgentID]struct{} // of which the watchers are not told yet
}

// The kinds of capabilities.
const (
	topic = iota
	action
	kinds
)

// capability is a topic or an action.
type capability struct {
	name   string   // folded
	agents []*Agent // that offer it, sorted by key; the first one's is in the text
}

// Agent is an agent of the catalog. Other goroutines than the owner of Catalog.mu use it only
// without its texts.
type Agent struct {
	key    performatives.AgentID // folded id
	id     performatives.AgentID
	has    performatives.Capabilities
	offers [kinds][]*capability // in the order of has; nil for a name that has occurred before
	texts  [kinds][]byte        // the entries in the text of the catalog, each with a comma
	stale  bool                 // texts are to be written anew
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

// Changed updates the entry of an agent. It is OnList of the node's [actors.Options].
func (c *Catalog) Changed(id performatives.AgentID) {
	if !c.used.Load() {
		return // the first use sees the change
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.removeLocked(id.Fold())
	var after *Agent
	if r, ok := c.system.Find(id); ok && r.Visible() {
		after = c.addLocked(r)
	}
	c.compareLocked(before, after)
}

// useLocked lists the agents at the first use.
func (c *Catalog) useLocked() {
	if c.used.Swap(true) {
		return
	}
	c.offers = [kinds]map[string]*capability{{}, {}}
	for r := range c.system.Agents() {
		c.addLocked(r)
	}
}

// addLocked lists an agent, and returns its entry.
func (c *Catalog) addLocked(r *actors.Registration) *Agent {
	a := &Agent{key: r.ID().Fold(), id: r.ID(), has: r.Describe(), stale: true}
	at, there := slices.BinarySearchFunc(c.agents, a.key, compareKey)
	if there {
		return c.agents[at] // its id changed hands while the agents were listed
	}
	c.agents = slices.Insert(c.agents, at, a)
	for _, t := range a.has.Topics {
		c.offerLocked(a, topic, t)
	}
	for _, of := range a.has.Actions {
		c.offerLocked(a, action, of.Name)
	}
	return a
}

func (c *Catalog) offerLocked(a *Agent, kind int, name string) {
	name = performatives.FoldCapability(name)
	of := c.offers[kind][name]
	if of == nil {
		of = &capability{name: name}
		c.offers[kind][name] = of
	}
	at, there := slices.BinarySearchFunc(of.agents, a.key, compareKey)
	if there {
		of = nil
	} else {
		if at == 0 && len(of.agents) > 0 {
			of.agents[0].stale = true
		}
		of.agents = slices.Insert(of.agents, at, a)
	}
	a.offers[kind] = append(a.offers[kind], of)
}

// removeLocked removes the entry of an agent, and returns it; nil if there is none.
func (c *Catalog) removeLocked(key performatives.AgentID) *Agent {
	at, there := slices.BinarySearchFunc(c.agents, key, compareKey)
	if !there {
		return nil
	}
	a := c.agents[at]
	c.agents = slices.Delete(c.agents, at, at+1)
	for kind := range kinds {
		for _, of := range a.offers[kind] {
			if of == nil {
				continue
			}
			at, _ := slices.BinarySearchFunc(of.agents, key, compareKey)
			of.agents = slices.Delete(of.agents, at, at+1)
			switch {
			case len(of.agents) == 0:
				delete(c.offers[kind], of.name)
			case at == 0:
				of.agents[0].stale = true
			}
		}
	}
	return a
}

// Summary returns the JSON of [Union] of all agents but one.
func (c *Catalog) Summary(except performatives.AgentID) performatives.Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked()
	without, instead := c.replacementsLocked(except.Fold())
	out := append(make([]byte, 0, c.length+c.length/16+256), `{"capabilities":{"topics":[`...)
	for kind := range kinds {
		if kind == action {
			out = append(endList(out), `,"actions":[`...)
		}
		for _, a := range c.agents {
			switch {
			case a == without:
			case instead[a]:
				out = a.appendText(out, kind, without)
			default:
				if a.stale {
					a.write()
				}
				out = append(out, a.texts[kind]...)
			}
		}
	}
	out = append(endList(out), `},"status":"success"}`...)
	c.length = len(out)
	return performatives.Raw(out)
}

// endList ends a JSON array whose last element may have a comma.
func endList(out []byte) []byte {
	if last := len(out) - 1; out[last] == ',' {
		out = out[:last]
	}
	return append(out, ']')
}

// replacementsLocked returns the agent with that key, if it is listed, and the agents that follow
// it: without it they are the first ones to offer a capability.
func (c *Catalog) replacementsLocked(key performatives.AgentID) (without *Agent, instead map[*Agent]bool) {
	at, there := slices.BinarySearchFunc(c.agents, key, compareKey)
	if !there {
		return nil, nil
	}
	without, instead = c.agents[at], make(map[*Agent]bool)
	for kind := range kinds {
		for _, of := range without.offers[kind] {
			if of != nil && of.agents[0] == without && len(of.agents) > 1 {
				instead[of.agents[1]] = true
			}
		}
	}
	return without, instead
}

// write writes the texts of an agent.
func (a *Agent) write() {
	for kind := range kinds {
		a.texts[kind] = slices.Clip(a.appendText(nil, kind, nil))
	}
	a.stale = false
}

// appendText appends what of the agent is in the text of a catalog without another agent. It leaves
// out an action that cannot be marshalled.
func (a *Agent) appendText(out []byte, kind int, without *Agent) []byte {
	for i, of := range a.offers[kind] {
		if of == nil {
			continue
		}
		if first := of.agents[0]; first != a && !(first == without && of.agents[1] == a) {
			continue
		}
		var v any
		if kind == topic {
			v = a.has.Topics[i]
		} else {
			v = withAgentID(a.has.Actions[i], a.id)
		}
		if text, err := json.Marshal(v); err == nil {
			out = append(append(out, text...), ',')
		}
	}
	return out
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
	fresh := func(c *capability) bool { return c != nil && (each || !covered[c]) }
	for _, a := range agents {
		if !slices.ContainsFunc(a.offers[topic], fresh) && !slices.ContainsFunc(a.offers[action], fresh) && len(a.has.Resources) == 0 || !seen(a) {
			continue
		}
		for i, c := range a.offers[topic] {
			if fresh(c) {
				covered[c] = true
				all.Topics = append(all.Topics, a.has.Topics[i])
			}
		}
		for i, c := range a.offers[action] {
			if fresh(c) {
				covered[c] = true
				all.Actions = append(all.Actions, withAgentID(a.has.Actions[i], a.id))
			}
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
