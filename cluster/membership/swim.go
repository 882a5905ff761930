package membership

import (
	"bytes"
	"math"
	"slices"
	"time"
)

// The protocol of the model: what memberlist does when it probes and gossips.

// apply takes one update, from gossip, a push/pull or a probe of this node.
func (m *Model) apply(u update) {
	switch u.state {
	case alive:
		m.applyAlive(u)
	case suspect:
		m.applySuspect(u)
	case dead, left:
		m.applyDead(u)
	}
}

func (m *Model) applyAlive(u update) {
	p := m.peers[u.token]
	if u.token == m.view.token {
		if u.version > p.version {
			m.refute(u.version)
		}
		return
	}
	if m.view.admit(u.announcement) != nil || p != nil && u.version <= p.version {
		return
	}
	if p == nil {
		p = &peer{state: dead}
		m.peers[u.token] = p
		m.inOrder = nil
		m.order = append(m.order, u.token)
		i := m.net.options.Rand.IntN(len(m.order))
		last := len(m.order) - 1
		m.order[i], m.order[last] = m.order[last], m.order[i]
	}
	m.unsuspect(p)
	was := p.state
	p.announcement, p.version = u.announcement, u.version
	if was != alive {
		p.state, p.since = alive, m.now()
	}
	m.spread(u)
	if was == dead || was == left {
		m.view.joined(p.announcement, m.now())
	} else {
		m.view.updated(p.announcement, m.now())
	}
}

func (m *Model) applySuspect(u update) {
	p := m.peers[u.token]
	if p == nil || u.version < p.version {
		return
	}
	if p.state == suspect {
		m.confirm(p, u)
		return
	}
	if p.state != alive {
		return
	}
	if u.token == m.view.token {
		m.refute(u.version)
		return
	}
	m.spread(u)
	p.version, p.state, p.since, p.suspected = u.version, suspect, m.now(), m.now()
	p.confirmed = map[token]bool{u.from: true}
	least, most := m.timing.suspicion(len(m.peers))
	wait := most
	if least == most {
		wait = least
	}
	m.suspectFor(p, wait)
}

func (m *Model) suspectFor(p *peer, wait time.Duration) {
	p.stop = m.after(wait, func() {
		p.stop = nil
		m.applyDead(update{announcement: p.announcement, version: p.version, state: dead, from: m.view.token})
	})
}

// confirm shortens a suspicion when another member has it, too.
func (m *Model) confirm(p *peer, u update) {
	expected := m.timing.suspicionMult - 2
	if p.confirmed[u.from] || len(p.confirmed)-1 >= expected || p.stop == nil {
		return
	}
	p.confirmed[u.from] = true
	m.spread(u)
	least, most := m.timing.suspicion(len(m.peers))
	part := math.Log(float64(len(p.confirmed))) / math.Log(float64(expected+1))
	wait := max(least, most-time.Duration(part*float64(most-least)))
	p.stop()
	m.suspectFor(p, max(0, wait-m.now().Sub(p.suspected)))
}

