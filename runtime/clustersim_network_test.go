package runtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	nodelink "github.com/ribosome-agents/ribosome/cluster/link"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	p "github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/wire"
)

// linkNetwork carries the frames of all links of a simulated cluster. It takes the place of
// [nodelink.Links]: it drives each [nodelink.Link] by steps of the simulation.
type linkNetwork struct {
	swarm *clusterSwarm
	bugs  linkBugs

	mu     sync.Mutex
	ends   map[[2]cluster.Incarnation]*linkEnd // by this node and the peer
	cut    map[[2]string]bool                  // one direction
	slow   map[[2]string]time.Duration         // one direction
	paused map[string]bool
	held   map[string][]func() // what a paused node would have done
	closed bool                // nothing is scheduled any more
}

// linkBugs are planted. Each breaks what a node does in one way.
type linkBugs struct {
	repeat  bool // a message is handed over twice: the link has not dropped what it knows
	forget  bool // what was not acknowledged when a stream ended is not sent again
	stale   bool // changes of the directory are missed, and not repaired
	unlost  bool // the loss of a peer is not raised
	mute    bool // a refusal does not go back to the other node
	swap    bool // messages of one frame are handed over in another order
	unacked bool // acknowledgements are lost
	double  bool // an activation does not give way to an older one

	misroute func(m *p.Message, fromNode bool, d *route.Decision) // decides otherwise about messages; nil: it does not
}

func newLinkNetwork(s *clusterSwarm) *linkNetwork {
	return &linkNetwork{
		swarm: s, ends: make(map[[2]cluster.Incarnation]*linkEnd), cut: make(map[[2]string]bool), slow: make(map[[2]string]time.Duration),
		paused: make(map[string]bool), held: make(map[string][]func()),
	}
}

// linkEnd is one node's end of a link.
type linkEnd struct {
	links  *simLinks
	peer   cluster.Incarnation
	link   *nodelink.Link
	stream *linkStream // nil: none
	gone   bool
	closes bool        // Stop closes the link in order: it gets no other stream
	down   func() bool // stops the timer of a link that is down
	// ackTimed says that an acknowledgement waits for a frame to go with, or for its time.
	ackTimed bool
	flushing int           // how many more messages the peer is to acknowledge before Stop goes on
	quiet    time.Duration // how long Stop has waited since the peer has acknowledged a message
	able     bool          // the peer could have acknowledged one all that time
}

// linkStream is a stream between two ends: each has a queue of frames on their way to it.
type linkStream struct {
	ends    [2]*linkEnd
	queues  [2][][]byte
	stalled [2]bool // a frame to that end was lost: no later one arrives
	broken  bool
}

func (s *linkStream) other(e *linkEnd) (to int, peer *linkEnd) {
	if s.ends[0] == e {
		return 1, s.ends[1]
	}
	return 0, s.ends[0]
}

// simLinks are the links of one node.
type simLinks struct {
	net     *linkNetwork
	o       nodelink.LinksOptions
	codec   wire.Codec
	node    *clusterNode
	crashed bool   // guarded by net.mu
	session uint64 // how many links there were; guarded by net.mu
}

var _ runtime.NodeLinks = (*simLinks)(nil)

// ackTime is how long an acknowledgement waits for a frame to go with, as those of [nodelink.Links]
// do.
const ackTime = time.Millisecond

// closeTime is how long Stop waits for a peer that acknowledges no message and does not end its
// stream, as that of [nodelink.Links] does. That one waits longer for long messages, of which there
// are none here.
const closeTime = 5 * time.Second

// stopStep is the time between two checks of Stop.
const stopStep = 20 * time.Millisecond

// newLinks returns the links of a node.
func (n *linkNetwork) newLinks(o nodelink.LinksOptions, c *clusterNode) (*simLinks, error) {
	codec, err := o.Dialect.Open(wire.CodecOptions{Local: p.AgentID(o.Self.Name), Stamper: o.Stamper, MaxBytes: nodelink.MaxMessage})
	return &simLinks{net: n, o: o, codec: codec, node: c}, err
}

