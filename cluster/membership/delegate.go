package membership

import (
	"bytes"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// delegate is what memberlist calls, some of it with its lock held: nothing here calls memberlist,
// and events are only recorded.
type delegate struct {
	g     *Gossip
	token token
	over  atomic.Bool // the node has begun anew
}

// silent reports whether nothing counts any more.
func (d *delegate) silent() bool { return d.over.Load() || d.g.silent.Load() }

// NodeMeta returns the metadata of this node.
func (d *delegate) NodeMeta(int) []byte {
	b, err := d.g.view.current().meta().encode()
	if err != nil {
		panic("membership: metadata of this node became invalid: " + err.Error()) // each change is checked
	}
	return b
}

// NotifyMsg takes a packet of deltas, or bulk.
func (d *delegate) NotifyMsg(b []byte) {
	if len(b) < packetHead || b[0] != formatVersion || d.silent() {
		return
	}
	switch b[1] {
	case packetBulk:
		d.g.options.Gossiped.Received(bytes.Clone(b[packetHead:]))
	case packetDeltas:
		deltas, err := decodeDeltas(bytes.Clone(b[packetHead:]))
		if err != nil {
			d.g.log.Warn("membership: malformed packet", "err", err)
			return
		}
		for _, delta := range d.g.firstSeen(deltas) {
			d.g.options.Gossiped.Received(delta.data)
		}
	}
}

// firstSeen returns the deltas that are new, and queues them for others.
func (g *Gossip) firstSeen(deltas []delta) []delta {
	g.queueMu.Lock()
	defer g.queueMu.Unlock()
	fresh := deltas[:0]
	for _, d := range deltas {
		if g.queue.seen.first(d.origin, d.sequence) {
			g.queue.add(delta{d.origin, d.sequence, bytes.Clone(d.data)}) // Received owns the other
			fresh = append(fresh, d)
		}
	}
	return fresh
}

// GetBroadcasts returns one packet of deltas, or none. memberlist calls it when it has put its own
// news into a packet that still has room.
func (d *delegate) GetBroadcasts(overhead, limit int) [][]byte {
	d.g.packets.Add(1)
	transmits := deltaLimit(d.g.timing.retransmitMult, d.g.view.size())
	d.g.queueMu.Lock()
	defer d.g.queueMu.Unlock()
	if b := d.g.queue.take(limit-overhead, transmits); b != nil {
		return [][]byte{b}
	}
	return nil
}

// LocalState returns the state for a push/pull.
func (d *delegate) LocalState(bool) []byte {
	state := d.g.options.Gossiped.State()
	if len(state) > MaxState {
		d.g.log.Error("membership: state too long for push/pull", "bytes", len(state), "limit", MaxState)
		state = nil
	}
	return encodeState(d.g.view.history(), state)
}

// MergeRemoteState takes the state of another member.
func (d *delegate) MergeRemoteState(b []byte, _ bool) {
	if d.silent() {
		return
	}
	history, state, err := decodeState(b)
	if err != nil {
		d.g.log.Warn("membership: malformed state", "err", err)
		return
	}
	raised, dead := d.g.view.learn(history)
	d.g.wasRaised(raised)
	d.g.doubt(dead)
	if len(state) > 0 {
		d.g.options.Gossiped.Merge(bytes.Clone(state))
	}
}

// NotifyAlive refuses an incarnation whose name is another's, or that is no more.
func (d *delegate) NotifyAlive(n *memberlist.Node) error {
	a, err := decodeAnnouncement(n.Name, n.Address(), n.Meta)
	if err != nil {
		return err
	}
	err = d.g.view.admit(a)
	if errors.Is(err, ErrNameTaken) {
		d.g.refused(err, a.member.Gossip)
	}
	return err
}

// NotifyMerge looks at the members of the other side of a join.
func (d *delegate) NotifyMerge(nodes []*memberlist.Node) error {
	all := make([]known, 0, len(nodes))
	for _, n := range nodes {
		a, err := decodeAnnouncement(n.Name, n.Address(), n.Meta)
		if err != nil {
			continue // NotifyAlive refuses it
		}
		all = append(all, known{a, n.State == memberlist.StateAlive || n.State == memberlist.StateSuspect})
	}
	raised, err := d.g.view.meet(all)
	d.g.wasRaised(raised)
	return err
}

func (g *Gossip) wasRaised(raised bool) {
	if raised {
		g.raised.Store(true)
		g.kick("")
	}
}

// NotifyJoin records a member.
func (d *delegate) NotifyJoin(n *memberlist.Node) { d.note(n, (*view).joined) }

// NotifyUpdate records a member's new description of itself.
func (d *delegate) NotifyUpdate(n *memberlist.Node) { d.note(n, (*view).updated) }

func (d *delegate) note(n *memberlist.Node, record func(*view, announcement, time.Time)) {
	if a, err := decodeAnnouncement(n.Name, n.Address(), n.Meta); err == nil && !d.silent() {
		record(d.g.view, a, time.Now())
	}
}

// NotifyLeave records the end of a member.
func (d *delegate) NotifyLeave(n *memberlist.Node) {
	name, t, err := splitMemberName(n.Name)
	if err != nil || t == d.token || d.silent() {
		return
	}
	if refused := d.g.view.gone(name, t, false, time.Now()); refused != "" {
		d.g.kick(refused)
	} else {
		d.g.kick("")
	}
}
