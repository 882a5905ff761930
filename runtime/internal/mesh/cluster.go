package mesh

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/directory"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/relay"
	"github.com/ribosome-agents/ribosome/wire/grpc"
)

// clustered is a node's part of a cluster. That of a node without a cluster has no members.
type clustered struct {
	node  *Mesh
	heard heard

	// Set before ready is closed.
	ready    chan struct{} // closed when the node has joined, or has left
	begin    func()        // closes ready, once
	self     cluster.Incarnation
	members  membership.Membership
	links    NodeLinks
	listener *grpc.Listener // for links; nil if the caller has one
	address  string         // of links
	linked   atomic.Bool    // the node has had a link, or has begun as the only node
	stopOnce sync.Once

	peers   map[cluster.Incarnation]*nodeLink // guarded by Mesh.handover
	current atomic.Pointer[[]*nodeLink]       // those of peers, sorted
	ended   atomic.Pointer[nodeLink]          // a lost link whose undelivered messages are being returned; nil: none

	mu        sync.Mutex
	replica   *directory.Replica
	outdated  map[performatives.AgentID]struct{}             // folded ids whose registrations may differ from the replica
	scheduled bool                                           // a call of refresh is under way
	again     timer                                          // of fetch
	handed    map[performatives.AgentID]*cluster.Incarnation // the new nodes of agents that were handed over, by folded id, each until the directory has the agent there; until then, this node keeps its entry of the agent
	burst     int                                            // how many changes there were since the first of a burst; zero: there is none
}

// NodeLinks carries messages to other nodes. No method blocks.
type NodeLinks interface {
	// Rename sets this node's incarnation while there is no link.
	Rename(self cluster.Incarnation)
	// Add opens a link to a node.
	Add(m cluster.Member)
	// Remove ends the link to a node: undelivered messages come back, and no further message is
	// received.
	Remove(peer cluster.Incarnation)
	// Send queues a message, or returns a [*performatives.Refusal].
	Send(peer cluster.Incarnation, m *performatives.Message) error
	// Wait returns how long messages for a node wait until it has acknowledged them.
	Wait(peer cluster.Incarnation) time.Duration
	// Control sends a text about capabilities, which may be lost.
	Control(peer cluster.Incarnation, text []byte) bool
	// States returns the nodes to which there are links, with nil if messages pass now, or the
	// reason why not.
	States() map[cluster.Incarnation]error
	// Stop waits until everything is delivered, and closes all links.
	Stop(ctx context.Context) error
}

func newClustered(n *Mesh) *clustered {
	c := &clustered{
		node: n, ready: make(chan struct{}), peers: make(map[cluster.Incarnation]*nodeLink),
		self:     cluster.Incarnation{Name: n.Name(), Epoch: uint64(time.Now().UnixMicro())},
		outdated: make(map[performatives.AgentID]struct{}), handed: make(map[performatives.AgentID]*cluster.Incarnation),
	}
	c.heard.by = make(map[performatives.AgentID]heardOver)
	c.begin = sync.OnceFunc(func() { close(c.ready) })
	c.replica = directory.New(c.self)
	c.listLocked()
	return c
}

// memberChanged handles a change of the membership. The calls are in order.
func (c *clustered) memberChanged(e membership.Event) {
	<-c.ready
	if c.links == nil {
		return // the node does not start
	}
	switch e.Kind {
	case membership.Joined:
		c.join(e.Member)
	case membership.Left:
		c.lose(e.Member.Incarnation, nodeLeft)
	case membership.Failed:
		c.lose(e.Member.Incarnation, "failed")
	case membership.Raised:
		c.rename(e.Member.Incarnation)
	case membership.Updated:
	}
}

// rename gives this node a greater epoch: to the others it is another run of the node, so all links
// begin anew.
func (c *clustered) rename(self cluster.Incarnation) {
	for _, l := range *c.current.Load() {
		c.lose(l.peer, "renamed")
	}
	c.mu.Lock()
	c.self = self
	c.replica.Rename(self)
	c.mu.Unlock()
	c.links.Rename(self)
	for _, m := range c.members.Members() {
		if m.Name != self.Name {
			c.join(m)
		}
	}
}

// join opens the link to a node. The membership may tell of one again that [clustered.rename] has
// found among its members.
func (c *clustered) join(m cluster.Member) {
	c.node.handover.Lock()
	defer c.node.handover.Unlock()
	if c.peers[m.Incarnation] == nil {
		c.addLocked(m.Incarnation)
	}
	c.links.Add(m)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replica.Joined(m.Incarnation)
	c.outdateLocked(c.replica.Of(m.Incarnation)...) // which has come before
	c.node.Events.MemberJoined(m.Name, m.Epoch)
	c.node.placer.changed()
}

// addLocked begins an epoch of the agents of a node.
func (c *clustered) addLocked(peer cluster.Incarnation) {
	l := &nodeLink{node: c.node, cluster: c, peer: peer, asked: make(map[performatives.AgentID]chan note)}
	if before := c.peers[peer]; before != nil {
		l.metBefore = before.metBefore || before.met.Load()
		l.before.Store(before)
		before.before.Store(nil)
	}
	l.Link = c.node.Relay.NewLink(relay.Node, l, c.node.Limits)
	c.peers[peer] = l
	c.listLocked()
}

