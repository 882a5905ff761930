package mesh

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Kind is that of package runtime, which has checked it. The durations have no defaults.
type Kind struct {
	New            func(id performatives.AgentID) actors.Agent
	Singleton      bool
	Idle, MoveTime time.Duration
	MinMembers     int
	Labels         map[string]string
	Spawn          []func(*actors.Spec)
}

// kind is a registered [Kind].
type kind struct {
	Kind
	name  string // folded
	hosts bool   // this node may run its agents
}

// Register registers a kind, which this node hosts if it has its labels. The error is
// [actors.ErrExists].
func (n *Mesh) Register(name string, of Kind) error {
	k, p := &kind{Kind: of, name: placement.KindOf(performatives.AgentID(name)), hosts: n.hasLabels(of.Labels)}, n.placer
	p.mu.Lock()
	if p.kinds[k.name] != nil {
		p.mu.Unlock()
		return actors.ErrExists
	}
	p.kinds[k.name] = k
	hosts := k.hosts && !p.draining.Load()
	p.mu.Unlock()
	n.System.Logger().Info("the agents of a kind are placed", "kind", k.name, "level", "best effort", "hosted", hosts)
	if hosts {
		n.cluster.hosting(k.name, true)
	}
	p.changed()
	n.Events.KindHosts(k.name, n.Hosts(k.name))
	return nil
}

// hasLabels reports whether the node has all of these labels.
func (n *Mesh) hasLabels(labels map[string]string) bool {
	var own map[string]string
	if n.cluster.members != nil {
		own = n.cluster.members.Self().Labels
	}
	for name, want := range labels {
		if got, ok := own[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// hostEntry is the id of the entry of the directory by which a node says that it hosts a kind. No
// agent of a kind has it, and any other that has it is known to its own node alone.
func hostEntry(kind string) performatives.AgentID {
	return performatives.AgentID(kind + placement.Separator)
}

// namesHosts reports whether an id is that of a [hostEntry].
func namesHosts(id performatives.AgentID) bool {
	return strings.HasSuffix(string(id), placement.Separator)
}

// hosting tells the other nodes that this one hosts a kind, or does not any more.
func (c *clustered) hosting(kind string, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delta := c.replica.Remove(hostEntry(kind))
	if on {
		delta = c.replica.Put(directory.Entry{Agent: hostEntry(kind), Hidden: true, Hosts: true, Since: 1}, nil)
	}
	c.spreadLocked(delta)
}

// withdrawLocked takes a placed agent of another node off this node's directory, because this node
// is about to run it. It is called with Mesh.handover.
func (c *clustered) withdrawLocked(id performatives.AgentID) {
	c.heard.forget(id)
	if to := (view{c.node}).Entry(id); to.Placed {
		c.removeLocked(to.Agent.Destination().(*nodeAgent)) //nolint:forcetypeassert // as entryOf has found
	}
}

// removeLocked takes an agent of another node off this node's directory. The records of one that is
// placed stay, for its next activation: they move only when it has been removed, because the
// records of an agent of this node end with that. It is called with Mesh.handover.
func (c *clustered) removeLocked(a *nodeAgent) {
	a.link.agents.Delete(a.Agent.Fold())
	a.registration.Remove()
	if a.Placed {
		c.node.Relay.Moved(a.Agent, a.link.Link, nil)
		if c.heard.from(a.Agent) == a.link { // else it has moved, and its answers go there
			c.heard.forget(a.Agent)
		}
		c.node.placer.changed() // it may be a singleton of this node
	}
}

// handedTime is how long this node keeps the entry of an agent that was handed over, if it does not
// hear of the agent's next run.
const handedTime = 10 * time.Second

// handOver keeps the entry of an agent that was handed over to another node, until the directory
// has the entry of the next run. Until then the other nodes send their messages to this node, which
// passes them on.
func (c *clustered) handOver(id performatives.AgentID, to cluster.Incarnation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := id.Fold()
	c.handed[key] = &to
	c.later(handedTime, func(c *clustered) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.handed[key] == &to {
			c.dropHandedLocked(key)
			c.outdateLocked(key)
		}
	})
}

// dropHandedLocked removes the entry of an agent that was handed over.
func (c *clustered) dropHandedLocked(key performatives.AgentID) {
	delete(c.handed, key)
	c.spreadLocked(c.replica.Remove(key))
}

// farewellTime is how long a node that leaves waits for the others, and handedPause how long it
// waits before it looks again.
const (
	farewellTime = 5 * time.Second
	handedPause  = 10 * time.Millisecond
)

// farewell waits until the other nodes send nothing more to the agents that were handed over: those
// that have got them say so, for which it waits for at most farewellTime. Then all others know it,
// and answer behind all that they have sent. Nodes that join meanwhile, and those whose links begin
// anew, are told, too.
func (c *clustered) farewell(ctx context.Context) {
	settle, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	for c.hands() && c.node.placer.pause(settle, handedPause) {
		continue
	}
	c.mu.Lock()
	clear(c.handed) // the others get this node's state, and it has gone soon
	state := c.replica.OwnState()
	c.mu.Unlock()
	ctx, cancel = context.WithTimeout(ctx, farewellTime)
	defer cancel()
	for told := []*nodeLink(nil); ; {
		var answers []<-chan note
		for _, l := range *c.current.Load() {
			if !slices.Contains(told, l) {
				told, answers = append(told, l), append(answers, c.node.placer.ask(l, note{Step: stepLeaves, State: state}))
			}
		}
		if len(answers) == 0 {
			return
		}
		for _, answer := range answers {
			await(ctx, c.node.System, answer)
		}
	}
}

// hands reports whether the directory has agents here that were handed over.
func (c *clustered) hands() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.handed) > 0
}