// after runs a step of a node, after its pause if it has one.
func (n *linkNetwork) after(node string, d time.Duration, fn func()) (stop func() bool) {
	return n.swarm.sim.AfterFunc(d, func() {
		n.mu.Lock()
		switch {
		case n.closed:
			n.mu.Unlock()
		case n.paused[node]:
			n.held[node] = append(n.held[node], fn)
			n.mu.Unlock()
		default:
			n.mu.Unlock()
			fn()
		}
	})
}

// Add opens a link.
func (ls *simLinks) Add(m cluster.Member) {
	n := ls.net
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [2]cluster.Incarnation{ls.o.Self, m.Incarnation}
	if ls.crashed || n.ends[key] != nil {
		return
	}
	o := ls.o.Link
	ls.session++
	o.Self, o.Peer, o.Session, o.DelayAcks = ls.o.Self, m.Incarnation, ls.session<<32, true
	e := &linkEnd{links: ls, peer: m.Incarnation, link: nodelink.New(o)}
	n.ends[key] = e
	e.waitLocked()
	n.redialLocked(e)
}

// waitLocked starts the timer after which the peer is lost.
func (e *linkEnd) waitLocked() {
	if e.down != nil {
		e.down()
	}
	e.down = e.links.net.after(e.links.o.Self.Name, e.links.o.Timeout, e.expire)
}

func (e *linkEnd) expire() {
	n := e.links.net
	n.mu.Lock()
	if e.gone || e.links.crashed || e.link.Met() {
		n.mu.Unlock()
		return
	}
	returned := e.link.End()
	s := e.stream
	e.stream = nil
	e.waitLocked()
	n.mu.Unlock()
	if s != nil { // which has not brought the peer's hello
		n.breakStream(s)
		n.redial(e)
	}
	n.swarm.count("give a link up")
	if !n.bugs.unlost {
		e.links.o.Handler.Lost(e.peer)
	}
	e.undelivered(returned)
}

func (e *linkEnd) undelivered(all []nodelink.Returned) {
	for _, r := range all {
		why := &p.Refusal{Code: p.CodeStopped, About: r.Message.ID()}
		if r.Sent {
			why.Code = p.CodeDisconnected
		}
		e.links.o.Handler.Undelivered(e.peer, r.Message, why)
	}
}

func (n *linkNetwork) redial(e *linkEnd) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.redialLocked(e)
}

// redialLocked opens a stream soon, if it is for this end to do so.
func (n *linkNetwork) redialLocked(e *linkEnd) {
	if e.links.o.Self.Name > e.peer.Name {
		return
	}
	n.after(e.links.o.Self.Name, n.swarm.dice.upTo(500*time.Millisecond), func() { n.dial(e) })
}

// dial opens a stream, or tries again later.
func (n *linkNetwork) dial(e *linkEnd) {
	n.mu.Lock()
	defer n.mu.Unlock()
	self, peer := e.links.o.Self, e.peer
	other := n.ends[[2]cluster.Incarnation{peer, self}]
	switch {
	case e.gone, e.closes, e.links.crashed, e.stream != nil && !e.stream.broken:
		return
	case other == nil, other.gone, other.closes, other.links.crashed, n.paused[peer.Name], n.cut[[2]string{self.Name, peer.Name}], n.cut[[2]string{peer.Name, self.Name}]:
		n.redialLocked(e)
		return
	}
	s := &linkStream{ends: [2]*linkEnd{e, other}}
	for _, end := range s.ends {
		end.stream = s
		end.link.Open()
		n.flushLocked(end)
	}
}

// flushLocked sends what a link has.
func (n *linkNetwork) flushLocked(e *linkEnd) {
	s := e.stream
	if s == nil || e.links.crashed || n.paused[e.links.o.Self.Name] {
		return
	}
	to, peer := s.other(e)
	for frame := e.link.Next(e.links.node.now()); frame != nil; frame = e.link.Next(e.links.node.now()) {
		if n.cut[[2]string{e.links.o.Self.Name, e.peer.Name}] || peer.links.crashed {
			if !s.stalled[to] {
				s.stalled[to] = true
				n.swarm.count("stall a stream")
				n.after("", time.Second+n.swarm.dice.upTo(2*time.Second), func() { n.breakStream(s) })
			}
		}
		if s.stalled[to] || s.broken || n.bugs.unacked && acknowledgesOnly(frame) {
			continue // it is lost
		}
		s.queues[to] = append(s.queues[to], frame)
		n.after(e.peer.Name, n.swarm.dice.upTo(30*time.Millisecond+n.slow[[2]string{e.links.o.Self.Name, e.peer.Name}]), func() { n.arrive(s, to) })
	}
}

