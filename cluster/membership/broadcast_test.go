package membership

import (
	"math/rand/v2"
	"testing"
)

func read(t *testing.T, packet []byte) []delta {
	t.Helper()
	if packet == nil {
		return nil
	}
	deltas, err := decodeDeltas(packet[packetHead:])
	if err != nil {
		t.Fatal(err)
	}
	return deltas
}

func TestEachDeltaIsSentTheSameNumberOfTimes(t *testing.T) {
	t.Parallel()
	q := broadcasts{capacity: 1000}
	random := rand.New(rand.NewPCG(1, 1))
	const deltas, transmits = 100, 5
	for i := range uint64(deltas) {
		q.add(delta{1, i + 1, make([]byte, random.IntN(200))})
	}
	sent := map[uint64]int{}
	for range 10_000 {
		const limit = 500
		packet := q.take(limit, transmits)
		if len(packet) > limit {
			t.Fatalf("a packet of %d bytes", len(packet))
		}
		for _, d := range read(t, packet) {
			sent[d.sequence]++
		}
	}
	for i := range uint64(deltas) {
		if sent[i+1] != transmits {
			t.Errorf("delta %d was sent %d times", i+1, sent[i+1])
		}
	}
	if q.length != 0 {
		t.Errorf("length %d", q.length)
	}
}

func TestAFullQueueDropsTheOldestOfThoseSentMostOften(t *testing.T) {
	t.Parallel()
	q := broadcasts{capacity: 3}
	for i := range uint64(3) {
		q.add(delta{1, i + 1, nil})
	}
	one := (delta{1, 1, nil}).size() + packetHead
	if got := read(t, q.take(one, 9)); len(got) != 1 || got[0].sequence != 1 {
		t.Fatalf("took %v", got)
	}
	q.add(delta{1, 4, nil}) // 1 was sent
	q.add(delta{1, 5, nil}) // 2 is the oldest
	var left []uint64
	for _, d := range read(t, q.take(1000, 1)) {
		left = append(left, d.sequence)
	}
	if len(left) != 3 || left[0] != 3 || left[2] != 5 || q.length != 0 {
		t.Errorf("left %v, length %d", left, q.length)
	}
}

func TestDeltasAreSeenOnce(t *testing.T) {
	t.Parallel()
	var s seenDeltas
	order := rand.New(rand.NewPCG(1, 1)).Perm(windowBits)
	for _, i := range order {
		if !s.first(1, uint64(i+1)) {
			t.Fatalf("delta %d counts as seen", i+1)
		}
	}
	for _, i := range order {
		if s.first(1, uint64(i+1)) {
			t.Fatalf("delta %d counts as new", i+1)
		}
	}
	if !s.first(1, 10*windowBits) || s.first(1, 9*windowBits) || !s.first(1, 9*windowBits+1) || !s.first(2, 1) {
		t.Error("after a gap")
	}
	for i := range token(2 * maxOrigins) {
		s.first(i+10, 1)
	}
	if len(s.windows) != maxOrigins {
		t.Errorf("%d origins", len(s.windows))
	}
	if s.first(2*maxOrigins+9, 1) {
		t.Error("the last origin was forgotten")
	}
}