func (m *Model) unsuspect(p *peer) {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

func (m *Model) applyDead(u update) {
	p := m.peers[u.token]
	if p == nil || u.version < p.version || p.state == dead || p.state == left {
		return
	}
	if u.token == m.view.token {
		if !m.left {
			m.refute(u.version)
		}
		return
	}
	m.unsuspect(p)
	m.spread(u)
	p.version, p.state, p.since = u.version, u.state, m.now()
	m.kick(m.view.gone(p.member.Name, p.token, u.state == left, m.now()))
}

// refute contradicts what others say of this node.
func (m *Model) refute(accused uint32) {
	if m.left {
		return
	}
	self := m.self()
	self.version = max(self.version, accused)
	m.announce()
}

// spread passes an update on, in place of an earlier one about the same peer.
func (m *Model) spread(u update) {
	m.timers++
	m.news[u.token] = &news{update: u, order: m.timers}
	m.scheduleGossip()
}

// beginGossip chooses when the node gossips: in each interval, from a random time on.
func (m *Model) beginGossip() {
	m.firstGossip = m.now().Add(time.Duration(m.net.options.Rand.Int64N(int64(m.timing.gossipInterval))))
	m.scheduleGossip()
}

// scheduleGossip schedules the next gossip, as long as there is something to send. A simulation of
// an idle cluster spends most of its time on these timers otherwise.
func (m *Model) scheduleGossip() {
	if m.gossips || m.firstGossip.IsZero() || len(m.news) == 0 && m.queue.length == 0 {
		return
	}
	m.gossips = true
	wait := m.firstGossip.Sub(m.now())
	if wait <= 0 {
		wait = m.timing.gossipInterval - -wait%m.timing.gossipInterval
	}
	m.after(wait, func() {
		m.gossips = false
		m.gossip()
		m.scheduleGossip()
	})
}

// gossip sends the waiting updates and deltas to some random peers. These include peers that died
// lately, so that one that is alive can contradict.
func (m *Model) gossip() {
	targets := m.pick(m.timing.gossipNodes, func(p *peer) bool {
		return p.state == alive || p.state == suspect || p.state == dead && m.now().Sub(p.since) <= m.timing.gossipToDead
	})
	for _, p := range targets {
		updates, packet := m.take()
		if len(updates) == 0 && packet == nil {
			return
		}
		m.net.packet(m.options.Bind, p.member.Gossip, func(to *Model) { to.hear(updates, packet) })
	}
}

// updatesPerPacket is about what fits into a packet of memberlist.
const updatesPerPacket = 8

// take returns the content of one packet: the updates and the deltas that were sent least often.
func (m *Model) take() ([]update, []byte) {
	limit := transmitLimit(m.timing.retransmitMult, m.view.size())
	updates := make([]update, 0, updatesPerPacket)
	for _, n := range m.leastSent() {
		updates = append(updates, n.update)
		if n.transmits++; n.transmits >= limit {
			delete(m.news, n.token)
		}
	}
	return updates, m.queue.take(MaxBroadcast+64, deltaLimit(m.timing.retransmitMult, m.view.size()))
}

// leastSent returns the news of the next packet, in order. It does not sort all of them: while a
// cluster begins, there is one for each node.
func (m *Model) leastSent() []*news {
	first := make([]*news, 0, updatesPerPacket+1)
	for _, n := range m.news {
		if len(first) == updatesPerPacket && !n.before(first[updatesPerPacket-1]) {
			continue
		}
		i, _ := slices.BinarySearchFunc(first, n, func(a, b *news) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		first = slices.Insert(first, i, n)
		first = first[:min(len(first), updatesPerPacket)]
	}
	return first
}

// before reports whether n is sent before other: it was sent less often, or as often and is newer.
func (n *news) before(other *news) bool {
	return n.transmits < other.transmits || n.transmits == other.transmits && n.order > other.order
}

// hear takes the content of a packet.
func (m *Model) hear(updates []update, packet []byte) {
	for _, u := range updates {
		m.apply(u)
	}
	if packet == nil {
		return
	}
	deltas, err := decodeDeltas(bytes.Clone(packet[packetHead:]))
	if err != nil {
		panic("membership: the model made a packet that it cannot read: " + err.Error())
	}
	for _, d := range deltas {
		if m.queue.seen.first(d.origin, d.sequence) {
			m.queue.add(delta{d.origin, d.sequence, bytes.Clone(d.data)})
			m.delivered(d.data)
		}
	}
	m.scheduleGossip()
}

// pick returns up to k others that fit, by chance.
func (m *Model) pick(k int, fits func(*peer) bool) []*peer {
	var all []*peer
	for _, t := range m.tokens() {
		if t != m.view.token && fits(m.peers[t]) {
			all = append(all, m.peers[t])
		}
	}
	m.net.options.Rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(k, len(all))]
}

// tokens returns the keys of the peers, in order. They are sorted again only when there are others
// than before.
func (m *Model) tokens() []token {
	if m.inOrder == nil {
		m.inOrder = sorted(m.peers)
	}
	return m.inOrder
}

// pushPull exchanges the state with one other member.
func (m *Model) pushPull() {
	for _, p := range m.pick(1, func(p *peer) bool { return p.state == alive }) {
		m.exchange(p.member.Gossip, false)
	}
}

// probe asks the next member of the round whether it lives.
func (m *Model) probe() {
	for range len(m.order) + 1 {
		if m.position >= len(m.order) {
			m.newRound()
		}
		if len(m.order) == 0 {
			return
		}
		p := m.peers[m.order[m.position]]
		m.position++
		if p != nil && (p.state == alive || p.state == suspect) {
			m.probePeer(p)
			return
		}
	}
}

// newRound forgets the dead that are dead for long, and shuffles the rest.
func (m *Model) newRound() {
	m.position = 0
	m.order = m.order[:0]
	for _, t := range m.tokens() {
		p := m.peers[t]
		if t == m.view.token {
			continue
		}
		if (p.state == dead || p.state == left) && m.now().Sub(p.since) > m.timing.gossipToDead {
			delete(m.peers, t)
			m.inOrder = nil
			continue
		}
		m.order = append(m.order, t)
	}
	m.net.options.Rand.Shuffle(len(m.order), func(i, j int) { m.order[i], m.order[j] = m.order[j], m.order[i] })
}

// probePeer pings a member, then has others ping it, and suspects it when nothing has come back
// after the interval.
func (m *Model) probePeer(p *peer) {
	m.lastPing++
	id, t, version := m.lastPing, p.token, p.version
	m.ping(m, id, p)
	help := m.after(m.timing.probeTimeout, func() {
		if m.pings[id] == nil { // it was answered at this moment
			return
		}
		helpers := m.pick(m.timing.indirectChecks, func(h *peer) bool { return h.state == alive && h.token != t })
		for _, h := range helpers {
			m.net.packet(m.options.Bind, h.member.Gossip, func(helper *Model) { helper.ping(m, id, p) })
		}
	})
	fail := m.after(m.timing.probeInterval, func() {
		if m.pings[id] == nil {
			return
		}
		delete(m.pings, id)
		m.apply(update{announcement: p.announcement, version: version, state: suspect, from: m.view.token})
	})
	m.pings[id] = func() { help(); fail() }
}

// ping sends a ping to a member, whose answer goes back the same way to the node that asks.
func (m *Model) ping(asker *Model, id uint64, p *peer) {
	here, there, home := m.options.Bind, p.member.Gossip, asker.options.Bind
	updates, packet := m.take()
	m.net.packet(here, there, func(target *Model) {
		target.hear(updates, packet)
		if target.view.token != p.token { // another process has the address by now
			return
		}
		updates, packet := target.take()
		m.net.packet(there, here, func(back *Model) {
			back.hear(updates, packet)
			if back == asker {
				asker.answered(id)
				return
			}
			m.net.packet(here, home, func(*Model) { asker.answered(id) })
		})
	})
}

func (m *Model) answered(id uint64) {
	if end := m.pings[id]; end != nil {
		delete(m.pings, id)
		end()
	}
}

func (m *Model) now() time.Time { return m.net.options.Now() }