// acknowledgesOnly reports whether a frame has nothing but an acknowledgement: the field ack of
// LinkFrame, a varint.
func acknowledgesOnly(frame []byte) bool {
	const tag = 8 << 3
	if frame[0] != tag {
		return false
	}
	_, n := binary.Uvarint(frame[1:])
	return n == len(frame)-1
}

// arrive hands the first frame of a queue to its end.
func (n *linkNetwork) arrive(s *linkStream, to int) {
	n.mu.Lock()
	e := s.ends[to]
	if s.broken || s.stalled[to] || e.stream != s || e.gone || e.links.crashed || len(s.queues[to]) == 0 {
		n.mu.Unlock()
		return
	}
	frame := s.queues[to][0]
	s.queues[to] = s.queues[to][1:]
	pending := e.link.Pending()
	r, err := e.link.Receive(frame, e.links.node.now())
	if acknowledged := pending - e.link.Pending(); acknowledged > 0 {
		e.flushing -= acknowledged
		e.quiet = 0
	}
	if r.Met && e.down != nil {
		e.down()
		e.down = nil
	}
	n.flushLocked(e)
	if !e.ackTimed && e.link.AckWaits() {
		e.ackTimed = true
		n.after(e.links.o.Self.Name, ackTime, e.acknowledge)
	}
	differ := e.link.Differ()
	_, peer := s.other(e)
	closes := peer.closes
	n.mu.Unlock()
	h := e.links.o.Handler
	if r.Over && !n.bugs.unlost {
		h.Lost(e.peer)
	}
	e.undelivered(r.Returned)
	if r.Met {
		h.Connected(e.peer, differ)
	}
	for _, text := range r.Controls {
		h.Control(e.peer, text)
	}
	if n.bugs.swap {
		slices.Reverse(r.Messages)
	}
	for _, m := range r.Messages {
		e.deliver(m)
		if n.bugs.repeat && n.swarm.dice.oneIn(10) {
			e.deliver(m)
		}
	}
	if err != nil {
		if closes && errors.Is(err, nodelink.ErrClosed) {
			n.swarm.count("a link closed in order")
		} else {
			n.swarm.problem("%v to %v: %v", e.peer, e.links.o.Self, err)
		}
		n.breakStream(s)
	}
}

// acknowledge sends an acknowledgement that no frame has taken along.
func (e *linkEnd) acknowledge() {
	n := e.links.net
	n.mu.Lock()
	defer n.mu.Unlock()
	e.ackTimed = false
	if e.link.Acknowledge() {
		n.flushLocked(e)
	}
}

func (e *linkEnd) deliver(in nodelink.Inbound) {
	e.links.codec.Decode(in.Data, func(item wire.Inbound) {
		if item.Message == nil {
			e.links.net.swarm.problem("a message cannot be read: %v", item.Err)
			return
		}
		e.links.o.Handler.Received(e.peer, shifted(in.Local(item.Message), -e.links.node.clock))
	})
}

// breakStream ends a stream: what is on its way is lost. The ends notice it one after the other.
func (n *linkNetwork) breakStream(s *linkStream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.broken {
		return
	}
	s.broken = true
	for _, e := range s.ends {
		n.after(e.links.o.Self.Name, n.swarm.dice.upTo(500*time.Millisecond), func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			if e.stream == s && !e.gone {
				n.leaveLocked(e)
			}
		})
	}
}

// leaveLocked ends the stream at one end.
func (n *linkNetwork) leaveLocked(e *linkEnd) {
	e.stream = nil
	e.link.Close()
	if n.bugs.forget {
		e.link.End()
	}
	e.waitLocked()
	n.redialLocked(e)
}

// Rename sets the node's incarnation.
func (ls *simLinks) Rename(self cluster.Incarnation) { ls.o.Self = self }

// Remove ends a link.
func (ls *simLinks) Remove(peer cluster.Incarnation) {
	n := ls.net
	n.mu.Lock()
	key := [2]cluster.Incarnation{ls.o.Self, peer}
	e := n.ends[key]
	delete(n.ends, key)
	if e == nil {
		n.mu.Unlock()
		return
	}
	e.gone = true
	if e.down != nil {
		e.down()
	}
	s := e.stream
	e.stream = nil
	returned := e.link.End()
	n.mu.Unlock()
	if s != nil {
		n.breakStream(s)
	}
	e.undelivered(returned)
}

