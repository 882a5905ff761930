package actors

import (
	"hash/maphash"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Tombstone is the rest of an ended conversation. It answers duplicates and drops late
// messages. Its methods run on the agent's actor. It should be small, apart from its replies.
type Tombstone interface {
	// Receive handles a message of the conversation of self that arrives after the end. It
	// reports false for one that may open a new conversation.
	Receive(self Self, m *performatives.Message) bool
	// Size returns the approximate memory, in bytes, of the replies that it keeps for
	// duplicates.
	Size() int
	// Shed drops these replies. Then Size is zero.
	Shed()
}

// The bounds of one agent's tombstones.
const (
	// maxTombstones is the largest number of ended conversations that an agent remembers. A
	// message that arrives after its tombstone was removed is treated as the first message of
	// its conversation.
	maxTombstones = 256
	// maxReplyBytes bounds the replies of all tombstones. The oldest are shed first, and a reply
	// that alone is larger is not kept.
	maxReplyBytes = 16 << 10
)

// tombstones holds those of the last ended conversations of an agent. They survive restarts
// of the agent: an ended conversation stays ended.
type tombstones struct {
	seed   maphash.Seed
	places map[uint64]uint16 // the places in the ring, by the hashes of the keys
	ring   []grave           // circular, in the order of the ends
	next   int
	bytes  int // of the replies
	oldest int // the place at which the next shedding of replies begins
}

// grave is the place of one tombstone.
type grave struct {
	tombstone Tombstone
	key       uint64    // its hash
	aliases   *[]uint64 // the hashes of its further keys; nil for none
	bytes     int32     // of its replies
	withSelf  bool      // the peer is the agent itself
}

// keys yields the hashes of the keys.
func (g *grave) keys(yield func(uint64) bool) {
	if !yield(g.key) || g.aliases == nil {
		return
	}
	for _, alias := range *g.aliases {
		if !yield(alias) {
			return
		}
	}
}

func newTombstones() *tombstones {
	return &tombstones{seed: maphash.MakeSeed(), places: make(map[uint64]uint16)}
}

// hash returns the hash of a key.
func (t *tombstones) hash(k Key) uint64 {
	var room [128]byte
	text := append(room[:0], k.ID...)
	if k.Initiator {
		text = append(text, 1)
	} else {
		text = append(text, 0)
	}
	peer := k.Peer
	for i := range len(peer) {
		b := peer[i]
		if b >= utf8.RuneSelf {
			text = append(text[:len(text)-i], peer.Fold()...)
			break
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		text = append(text, b)
	}
	return maphash.Bytes(t.seed, text)
}

// add keeps the tombstone of the conversation e.
func (t *tombstones) add(e *entry, of Tombstone) {
	g := grave{tombstone: of, key: t.hash(e.key), withSelf: e.withSelf, bytes: int32(min(of.Size(), maxReplyBytes+1))}
	if len(e.aliases) > 0 {
		aliases := make([]uint64, len(e.aliases))
		for i, ref := range e.aliases {
			aliases[i] = t.hash(Key{ref, e.key.Peer, e.key.Initiator})
		}
		g.aliases = &aliases
	}
	place := t.makeRoom(g.key)
	t.ring[place] = g
	t.bytes += int(g.bytes)
	for key := range g.keys {
		t.places[key] = uint16(place)
	}
	for t.bytes > maxReplyBytes { // drop the oldest replies
		t.oldest %= len(t.ring)
		if g := &t.ring[t.oldest]; g.bytes > 0 {
			g.tombstone.Shed()
			t.bytes -= int(g.bytes)
			g.bytes = 0
		}
		t.oldest++
	}
}

// makeRoom returns the place for a tombstone: that of the former one with the same key, a new
// one, or that of the oldest.
func (t *tombstones) makeRoom(key uint64) int {
	if former, ok := t.places[key]; ok && t.ring[former].key == key {
		t.remove(int(former))
		return int(former)
	}
	if len(t.ring) < maxTombstones {
		t.ring = append(t.ring, grave{})
		return len(t.ring) - 1
	}
	place := t.next
	t.remove(place)
	t.next = (place + 1) % maxTombstones
	return place
}

// remove removes the tombstone at a place.
func (t *tombstones) remove(place int) {
	g := &t.ring[place]
	t.bytes -= int(g.bytes)
	for key := range g.keys {
		if t.places[key] == uint16(place) { // else a later conversation has taken the id over
			delete(t.places, key)
		}
	}
}

func (t *tombstones) find(k Key) *grave {
	if place, ok := t.places[t.hash(k)]; ok {
		return &t.ring[place]
	}
	return nil
}

func (*tombstones) withSelf(g *grave) bool { return g.withSelf }
