package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/runtime"
)

// The timing of a simulated membership: about that of profile LAN.
const (
	memberBeat     = 300 * time.Millisecond // how often a node tells the others what it knows
	memberPatience = 6                      // beats of its own that a node waits for news of another before that has failed
	memberFlight   = 10 * time.Millisecond  // the longest time that a packet takes
	memberExchange = 5 * time.Second        // how often a node exchanges its state with another
)

// simMember is the membership of a simulated node. It takes the place of [membership.Gossip], over
// the network of the links: in each beat, a node sends all others what it knows of each node, with
// the number of that node's last beat (van Renesse, Minsky and Hayden, A Gossip-Style Failure
// Detection Service, 1998). A node that knows no other one joins by an exchange of the whole state,
// as with memberlist.
type simMember struct {
	net     *linkNetwork
	options membership.Options

	mu       sync.Mutex
	ended    bool
	beats    uint64
	self     memberNews
	others   map[string]*simPeer // by name
	next     uint64              // sequence of the last own delta
	seen     map[memberDelta]bool
	due      []membership.Event
	notifies bool // the events that are due are being told
}

var _ runtime.Joiner = (*simMember)(nil)

// memberNews is what one node tells another about a node.
type memberNews struct {
	cluster.Member
	beat  uint64 // the last one known
	alive bool
	left  bool
}

// simPeer is the latest run of a node that another one knows.
type simPeer struct {
	memberNews
	silent int // beats of the other node since there was news
}

// memberDelta names a broadcast.
type memberDelta struct {
	origin cluster.Incarnation
	number uint64
}

// newMember starts the membership of a node, in place of that of its earlier run.
func (n *linkNetwork) newMember(o membership.Options) *simMember {
	m := &simMember{
		net: n, options: o, others: make(map[string]*simPeer), seen: make(map[memberDelta]bool),
		self: memberNews{alive: true, Member: cluster.Member{
			Incarnation: cluster.Incarnation{Name: o.Name, Epoch: o.Epoch}, Gossip: o.Bind, Links: o.Links, Labels: maps.Clone(o.Labels),
		}},
	}
	n.mu.Lock()
	n.members[o.Name] = m
	n.mu.Unlock()
	m.every(memberBeat, m.beat)
	m.every(memberExchange, m.exchange)
	return m
}

// every calls a function in each interval, from a random time on, until the node ends.
func (m *simMember) every(interval time.Duration, fn func()) {
	var tick func()
	tick = func() {
		if m.runs() {
			fn()
			m.net.after(m.options.Name, interval, tick)
		}
	}
	m.net.after(m.options.Name, m.net.swarm.dice.upTo(interval), tick)
}

func (m *simMember) runs() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.ended
}

// end ends the membership of a node at once.
func (m *simMember) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
}

// send has another node do something when a packet has arrived there. A cut loses the packet, and
// chance may.
func (m *simMember) send(to string, loss float64, fn func(peer *simMember)) {
	n := m.net
	n.mu.Lock()
	cut := n.cut[[2]string{m.options.Name, to}]
	n.mu.Unlock()
	if cut || n.swarm.dice.fraction() < loss {
		return
	}
	n.after(to, n.swarm.dice.upTo(memberFlight), func() {
		n.mu.Lock()
		peer := n.members[to]
		n.mu.Unlock()
		if peer != nil && peer.runs() {
			fn(peer)
		}
	})
}

// beat gives up nodes without news, and sends all seeds what the node knows.
func (m *simMember) beat() {
	m.mu.Lock()
	m.beats++
	m.self.beat = m.beats
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		if p := m.others[name]; p.alive {
			if p.silent++; p.silent > memberPatience {
				p.alive = false
				m.due = append(m.due, membership.Event{Kind: membership.Failed, Member: p.Member})
			}
		}
	}
	m.mu.Unlock()
	m.notify()
	news, alone := m.news(), len(m.alive()) == 0
	for _, seed := range m.options.Seeds {
		name, _, _ := strings.Cut(seed, ":")
		if alone {
			m.exchangeWith(name)
			continue
		}
		m.send(name, m.net.loss(), func(peer *simMember) {
			if len(peer.alive()) > 0 {
				peer.hear(news)
			}
		})
	}
}

// news returns what the node knows of each node.
func (m *simMember) news() []memberNews {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []memberNews{m.self}
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		all = append(all, m.others[name].memberNews)
	}
	return all
}

// hear takes in what another node knows.
func (m *simMember) hear(news []memberNews) {
	m.mu.Lock()
	for _, about := range news {
		switch {
		case about.Name != m.self.Name:
			m.learnLocked(about)
		case about.Epoch > m.self.Epoch: // of an earlier run, when the clock was ahead
			m.self.Epoch = about.Epoch + 1
			m.due = slices.Insert(m.due, 0, membership.Event{Kind: membership.Raised, Member: m.self.Member})
		}
	}
	m.mu.Unlock()
	m.notify()
}

