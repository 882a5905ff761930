package mesh

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/cluster/placement"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/sessions"
)

// agentChanged publishes that an agent of this node has started, has announced its capabilities or
// has stopped.
func (c *clustered) agentChanged(id performatives.AgentID) {
	if !c.hasBegun() || namesHosts(id) {
		return // the others will get the whole state, and not know an agent of such an id
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.node.System.Find(id)
	_, handed := c.handed[id.Fold()]
	switch {
	case ok && c.node.ours(r):
		c.heard.forget(id)
		c.spreadLocked(c.putLocked(r))
		delete(c.handed, id.Fold())
		c.outdateLocked(id) // it may run on another node, too
	case !handed:
		c.spreadLocked(c.replica.Remove(id))
	}
	if !ok { // another node may have one of that id
		c.outdateLocked(id)
	}
}

// hasBegun reports whether the node has joined a cluster, also if it has left.
func (c *clustered) hasBegun() bool {
	select {
	case <-c.ready:
		return c.members != nil
	default:
		return false
	}
}

// A burst of more deltas than burstSize within burstTime is told by one state, because gossip
// carries some hundred deltas a second.
const (
	burstSize = 32
	burstTime = 100 * time.Millisecond
)

// spreadLocked tells the other nodes of a change, unless that is nil, or the node has no cluster.
func (c *clustered) spreadLocked(delta []byte) {
	if delta == nil || c.members == nil {
		return
	}
	if c.burst == 0 {
		c.node.System.AfterFunc(burstTime, c.endBurst)
	}
	if c.burst++; c.burst <= burstSize {
		_ = c.members.Broadcast(delta) // the error is that the membership has stopped
	}
}

// endBurst ends a burst. If the others were not told of all of its changes, they get the state of
// this node's own agents. A node that this one does not reach gets it by push/pull.
func (c *clustered) endBurst() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.burst > burstSize {
		state := c.replica.OwnState()
		c.node.System.Work(func() {
			for _, l := range *c.current.Load() {
				if err := c.members.SendBulk(l.peer, state); err != nil {
					c.node.System.Logger().Debug("the agents of this node were not sent to another", "peer", l.peer.Name, "err", err)
				}
			}
		})
	}
	c.burst = 0
}

// putLocked records an agent of this node in the replica.
func (c *clustered) putLocked(r *actors.Registration) (delta []byte) {
	e := directory.Entry{Agent: r.ID(), Hidden: !r.Visible()}
	if a, ok := r.Destination().(*sessions.Agent); ok {
		e.Moves, e.Principal = true, principalOf(a.Principal())
	}
	var text []byte
	if !e.Hidden {
		var err error
		if text, err = capabilitiesOf(r.ID(), r.Describe()); err != nil {
			c.node.System.Logger().Warn("the capabilities of an agent are not told to other nodes", "agent", r.ID(), "err", err)
			e.Hidden, text = true, nil
		}
	}
	if run := c.node.placer.runOf(r.ID()); run.Since != 0 {
		e.Placed, e.First, e.Since = true, run.First, run.Since
	} else {
		e.Since = c.sinceLocked(r.ID(), e.Moves)
	}
	return c.replica.Put(e, text)
}

// sinceLocked returns when this node has first put an agent into the replica, which may be now. An
// agent that moves is later there than at any other node, whose clock may be ahead.
func (c *clustered) sinceLocked(id performatives.AgentID, moves bool) uint64 {
	since := uint64(time.Now().UnixMicro())
	for _, e := range c.replica.Lookup(id) {
		switch {
		case e.Owner == c.self:
			return e.Since
		case moves && e.Moves:
			since = max(since, e.Since+1)
		}
	}
	return since
}

// maxCapabilities is the length of the longest text of capabilities that a link carries, in bytes.
const maxCapabilities = nodelink.MaxMessage - 1 // the first byte of a control text is its kind

// capabilitiesOf returns the JSON by which other nodes get the capabilities of an agent.
func capabilitiesOf(id performatives.AgentID, capabilities performatives.Capabilities) ([]byte, error) {
	text, err := json.Marshal(capabilities)
	switch {
	case err != nil:
		return nil, fmt.Errorf("runtime: the capabilities of the agent %q: %w", id, err)
	case len(text) > maxCapabilities:
		return nil, fmt.Errorf("runtime: the capabilities of the agent %q have %d bytes as JSON, and a cluster takes %d", id, len(text), maxCapabilities)
	}
	return text, nil
}

// CheckCapabilities returns an error if the capabilities of an agent of this process cannot be told
// to other nodes.
func (n *Mesh) CheckCapabilities(a actors.Self) error {
	if !n.cluster.hasBegun() {
		return nil
	}
	_, err := capabilitiesOf(a.ID(), a.Describe())
	return err
}

// Received takes in a delta of another node: see [membership.GossipState].
func (c *clustered) Received(delta []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changedLocked(c.replica.Receive(delta))
}