// listLocked publishes the links.
func (c *clustered) listLocked() {
	all := slices.SortedFunc(maps.Values(c.peers), func(a, b *nodeLink) int { return a.peer.Compare(b.peer) })
	c.current.Store(&all)
}

// nodeLost returns the reason that agents get when a node has died or left.
func nodeLost(peer cluster.Incarnation) performatives.Failure {
	return performatives.Failure{ErrorCode: performatives.CodeDisconnected, ErrorText: "the node " + peer.Name + " of the agent cannot be reached"}
}

// lose ends the link to a node: its agents leave the directory and are lost.
func (c *clustered) lose(peer cluster.Incarnation, reason string) {
	c.node.handover.Lock()
	l := c.peers[peer]
	if l == nil {
		c.node.handover.Unlock()
		return
	}
	delete(c.peers, peer)
	c.listLocked()
	c.mu.Lock()
	c.outdateLocked(c.replica.Gone(peer)...)
	c.outdateLocked(slices.Sorted(maps.Keys(c.handed))...) // some to that node
	c.mu.Unlock()
	c.endLocked(l, reason == nodeLeft)
	c.node.handover.Unlock()
	c.ended.Store(l)
	c.links.Remove(peer)
	c.ended.Store(nil)
	// Placed agents of which this node knows nothing but that it has sent to them were to be
	// activated at the other end. Messages that had not been sent yet were routed anew before.
	if unheard := c.heard.end(heardOver{l, false}); !l.left { // else it has handed its messages over
		l.loss.Lose(nodeLost(peer), slices.DeleteFunc(unheard, func(id performatives.AgentID) bool {
			_, found := c.node.System.Find(id)
			return found
		})...)
	}
	c.node.System.Logger().Warn("a node is lost", "peer", peer.Name, "reason", reason)
	c.node.Events.MemberLost(peer.Name, peer.Epoch, reason)
	c.node.placer.changed()
}

// Lost loses the agents of a node that may live on, and begins their next epoch: messages that are
// received later belong to that.
func (c linkHandler) Lost(peer cluster.Incarnation) {
	c.node.handover.Lock()
	defer c.node.handover.Unlock()
	l := c.peers[peer]
	if l == nil {
		return
	}
	level := slog.LevelWarn
	if l.before.Load() != nil && !l.met.Load() { // it was said before: a node that is never reached does not fill the log
		level = slog.LevelDebug
	}
	c.endLocked(l, false)
	c.addLocked(peer)
	c.node.System.Logger().Log(context.Background(), level, "a node is lost", "peer", peer.Name, "reason", "unreachable") //nolint:forbidigo // for the log only
	c.node.Events.MemberLost(peer.Name, peer.Epoch, "unreachable")
}

// linkTo returns the link to a node, or nil if there is none. It also returns a lost link while its
// undelivered messages are being returned.
func (c *clustered) linkTo(peer cluster.Incarnation) *nodeLink {
	for _, l := range *c.current.Load() {
		if l.peer == peer {
			return l
		}
	}
	if l := c.ended.Load(); l != nil && l.peer == peer {
		return l
	}
	return nil
}

// later calls f with c after a while. The timer does not keep a node in memory that has stopped, so
// f must not refer to c otherwise.
func (c *clustered) later(d time.Duration, f func(*clustered)) {
	w := weak.Make(c)
	c.node.System.AfterFunc(d, func() {
		if c := w.Value(); c != nil {
			f(c)
		}
	})
}

// nodeLeft is the reason for the loss of a node that has left in order.
const nodeLeft = "left"

// endLocked loses the agents behind a link. The placed agents of a node that has left have ended
// their conversations, and what waited for them was passed on. What begins while the agents leave
// the directory is not lost with them: see [nodeAgent.Deliver].
func (c *clustered) endLocked(l *nodeLink, left bool) {
	l.left = left || l.leaves.Load() // the membership may not have heard it
	l.beginLossLocked()
	c.node.placer.unanswered(l)
	agents := make(map[performatives.AgentID]*nodeAgent)
	l.agents.Range(func(id, a any) bool {
		agents[id.(performatives.AgentID)] = a.(*nodeAgent) //nolint:forcetypeassert // it has no others
		return true
	})
	lost := slices.Sorted(maps.Keys(agents))
	for _, id := range lost {
		agents[id].registration.Remove() // before the records move, which end with an agent of this node
	}
	c.mu.Lock()
	c.outdateLocked(lost...) // they may run again there or elsewhere: see refreshLocked
	c.mu.Unlock()
	moves := func(id performatives.AgentID) bool {
		a := agents[id]
		return l.left && (a != nil && a.Placed || a == nil && c.node.placer.pick(id).Placed)
	}
	for _, id := range l.Workers() {
		if moves(id) {
			c.node.Relay.Moved(id, l.Link, nil)
		}
	}
	l.lost = slices.DeleteFunc(append(lost, c.heard.end(heardOver{l, true})...), moves)
	slices.Sort(l.lost)
	l.agents.Clear()
	for _, id := range l.lost[:min(len(l.lost), maxLost)] {
		if !l.left {
			c.heard.note(id, heardOver{l, true})
		}
	}
	l.loss.Lose(nodeLost(l.peer), l.lost...)
	l.EndRecords(nodeLost(l.peer))
}

var errNodeGone = performatives.Refused(performatives.CodeStopped, "the node of the sender has gone")
