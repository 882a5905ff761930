package membership

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ribosome-agents/ribosome/cluster"
)

// Model is the membership of one node of a simulated network. It follows the protocol of memberlist
// (SWIM with suspicion and its confirmations, gossip of what changed, push/pull, a state of the
// dead) in the timing of its profile, and shares with [Gossip] all that this package decides:
// names, epochs, events, broadcasts. It leaves out what memberlist does about its own health, and
// pings over streams.
type Model struct {
	net     *Network
	options Options
	timing  timing
	view    *view
	queue   broadcasts
	next    uint64 // sequence of the last own delta

	ended  bool
	left   bool
	paused bool
	held   []func() // calls that wait for the end of the pause
	stops  map[uint64]func() bool
	timers uint64

	peers    map[token]*peer // all that it knows, itself included
	inOrder  []token         // the keys of peers, sorted; nil when they have changed
	order    []token         // to probe, shuffled in each round
	position int
	news     map[token]*news
	pings    map[uint64]func() // end the probes that wait for an answer
	lastPing uint64

	firstGossip time.Time // the others follow in intervals
	gossips     bool      // a call of gossip is scheduled

	dueQueued bool // delivery of events is among the jobs
	rejoin    time.Duration
	rejoinNo  uint64
	lastErr   error
}

var _ Membership = (*Model)(nil)

type peerState uint8

const (
	alive peerState = iota
	suspect
	dead
	left
)

// peer is one incarnation, as memberlist's table has it.
type peer struct {
	announcement
	version uint32 // memberlist's incarnation: the peer itself raises it to contradict
	state   peerState
	since   time.Time
	// Of a suspect: since when, the members that confirm the suspicion, and the function that stops
	// its timer.
	suspected time.Time
	confirmed map[token]bool
	stop      func() bool
}

// update is one piece of gossip: that a peer is alive, suspected, dead or left.
type update struct {
	announcement
	version uint32
	state   peerState
	from    token
}

// news is an update that is passed on.
type news struct {
	update
	transmits int
	order     uint64
}

func newModel(n *Network, o Options) *Model {
	m := &Model{
		net: n, options: o, timing: o.Profile.timing(),
		queue: broadcasts{capacity: o.BroadcastQueue},
		stops: map[uint64]func() bool{}, peers: map[token]*peer{}, news: map[token]*news{}, pings: map[uint64]func(){},
	}
	self := announcement{token: token(n.options.Rand.Uint64()), member: cluster.Member{
		Incarnation: cluster.Incarnation{Name: o.Name, Epoch: o.Epoch}, Gossip: o.Bind, Links: o.Links, Labels: o.Labels,
	}}
	if o.Epoch == 0 {
		self.member.Epoch = uint64(n.options.Now().UnixMicro())
	}
	m.view = newView(self, m.eventDue)
	m.peers[self.token] = &peer{announcement: self, version: 1}
	m.rejoin = o.RejoinMin
	return m
}

func (m *Model) begin() {
	m.every(m.timing.probeInterval, m.probe)
	m.beginGossip()
	m.every(m.timing.pushPullInterval, m.pushPull)
	m.after(0, m.keepJoined)
}

// after calls f after d, unless the node has ended; when it is paused, at the end of the pause.
func (m *Model) after(d time.Duration, f func()) (stop func() bool) {
	m.timers++
	id := m.timers
	cancel := m.net.after(d, func() {
		delete(m.stops, id)
		m.run(f)
	})
	m.stops[id] = cancel
	return func() bool {
		delete(m.stops, id)
		return cancel()
	}
}

// every calls f in each interval, from a random time on.
func (m *Model) every(interval time.Duration, f func()) {
	var tick func()
	tick = func() {
		f()
		m.after(interval, tick)
	}
	m.after(time.Duration(m.net.options.Rand.Int64N(int64(interval))), tick)
}

// run calls f, unless the node has ended, or when the pause is over.
func (m *Model) run(f func()) {
	switch {
	case m.ended:
	case m.paused:
		m.held = append(m.held, f)
	default:
		f()
	}
}

const maxHeld = 1024

// receive calls f, which handles a packet or a frame of a stream that has arrived. While the node
// is paused, f waits, or is dropped if too many calls wait.
func (m *Model) receive(f func(*Model)) {
	if m.paused && len(m.held) >= maxHeld+len(m.stops) {
		return
	}
	m.run(func() { f(m) })
}

func (m *Model) resume() {
	m.paused = false
	held := m.held
	m.held = nil
	for i, f := range held {
		if m.paused { // by what it called
			m.held = append(m.held, held[i:]...)
			return
		}
		m.run(f)
	}
}

