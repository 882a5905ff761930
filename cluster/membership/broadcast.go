package membership

import "math"

// broadcasts is the queue of the deltas that a node passes on: its own, and new ones of other
// nodes. A node sends a delta to a few members, and each of these sends it to a few more.
// memberlist's own queue is not used, because a member does not pass on the deltas of such a queue.
// Not safe for concurrent use.
type broadcasts struct {
	capacity int
	// transmitted[i] are deltas that were sent i times, the oldest first.
	transmitted [][]delta
	length      int
	seen        seenDeltas
}

// add queues a delta. When the queue is full, it drops the oldest of those that were sent most
// often.
func (b *broadcasts) add(d delta) {
	if b.length >= b.capacity {
		for i := len(b.transmitted) - 1; i >= 0; i-- {
			if len(b.transmitted[i]) > 0 {
				b.transmitted[i][0] = delta{}
				b.transmitted[i] = b.transmitted[i][1:]
				break
			}
		}
		b.length--
	}
	b.put(0, d)
}

func (b *broadcasts) put(times int, d delta) {
	for len(b.transmitted) <= times {
		b.transmitted = append(b.transmitted, nil)
	}
	b.transmitted[times] = append(b.transmitted[times], d)
	b.length++
}

// take fills one packet of at most limit bytes with the deltas that were sent least often, oldest
// first. A delta that was sent transmits times is forgotten. It returns nil when nothing fits.
func (b *broadcasts) take(limit, transmits int) []byte {
	if b.length == 0 {
		return nil
	}
	var taken [][]delta
	size := packetHead
	for times := range b.transmitted {
		queue, keep := b.transmitted[times], b.transmitted[times][:0]
		var fit []delta
		for i, d := range queue {
			// Small deltas may overtake one that is too long for the rest of the packet; the search
			// is bounded.
			if size+d.size() > limit || len(fit) == maxPacketDeltas {
				keep = append(keep, d)
				if limit-size < minDelta {
					keep = append(keep, queue[i+1:]...)
					break
				}
				continue
			}
			size += d.size()
			fit = append(fit, d)
		}
		clear(queue[len(keep):])
		b.transmitted[times] = keep
		taken = append(taken, fit)
		if limit-size < minDelta {
			break
		}
	}
	packet := make([]byte, 0, size)
	packet = append(packet, formatVersion, packetDeltas)
	for times, fit := range taken {
		for _, d := range fit {
			packet = appendDelta(packet, d)
			b.length--
			if times+1 < transmits {
				b.put(times+1, d)
			}
		}
	}
	if len(packet) == packetHead {
		return nil
	}
	return packet
}

const (
	minDelta        = 10 // bytes of the shortest delta
	maxPacketDeltas = 256
)

// transmitLimit is how often each of n members sends a piece of news on. The part of the members
// that do not get it is about e^-limit.
func transmitLimit(mult, n int) int {
	return mult * int(math.Ceil(math.Log10(float64(n+1))))
}

// deltaLimit is transmitLimit for deltas. memberlist's own limit of 4 for less than 10 members
// leaves out too many of them until the next push/pull: with 200 deltas for 7 others, some were
// missing in most runs.
func deltaLimit(mult, n int) int { return 2 * transmitLimit(mult, n) }

// seenDeltas records which deltas of which origin were seen, so that each is delivered and passed
// on once. It covers the last 1,024 deltas of an origin; an older one counts as seen. It holds
// 4,096 origins, and forgets the one that it has not heard of for longest.
type seenDeltas struct {
	windows map[token]*window
	clock   uint64
}

const (
	windowBits = 1024
	maxOrigins = 4096
)

type window struct {
	highest uint64
	bits    [windowBits / 64]uint64
	used    uint64 // for eviction
}

// first reports whether the delta is new.
func (s *seenDeltas) first(origin token, sequence uint64) bool {
	s.clock++
	w := s.windows[origin]
	if w == nil {
		if s.windows == nil {
			s.windows = map[token]*window{}
		}
		if len(s.windows) >= maxOrigins {
			s.evict()
		}
		w = &window{}
		s.windows[origin] = w
	}
	w.used = s.clock
	return w.first(sequence)
}

func (s *seenDeltas) evict() {
	var oldest token
	least := uint64(math.MaxUint64)
	for t, w := range s.windows {
		if w.used < least {
			oldest, least = t, w.used
		}
	}
	delete(s.windows, oldest)
}

func (w *window) first(sequence uint64) bool {
	if sequence > w.highest {
		if sequence-w.highest >= windowBits {
			w.bits = [windowBits / 64]uint64{}
		} else {
			for i := w.highest + 1; i < sequence; i++ {
				w.clear(i)
			}
		}
		w.highest = sequence
		w.set(sequence)
		return true
	}
	if w.highest-sequence >= windowBits || w.bits[sequence%windowBits/64]&(1<<(sequence%64)) != 0 {
		return false
	}
	w.set(sequence)
	return true
}

func (w *window) set(i uint64)   { w.bits[i%windowBits/64] |= 1 << (i % 64) }
func (w *window) clear(i uint64) { w.bits[i%windowBits/64] &^= 1 << (i % 64) }
