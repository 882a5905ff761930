package subscribe

import "testing"

// A dropped event passes its losses and its break on to the next event.
func TestBacklogPassesLossesOn(t *testing.T) {
	b := newBacklog[int](2)
	broken := &Break{Attempts: 1}
	b.put(item[int]{Event: Event[int]{Value: 1, Lost: 3, Uncounted: true, Break: broken}})
	gone := 0
	for v := 2; v <= 4; v++ {
		if dropped := b.put(item[int]{Event: Event[int]{Value: v, Lost: 1}, gone: func() { gone++ }}); dropped != nil {
			dropped()
		}
	}
	if e, ok := b.take(); !ok || e.Value != 3 || e.Lost != 3+1+1+1+1 || !e.Uncounted || e.Break != broken {
		t.Errorf("got %+v", e)
	}
	if e, ok := b.take(); !ok || e.Value != 4 || e.Lost != 1 || e.Uncounted || gone != 3 {
		t.Errorf("got %+v, gone was called %d times", e, gone)
	}
}

// An event that is put back keeps its losses; a full queue drops it.
func TestQueuePutBack(t *testing.T) {
	for meanwhile, want := range map[uint64]struct{ seq, lost uint64 }{0: {3, 2}, 1: {4, 3}, 2: {5, 4}} {
		o := &queue{ring: ring[entry]{room: 2}}
		for seq := uint64(1); seq <= 4; seq++ {
			o.put(entry{seq: seq}, true)
		}
		e, lost := o.take()
		if e.seq != 3 || lost != 2 {
			t.Fatalf("got %d, %d lost", e.seq, lost)
		}
		for seq := range meanwhile {
			o.put(entry{seq: 5 + seq}, true)
		}
		o.putBack(e, lost)
		if e, lost := o.take(); e.seq != want.seq || lost != want.lost {
			t.Errorf("after %d: got %d, %d lost, want %+v", meanwhile, e.seq, lost, want)
		}
	}
}

// TestEventsOfTwoRunsAreNotLost repeats events in a second run that came in the first one, and loses the
// repetition: nothing is lost.
func TestEventsOfTwoRunsAreNotLost(t *testing.T) {
	s := &Stream[string]{backlog: newBacklog[string](8)}
	for _, p := range []Published{
		{Position: Position{"e", 1}, Stream: "first", Number: 1},
		{Position: Position{"e", 2}, Stream: "first", Number: 2},
		{Position: Position{"e", 3}, Stream: "second", Number: 3, Resumed: true},
		{Position: Position{"e", 5}, Stream: "second", Number: 5, Resumed: true},
	} {
		s.arrived(p, "", nil)
	}
	for _, want := range []uint64{0, 0, 0, 1} {
		if e, ok := s.backlog.take(); !ok || e.Lost != want || e.Uncounted {
			t.Errorf("got %+v, %t, want %d lost", e, ok, want)
		}
	}
}