// end stops the node: nothing of it happens any more.
func (m *Model) end() {
	if m.ended {
		return
	}
	m.ended = true
	delete(m.net.nodes, m.options.Bind)
	for _, id := range sorted(m.stops) {
		m.stops[id]()
	}
	m.stops, m.held = nil, nil
}

// eventDue queues the delivery of the events. It is called with mu of the view and of the network
// held.
func (m *Model) eventDue() {
	if m.dueQueued {
		return
	}
	m.dueQueued = true
	m.net.later(m.deliver)
}

// deliver calls Options.Notify with the events that are due. It is called without locks.
func (m *Model) deliver() {
	for {
		m.net.mu.Lock()
		e, ok := Event{}, false
		if !m.ended {
			e, ok = m.view.next()
		}
		if !ok {
			m.dueQueued = false
		}
		m.net.mu.Unlock()
		if !ok {
			return
		}
		m.options.Notify(e)
	}
}

// self returns the own entry.
func (m *Model) self() *peer { return m.peers[m.view.token] }

// Self returns this node, as it describes itself now.
func (m *Model) Self() cluster.Member { return m.view.current().member }

// Members returns the members believed to be alive, this node included, by name.
func (m *Model) Members() []cluster.Member { return m.view.members() }

// Joined reports whether this node has another member, or no other node to join. The error is that
// of the last attempt to join, if it failed.
func (m *Model) Joined() (bool, error) {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	others := m.view.size() > 1
	for _, seed := range m.options.Seeds {
		if seed != m.options.Bind {
			return others, m.lastErr
		}
	}
	return true, nil
}

// Update replaces the labels of this node and says whether it is leaving.
func (m *Model) Update(labels map[string]string, leaving bool) error {
	labels = maps.Clone(labels)
	m.net.mu.Lock()
	defer m.net.unlock()
	if m.ended || m.left {
		return ErrStopped
	}
	if _, err := m.view.change(func(a *announcement) { a.member.Labels, a.member.Leaving = labels, leaving }); err != nil {
		return err
	}
	m.announce()
	return nil
}

// announce gossips this node's description of itself.
func (m *Model) announce() {
	self := m.self()
	self.version++
	self.announcement = m.view.current()
	m.spread(update{announcement: self.announcement, version: self.version, state: alive})
}

// Broadcast hands a delta to Gossiped.Received of each other member, best effort.
func (m *Model) Broadcast(data []byte) error {
	if len(data) > MaxBroadcast {
		return fmt.Errorf("%w: a broadcast of %d bytes of at most %d", ErrTooLong, len(data), MaxBroadcast)
	}
	m.net.mu.Lock()
	defer m.net.unlock()
	if m.ended {
		return ErrStopped
	}
	m.next++
	m.queue.seen.first(m.view.token, m.next)
	m.queue.add(delta{m.view.token, m.next, bytes.Clone(data)})
	m.scheduleGossip()
	return nil
}

// SendBulk hands data to Gossiped.Received of one other member. It returns before that, and an
// error if the member cannot be reached now.
func (m *Model) SendBulk(to cluster.Incarnation, data []byte) error {
	if len(data) > MaxBulk {
		return fmt.Errorf("%w: bulk of %d bytes of at most %d", ErrTooLong, len(data), MaxBulk)
	}
	data = bytes.Clone(data)
	m.net.mu.Lock()
	defer m.net.unlock()
	if m.ended {
		return ErrStopped
	}
	a, ok := m.view.find(to)
	if !ok {
		return fmt.Errorf("%w: %s", ErrUnknownMember, to)
	}
	there, here := a.member.Gossip, m.options.Bind
	if m.net.nodes[there] == nil || m.net.cuts[[2]string{here, there}] || m.net.cuts[[2]string{there, here}] {
		return fmt.Errorf("membership: send bulk to %s: %w", to, errUnreachable)
	}
	m.net.stream(m, there, m.timing.streamTimeout, func(peer *Model) {
		peer.receive(func(*Model) { peer.delivered(data) })
	}, func(error) {})
	return nil
}

// delivered hands data to the application.
func (m *Model) delivered(data []byte) {
	m.net.later(func() {
		if m.runs() {
			m.options.Gossiped.Received(data)
		}
	})
}

func (m *Model) runs() bool {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	return !m.ended
}