// State returns the node's state of the directory: see [membership.GossipState].
func (c *clustered) State() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replica.State()
}

// Merge takes in the state of another node: see [membership.GossipState].
func (c *clustered) Merge(state []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changedLocked(c.replica.Merge(state))
}

var _ membership.GossipState = (*clustered)(nil)

func (c *clustered) changedLocked(ids []performatives.AgentID, err error) {
	if err != nil {
		c.node.System.Logger().Warn("a part of the directory was not understood", "err", err)
		return
	}
	for _, node := range c.replica.Strangers() {
		c.later(strangerTime, func(c *clustered) { // if it has not joined
			c.mu.Lock()
			defer c.mu.Unlock()
			c.outdateLocked(c.replica.Forget(node)...)
		})
	}
	c.outdateLocked(ids...)
}

// strangerTime is how long the agents of a node are in the replica before the node has joined. A
// node that lives joins sooner. One that has died just before this node began is not a member here,
// and never becomes one: the others no longer tell of it.
const strangerTime = 5 * time.Second

// outdateLocked has the registrations of agents compared with the replica, soon.
func (c *clustered) outdateLocked(ids ...performatives.AgentID) {
	for _, id := range ids {
		if namesHosts(id) {
			c.node.placer.changed()
			kind := placement.KindOf(id)
			c.node.System.Work(func() { c.node.Events.KindHosts(kind, c.node.Hosts(kind)) })
			continue
		}
		c.outdated[id.Fold()] = struct{}{}
	}
	if !c.scheduled && len(c.outdated) > 0 {
		c.scheduled = true
		c.node.System.Work(c.refresh)
	}
}

// refresh makes the registrations of agents of other nodes agree with the replica, and fetches the
// capabilities that are missing.
func (c *clustered) refresh() {
	c.node.handover.Lock()
	defer c.node.handover.Unlock()
	for {
		c.mu.Lock()
		ids := slices.Sorted(maps.Keys(c.outdated))
		clear(c.outdated)
		c.scheduled = len(ids) > 0
		c.mu.Unlock()
		if len(ids) == 0 {
			c.fetch(false)
			return
		}
		for _, id := range ids {
			c.refreshLocked(id)
		}
	}
}

// wanted is how an agent of another node is to be registered.
type wanted struct {
	entry        directory.Entry
	link         *nodeLink // nil: not at all
	capabilities []byte    // nil: it is hidden, or they are still to be fetched
}

// wantedLocked returns how an agent is to be registered: as the first of the entries whose nodes
// are there.
func (c *clustered) wantedLocked(id performatives.AgentID) (w wanted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := c.replica.Lookup(id)
	if to := c.handed[id.Fold()]; to != nil && (c.peers[*to] == nil || len(entries) > 0 && entries[0].Owner != c.self) { // the next run is known, or lost
		c.dropHandedLocked(id.Fold())
	}
	for _, e := range entries {
		if e.Owner == c.self && e.Moves {
			break // the session of this node has precedence
		}
		if l := c.peers[e.Owner]; l != nil {
			w.entry, w.link = e, l
			break
		}
	}
	if w.link != nil && !w.entry.Hidden {
		w.capabilities, _ = c.replica.Content(w.entry.Digest)
	}
	return w
}

// refreshLocked makes the registration of one agent agree with the replica. An agent of this node
// has precedence.
func (c *clustered) refreshLocked(id performatives.AgentID) {
	want := c.wantedLocked(id)
	if want.link != nil {
		if heard := c.heard.from(id); heard != nil && heard != want.link && want.entry.Moves { // it has moved since it was heard
			c.node.Relay.Follow(id, heard.Link, want.link.Link)
		}
		c.heard.forget(id)
	}
	current, found := c.node.System.Find(id)
	var a *nodeAgent
	if found {
		if a, _ = current.Destination().(*nodeAgent); a == nil {
			c.contestLocked(current, want)
			return
		}
		if !want.entry.Moves && !want.entry.Continues(a.Entry) && c.runsAgain(a.link.peer) {
			return // the link is lost soon, which tells those who converse with this run of the agent
		}
	}
	switch {
	case want.link == nil:
		if a != nil {
			c.removeLocked(a)
		}
		return
	case a == nil:
		if a = c.leadLocked(nil, want); a != nil && a.Placed {
			c.node.Relay.Moved(id, nil, a.link.Link)
		}
	case a.link != want.link || a.Agent != want.entry.Agent:
		switch {
		case want.entry.Placed:
			c.node.Relay.Moved(id, a.link.Link, want.link.Link)
		case want.entry.Moves:
			c.node.Relay.Follow(id, a.link.Link, want.link.Link)
		}
		a.link.agents.Delete(id.Fold())
		a = c.leadLocked(current, want)
	}
	if a != nil {
		a.announce(want)
	}
}