// Send queues a message. That of a crashed node goes nowhere.
func (ls *simLinks) Send(peer cluster.Incarnation, m *p.Message) error {
	data, err := ls.codec.Encode(nil, shifted(m, ls.node.clock))
	if err != nil {
		return wire.AsRefusal(err)
	}
	n := ls.net
	n.swarm.passes(ls.node, m)
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[[2]cluster.Incarnation{ls.o.Self, peer}]
	switch {
	case ls.crashed, n.bugs.mute && m.AsRefusal() != nil && n.swarm.dice.oneIn(10):
		return nil
	case e == nil:
		return &p.Refusal{Code: p.CodeStopped, About: m.ID(), Text: "there is no link to the node"}
	}
	if err := e.link.Send(m, data); err != nil {
		return err
	}
	n.wakeLocked(e)
	return nil
}

// Control queues a text.
func (ls *simLinks) Control(peer cluster.Incarnation, text []byte) bool {
	n := ls.net
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[[2]cluster.Incarnation{ls.o.Self, peer}]
	if e == nil || ls.crashed || !e.link.SendControl(text) {
		return false
	}
	n.wakeLocked(e)
	return true
}

// Wait returns zero: nothing waits for long.
func (ls *simLinks) Wait(cluster.Incarnation) time.Duration { return 0 }

// States returns the links, with an error for those that have no stream.
func (ls *simLinks) States() map[cluster.Incarnation]error {
	ls.net.mu.Lock()
	defer ls.net.mu.Unlock()
	states := make(map[cluster.Incarnation]error)
	for key, e := range ls.net.ends {
		if key[0] != ls.o.Self {
			continue
		}
		states[key[1]] = nil
		if e.stream == nil || !e.link.Met() {
			states[key[1]] = errors.New("there is no stream")
		}
	}
	return states
}

func (n *linkNetwork) wakeLocked(e *linkEnd) {
	n.after(e.links.o.Self.Name, 0, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.flushLocked(e)
	})
}

// Stop waits until the nodes that are connected have acknowledged as many messages as there are
// now, and then until they have ended their streams. It waits for no node that is silent for
// closeTime. It ends all links of a node. Unlike [nodelink.Links], it waits again for a node that
// is connected again before all others have acknowledged their messages.
func (ls *simLinks) Stop(ctx context.Context) error {
	ls.net.mu.Lock()
	for key, e := range ls.net.ends {
		if key[0] == ls.o.Self {
			e.flushing = e.link.Pending()
		}
	}
	ls.net.mu.Unlock()
	for _, done := range []func(cluster.Incarnation) bool{ls.idleTo, ls.closedTo} {
		for !ls.all(done) && ctx.Err() == nil {
			ls.net.swarm.idle("stop the links of "+ls.node.prefix, stopStep)
		}
	}
	for _, peer := range ls.peers() {
		ls.Remove(peer)
	}
	return context.Cause(ctx)
}

func (ls *simLinks) peers() (peers []cluster.Incarnation) {
	ls.net.mu.Lock()
	defer ls.net.mu.Unlock()
	for key := range ls.net.ends {
		if key[0] == ls.o.Self {
			peers = append(peers, key[1])
		}
	}
	slices.SortFunc(peers, cluster.Incarnation.Compare)
	return peers
}

// all reports whether something is done for all peers.
func (ls *simLinks) all(done func(cluster.Incarnation) bool) bool {
	all := true
	for _, peer := range ls.peers() {
		all = done(peer) && all
	}
	return all
}

// idleTo reports whether a node that is connected has acknowledged the messages that there were
// when Stop began, or is silent.
func (ls *simLinks) idleTo(peer cluster.Incarnation) bool {
	n := ls.net
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[[2]cluster.Incarnation{ls.o.Self, peer}]
	return e == nil || ls.crashed || !e.link.Met() || e.flushing <= 0 || e.link.Pending() == 0 || e.silentLocked()
}