// Leave tells the others that this node leaves, and stops it. It returns before that is done, since
// nothing here can wait: the node goes on for the time that it takes to tell, and then stops.
func (m *Model) Leave(context.Context) error {
	m.net.mu.Lock()
	defer m.net.unlock()
	if m.ended || m.left {
		return nil
	}
	if _, err := m.view.change(func(a *announcement) { a.goodbye = true }); err != nil {
		return err
	}
	m.left = true
	m.announce()
	telling := m.timing.telling(m.view.size())
	m.after(telling, func() {
		self := m.self()
		self.state = left
		m.spread(update{announcement: self.announcement, version: self.version, state: left, from: self.token})
		m.after(telling, m.end)
	})
	return nil
}

// Stop ends the membership without telling the others, at once.
func (m *Model) Stop(context.Context) error {
	m.net.mu.Lock()
	defer m.net.unlock()
	m.end()
	return nil
}

// keepJoined dials the seeds and the members that failed.
func (m *Model) keepJoined() {
	m.rejoinNo++ // an earlier schedule is void
	members, targets := m.view.addresses(), []string(nil)
	for _, seed := range m.options.Seeds {
		if !members[seed] {
			targets = append(targets, seed)
		}
	}
	lost := m.view.lost(m.net.options.Now().Add(-forgetLost))
	m.net.options.Rand.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	for _, address := range lost {
		if !members[address] {
			targets = append(targets, address)
		}
	}
	for _, target := range targets[:min(len(targets), maxTargets)] {
		m.exchange(target, true)
	}
	wait := m.options.RejoinMax
	if len(targets) > 0 {
		wait = m.rejoin/2 + time.Duration(m.net.options.Rand.Int64N(int64(m.rejoin/2)+1))
		m.rejoin = min(2*m.rejoin, m.options.RejoinMax)
	} else {
		m.rejoin = m.options.RejoinMin
	}
	m.schedule(wait)
}

func (m *Model) schedule(wait time.Duration) {
	number := m.rejoinNo
	m.after(wait, func() {
		if number == m.rejoinNo {
			m.keepJoined()
		}
	})
}

// kick makes keepJoined begin again soon, and dials an address at once if there is one.
func (m *Model) kick(address string) {
	if address != "" {
		m.exchange(address, true)
	}
	m.rejoin = m.options.RejoinMin
	m.rejoinNo++
	m.schedule(0)
}

// exchange is a push/pull: both nodes take over the state of the other. join means that the names
// are checked first.
func (m *Model) exchange(to string, join bool) {
	m.withState(func(mine pushPull) {
		m.net.stream(m, to, m.timing.streamTimeout, func(peer *Model) {
			peer.receive(func(*Model) {
				peer.withState(func(theirs pushPull) {
					_ = peer.merge(mine, join)
					m.net.after(m.net.delay(), func() {
						m.receive(func(*Model) {
							m.lastErr = m.merge(theirs, join)
						})
					})
				})
			})
		}, func(err error) {
			if !errors.Is(m.lastErr, ErrNameTaken) {
				m.lastErr = err
			}
		})
	})
}

// pushPull is the state of one node.
type pushPull struct {
	peers   []update
	history []ended
	state   []byte
}

// withState calls f with the state of the node, and with mu held. The application is asked without.
func (m *Model) withState(f func(pushPull)) {
	m.net.later(func() {
		if !m.runs() {
			return
		}
		state := m.options.Gossiped.State()
		if len(state) > MaxState {
			state = nil
		}
		m.net.mu.Lock()
		defer m.net.mu.Unlock() // the jobs are being done
		m.run(func() {
			s := pushPull{history: m.view.history(), state: bytes.Clone(state)}
			for _, t := range m.tokens() {
				p := m.peers[t]
				s.peers = append(s.peers, update{announcement: p.announcement, version: p.version, state: p.state})
			}
			f(s)
		})
	})
}

// merge takes over the state of another node.
func (m *Model) merge(s pushPull, join bool) error {
	if join {
		all := make([]known, len(s.peers))
		for i, u := range s.peers {
			all[i] = known{u.announcement, u.state == alive || u.state == suspect}
		}
		raised, err := m.view.meet(all)
		if raised {
			m.announce()
			m.kick("")
		}
		if err != nil {
			return err
		}
	}
	for _, u := range s.peers {
		if u.state == dead { // prefer to suspect, so that it can contradict
			u.state = suspect
		}
		u.from = m.view.token
		if u.state == left {
			u.from = u.token
		}
		m.apply(u)
	}
	if raised, _ := m.view.learn(s.history); raised {
		m.announce()
		m.kick("")
	}
	if len(s.state) > 0 {
		state := bytes.Clone(s.state)
		m.net.later(func() {
			if m.runs() {
				m.options.Gossiped.Merge(state)
			}
		})
	}
	return nil
}