// learnLocked takes in what another node knows of a third one.
func (m *simMember) learnLocked(about memberNews) {
	p, event := m.others[about.Name], func(kind membership.Kind, member cluster.Member) {
		m.due = append(m.due, membership.Event{Kind: kind, Member: member})
	}
	if p == nil {
		p = &simPeer{}
		m.others[about.Name] = p
	}
	before := p.memberNews
	switch {
	case about.Epoch > before.Epoch: // another run
		if before.alive {
			event(membership.Failed, before.Member)
			before.alive = false
		}
	case about.Epoch < before.Epoch, before.left, about.beat <= before.beat && !about.left:
		return
	}
	about.alive = !about.left && (about.alive || before.alive)
	p.memberNews, p.silent = about, 0
	switch {
	case about.alive && !before.alive:
		event(membership.Joined, about.Member)
	case about.alive && !about.Equal(before.Member):
		event(membership.Updated, about.Member)
	case about.left && before.alive:
		event(membership.Left, before.Member)
	}
}

// notify tells the node of the events that are due, one at a time: it may wait.
func (m *simMember) notify() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notifies {
		return
	}
	m.notifies = true
	for len(m.due) > 0 && !m.ended {
		e := m.due[0]
		m.due = m.due[1:]
		m.mu.Unlock()
		m.options.Notify(e)
		m.mu.Lock()
	}
	m.notifies = false
}

// exchange exchanges the state with another member.
func (m *simMember) exchange() {
	if all := m.alive(); len(all) > 0 {
		m.exchangeWith(all[m.net.swarm.dice.n(len(all))].Name)
	}
}

func (m *simMember) exchangeWith(name string) {
	news, state := m.news(), m.options.Gossiped.State()
	m.send(name, 0, func(peer *simMember) {
		theirNews, theirs := peer.news(), peer.options.Gossiped.State()
		peer.merge(news, state)
		peer.send(m.options.Name, 0, func(back *simMember) {
			if back == m {
				m.merge(theirNews, theirs)
			}
		})
	})
}

func (m *simMember) merge(news []memberNews, state []byte) {
	m.hear(news)
	m.options.Gossiped.Merge(bytes.Clone(state))
}

// alive returns the other members that are believed to be alive, by name.
func (m *simMember) alive() (all []cluster.Member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.others)) {
		if p := m.others[name]; p.alive {
			all = append(all, p.Member)
		}
	}
	return all
}

// Self returns this node.
func (m *simMember) Self() cluster.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.self.Member
}

// Members returns the members, by name.
func (m *simMember) Members() []cluster.Member {
	all := append(m.alive(), m.Self())
	slices.SortFunc(all, func(a, b cluster.Member) int { return a.Compare(b.Incarnation) })
	return all
}

// Update changes what the next beat tells of this node.
func (m *simMember) Update(labels map[string]string, leaving bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.self.Labels, m.self.Leaving = maps.Clone(labels), leaving
	return nil
}

// Broadcast sends a delta to all members, each of which sends it on once.
func (m *simMember) Broadcast(delta []byte) error {
	m.mu.Lock()
	m.next++
	d := memberDelta{m.self.Incarnation, m.next}
	m.seen[d] = true
	m.mu.Unlock()
	m.pass(d, bytes.Clone(delta))
	return nil
}

func (m *simMember) pass(d memberDelta, delta []byte) {
	for _, to := range m.alive() {
		m.send(to.Name, m.net.loss(), func(peer *simMember) {
			peer.mu.Lock()
			seen := peer.seen[d]
			peer.seen[d] = true
			peer.mu.Unlock()
			if !seen {
				peer.options.Gossiped.Received(bytes.Clone(delta))
				peer.pass(d, delta)
			}
		})
	}
}

// SendBulk sends data to one member.
func (m *simMember) SendBulk(to cluster.Incarnation, data []byte) error {
	n := m.net
	n.mu.Lock()
	cut := n.cut[[2]string{to.Name, m.options.Name}] || n.cut[[2]string{m.options.Name, to.Name}]
	n.mu.Unlock()
	if cut {
		return errors.New("the node cannot be reached")
	}
	if !slices.ContainsFunc(m.alive(), func(other cluster.Member) bool { return other.Incarnation == to }) {
		return membership.ErrUnknownMember
	}
	data = bytes.Clone(data)
	m.send(to.Name, 0, func(peer *simMember) { peer.options.Gossiped.Received(data) })
	return nil
}

// Join returns at once: the node joins the others by its beats.
func (*simMember) Join(context.Context) error { return nil }

// Leave tells the others, and returns when they may know.
func (m *simMember) Leave(context.Context) error {
	m.mu.Lock()
	m.self.left = true
	m.mu.Unlock()
	m.net.swarm.idle("leave of "+m.options.Name, time.Second)
	m.end()
	return nil
}

// Stop ends the membership.
func (m *simMember) Stop(context.Context) error {
	m.end()
	return nil
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