// runsAgain reports whether another run of a node has told of itself.
func (c *clustered) runsAgain(peer cluster.Incarnation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replica.RunsAgain(peer)
}

// principalOf returns the digest by which other nodes know a principal.
func principalOf(name string) directory.Digest {
	return directory.DigestOf([]byte(performatives.AgentID(name).Fold()))
}

// leadLocked makes the directory lead to an agent of another node, in place of the present
// destination: nil for none. It returns nil while an agent of this node starts or stops.
func (c *clustered) leadLocked(current *actors.Registration, w wanted) *nodeAgent {
	a := &nodeAgent{Entry: w.entry, link: w.link}
	if current != nil {
		a.registration, _ = current.Replace(a.Agent, a)
	} else {
		a.registration, _ = c.node.System.Register(a.Agent, a) // else it has gone when agentChanged is called; or the node stops
	}
	if a.registration == nil {
		return nil
	}
	a.link.agents.Store(a.Agent.Fold(), a)
	return a
}

// contestLocked handles that an id of this node is one of another node, too. A session gives way to
// a later one, and an agent does not.
func (c *clustered) contestLocked(ours *actors.Registration, w wanted) {
	run := c.node.placer.runOf(ours.ID())
	if now, _ := c.node.System.Find(ours.ID()); now != ours || w.link == nil { // it has just gone, perhaps to that node
		return
	}
	log := c.node.System.Logger().With("agent", ours.ID(), "peer", w.link.peer.Name)
	if run.Since != 0 && w.entry.Placed {
		switch {
		case run.followed(w.entry): // which has yet to go
		case run.leaving && w.entry.Continues(run.Entry): // that node has taken it, and says so soon
		case run.Compare(w.entry) > 0:
			log.Warn("another node has activated the agent before, and this activation stops")
			c.node.Events.AgentContested(ours.ID(), w.link.peer.Name, true)
			c.node.System.Work(func() { c.node.placer.yield(ours.ID(), w.link) })
		}
		return
	}
	a, ok := ours.Destination().(*sessions.Agent)
	if !ok {
		log.Warn("an agent of another node has the same id; each node uses its own")
		c.node.Events.AgentContested(ours.ID(), w.link.peer.Name, false)
		return
	}
	log.Warn("a connection to another node takes over the agents of a session", "agents", a.Siblings())
	defer a.Dismiss()
	if a.Principal() == "" || principalOf(a.Principal()) == w.entry.Principal {
		if next := c.leadLocked(ours, w); next != nil {
			dialect, requests := a.Follow(w.link.Link)
			if text, err := json.Marshal(adoption{next.Agent, dialect, requests}); err != nil || !c.links.Control(w.link.peer, append([]byte{controlAdopt}, text...)) {
				log.Warn("the answers to an agent do not follow it to its next connection", "err", err)
			}
			next.announce(w)
			return
		}
	}
	a.End()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outdateLocked(w.entry.Agent)
}

// adoption are the requests of an agent whose answers a session of another node writes: see
// [wire.Session.Requests].
type adoption struct {
	Agent    performatives.AgentID
	Dialect  string
	Requests []byte
}

// adopt takes the requests that an agent of this node sent by way of another node. It sends the
// answers that have waited for them.
func (c *clustered) adopt(text []byte) {
	var of adoption
	if err := json.Unmarshal(text, &of); err != nil {
		c.node.System.Logger().Warn("the requests of an agent were not understood", "err", err)
		return
	}
	if r, ok := c.node.System.Find(of.Agent); ok {
		if a, ok := r.Destination().(*sessions.Agent); ok {
			a.Adopt(of.Dialect, of.Requests)
		}
	}
}

// fetchAgain is how long the requests for capabilities wait until those without an answer are
// repeated.
const fetchAgain = time.Second

// fetch asks nodes for the texts of capabilities that are missing: for those that it has not asked
// for yet, or again for all. It asks for them again every fetchAgain until they have come, of
// another node if more than one has them. A node that is not connected is asked when it is.
func (c *clustered) fetch(again bool) {
	c.mu.Lock()
	missing := c.replica.Missing(again, func(of cluster.Incarnation) bool { return c.linkTo(of) != nil })
	c.mu.Unlock()
	for _, want := range missing {
		c.links.Control(want.From, append([]byte{controlFetch}, want.Digest[:]...))
		c.again.after(fetchAgain, c.node.System, func() { c.fetch(true) })
	}
}

// provide answers a request for a text of capabilities. It has no answer if they have changed
// since: the other node asks for the new ones.
func (c *clustered) provide(to cluster.Incarnation, digest []byte) {
	var of directory.Digest
	copy(of[:], digest)
	c.mu.Lock()
	text, ok := c.replica.Content(of)
	c.mu.Unlock()
	if ok {
		c.links.Control(to, append([]byte{controlText}, text...))
	}
}
