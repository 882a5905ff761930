package runtime

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// catalog lists the visible agents, sorted by folded id, and keeps the text of their combined
// capabilities. A change costs what the changed agent offers. The catalog lists no agent until its
// first use.
type catalog struct {
	used atomic.Bool

	mu     sync.Mutex
	agents []*listed
	offers [kinds]map[string]*capability // by folded name
	length int                           // of the latest text
}

// The kinds of capabilities.
const (
	topic = iota
	action
	kinds
)

// capability is a topic or an action.
type capability struct {
	name   string    // folded
	agents []*listed // that offer it, sorted by key; the first one's is in the text
}

// listed is an agent of the catalog. Other goroutines than the owner of catalog.mu use it only
// without its texts.
type listed struct {
	key    performatives.AgentID // folded id
	id     performatives.AgentID
	has    performatives.Capabilities
	offers [kinds][]*capability // in the order of has; nil for a name that has occurred before
	texts  [kinds][]byte        // the entries in the text of the catalog, each with a comma
	stale  bool                 // texts are to be written anew
}

func compareKey(a *listed, key performatives.AgentID) int { return cmp.Compare(a.key, key) }

// changed updates the entry of an agent. It is OnList of the node's [actors.Options].
func (c *catalog) changed(system *actors.System, id performatives.AgentID) {
	if !c.used.Load() {
		return // the first use sees the change
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(id.Fold())
	if r, ok := system.Find(id); ok && r.Visible() {
		c.addLocked(r)
	}
}

// useLocked lists the agents at the first use.
func (c *catalog) useLocked(system *actors.System) {
	if c.used.Swap(true) {
		return
	}
	c.offers = [kinds]map[string]*capability{{}, {}}
	for r := range system.Agents() {
		c.addLocked(r)
	}
}

func (c *catalog) addLocked(r *actors.Registration) {
	a := &listed{key: r.ID().Fold(), id: r.ID(), has: r.Describe(), stale: true}
	at, there := slices.BinarySearchFunc(c.agents, a.key, compareKey)
	if there {
		return // its id changed hands while the agents were listed
	}
	c.agents = slices.Insert(c.agents, at, a)
	for _, t := range a.has.Topics {
		c.offerLocked(a, topic, t)
	}
	for _, of := range a.has.Actions {
		c.offerLocked(a, action, of.Name)
	}
}

func (c *catalog) offerLocked(a *listed, kind int, name string) {
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

func (c *catalog) removeLocked(key performatives.AgentID) {
	at, there := slices.BinarySearchFunc(c.agents, key, compareKey)
	if !there {
		return
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
}

// summary returns the JSON of [union] of all agents but one.
func (c *catalog) summary(system *actors.System, except performatives.AgentID) performatives.Raw {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked(system)
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
func (c *catalog) replacementsLocked(key performatives.AgentID) (without *listed, instead map[*listed]bool) {
	at, there := slices.BinarySearchFunc(c.agents, key, compareKey)
	if !there {
		return nil, nil
	}
	without, instead = c.agents[at], make(map[*listed]bool)
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
func (a *listed) write() {
	for kind := range kinds {
		a.texts[kind] = slices.Clip(a.appendText(nil, kind, nil))
	}
	a.stale = false
}

// appendText appends what of the agent is in the text of a catalog without another agent. It leaves
// out an action that cannot be marshalled.
func (a *listed) appendText(out []byte, kind int, without *listed) []byte {
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

// namespace returns the agents of a namespace, sorted by folded id. That with the empty name has
// all.
func (c *catalog) namespace(system *actors.System, name performatives.AgentID) []*listed {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.useLocked(system)
	if name == "" {
		return slices.Clone(c.agents)
	}
	folded := string(name.Fold())
	from, _ := slices.BinarySearchFunc(c.agents, performatives.AgentID(folded), compareKey)
	var members []*listed
	for _, a := range c.agents[from:] {
		if !strings.HasPrefix(string(a.key), folded) {
			break
		}
		if within(folded, string(a.key)) {
			members = append(members, a)
		}
	}
	return members
}

// union returns the combined capabilities of the agents for which seen is true. Each action
// contains the id of its agent. Of several capabilities with the same name, the first agent's is
// kept.
func union(agents []*listed, seen func(*listed) bool) performatives.Capabilities {
	all := performatives.Capabilities{Topics: []string{}, Actions: []performatives.Action{}}
	covered := make(map[*capability]bool)
	fresh := func(c *capability) bool { return c != nil && !covered[c] }
	for _, a := range agents {
		if !slices.ContainsFunc(a.offers[topic], fresh) && !slices.ContainsFunc(a.offers[action], fresh) || !seen(a) {
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
	}
	return all
}