// silentLocked reports whether the peer has acknowledged no message for closeTime. Each call counts
// as stopStep. It is a problem if nothing has kept the peer from it.
func (e *linkEnd) silentLocked() bool {
	if e.quiet == 0 {
		e.able = true
	}
	n, self, s := e.links.net, e.links.o.Self, e.stream
	paused := n.paused[self.Name] || n.paused[e.peer.Name]
	cut := n.cut[[2]string{self.Name, e.peer.Name}] || n.cut[[2]string{e.peer.Name, self.Name}]
	if paused || cut || s == nil || s.broken || s.stalled[0] || s.stalled[1] {
		e.able = false
	}
	before := e.quiet
	e.quiet += stopStep
	if before <= closeTime && e.quiet > closeTime && e.able {
		n.swarm.problem("%s does not wait for %s any more, which could have acknowledged its messages", self.Name, e.peer.Name)
	}
	return e.quiet > closeTime
}

// closedTo has the link to a node closed in order. It reports whether the node has ended the
// stream, or is silent.
func (ls *simLinks) closedTo(peer cluster.Incarnation) bool {
	n := ls.net
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.ends[[2]cluster.Incarnation{ls.o.Self, peer}]
	if e == nil || ls.crashed {
		return true
	}
	e.closes = true
	e.link.Finish()
	n.flushLocked(e)
	return !e.link.Met() || e.silentLocked()
}

// crash ends a node's links at once: nothing is told to it, and nothing that it says arrives.
func (ls *simLinks) crash() {
	n := ls.net
	n.mu.Lock()
	ls.crashed = true
	var streams []*linkStream
	for _, e := range n.ends {
		if e.links == ls && e.stream != nil {
			streams = append(streams, e.stream)
		}
	}
	n.mu.Unlock()
	slices.SortFunc(streams, func(a, b *linkStream) int {
		return a.ends[0].links.o.Self.Compare(b.ends[0].links.o.Self)*2 + a.ends[1].links.o.Self.Compare(b.ends[1].links.o.Self)
	})
	for _, s := range streams {
		n.breakStream(s)
	}
}

// setSlow sets how much longer frames take in one direction.
func (n *linkNetwork) setSlow(way [2]string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow[way] = d
}

// breakSome breaks about half of the streams.
func (n *linkNetwork) breakSome() {
	n.mu.Lock()
	var ends []*linkEnd
	for _, e := range n.ends {
		if e.stream != nil && !e.stream.broken && e.links.o.Self.Name < e.peer.Name {
			ends = append(ends, e)
		}
	}
	n.mu.Unlock()
	slices.SortFunc(ends, func(a, b *linkEnd) int {
		return 2*a.links.o.Self.Compare(b.links.o.Self) + a.peer.Compare(b.peer)
	})
	for _, e := range ends {
		if n.swarm.dice.oneIn(2) {
			n.breakStream(e.stream)
		}
	}
}

// resume ends the pause of a node.
func (n *linkNetwork) resume(node string) {
	n.mu.Lock()
	held := n.held[node]
	delete(n.held, node)
	delete(n.paused, node)
	var ends []*linkEnd
	for key, e := range n.ends {
		if key[0].Name == node {
			ends = append(ends, e)
		}
	}
	slices.SortFunc(ends, func(a, b *linkEnd) int { return a.peer.Compare(b.peer) })
	for _, e := range ends {
		n.wakeLocked(e)
	}
	n.mu.Unlock()
	for _, fn := range held {
		fn()
	}
}

// simMembership is the membership of a simulated node.
type simMembership struct {
	*membership.Model
	swarm *clusterSwarm
	node  *clusterNode
}

// Join returns at once: the model joins by itself.
func (simMembership) Join(context.Context) error { return nil }

// Leave tells the others, and returns when they may know.
func (m simMembership) Leave(ctx context.Context) error {
	err := m.Model.Leave(ctx)
	m.swarm.idle("leave of "+m.node.prefix, time.Second)
	return err
}

// staleGossip is what a node replicates, but it misses some changes, and what it has missed is not
// repaired.
type staleGossip struct {
	membership.GossipState
	dice *simDice
}

// Received drops some changes.
func (g staleGossip) Received(delta []byte) {
	if !g.dice.oneIn(4) {
		g.GossipState.Received(delta)
	}
}

// Merge does nothing.
func (staleGossip) Merge([]byte) {}
