package subscribe

import (
	"slices"
	"testing"
)

// A dropped event passes its losses and its break on to the next event.
func TestBacklogPassesLossesOn(t *testing.T) {
	b := newBacklog[int](2, 2)
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

// TestEventsOfTwoRunsAreNotLost repeats events in a second run that came in the first one, and
// loses the repetition: nothing is lost.
func TestEventsOfTwoRunsAreNotLost(t *testing.T) {
	s := &Stream[string]{backlog: newBacklog[string](8, 8)}
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

// An event that arrived before a break is not delivered again after it.
func TestEventFromBeforeABreak(t *testing.T) {
	s := &Stream[string]{backlog: newBacklog[string](8, 8)}
	for i, c := range []struct {
		published Published
		want      bool
	}{
		{Published{Position: Position{"e", 4}, Stream: "first", Number: 1}, true},
		{Published{Position: Position{"e", 4}, Stream: "second", Number: 1, Resumed: true}, false},
		{Published{Position: Position{"e", 3}, Stream: "second", Number: 2, Resumed: true}, false},
		{Published{Position: Position{"e", 5}, Stream: "second", Number: 3, Resumed: true}, true},
	} {
		if got := s.arrived(c.published, "", nil); got != c.want {
			t.Errorf("event %d was delivered: %t, want %t", i, got, c.want)
		}
	}
}

// A full history yields the events after a position in their order.
func TestHistory(t *testing.T) {
	all := topic{options: TopicOptions{History: 4}}
	for range 6 {
		all.publish("x")
	}
	for after, want := range map[uint64][]uint64{0: {3, 4, 5, 6}, 2: {3, 4, 5, 6}, 4: {5, 6}, 6: {}, 9: {}} {
		got := []uint64{}
		for _, e := range all.after(after) {
			got = append(got, e.seq)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d: %v, want %v", after, got, want)
		}
	}
}

// An event is not put in the queues by predicates that were asked before the subscribers changed.
func TestSubscribersChangeDuringPublish(t *testing.T) {
	var all topic
	before := all.queues.Load()
	q := &queue{ring: ring[entry]{room: 4}, wake: func() {}}
	all.queues.Store(&[]*queue{q})
	if all.put(before, nil, "x") || all.seq != 0 || q.ring.n != 0 {
		t.Error("the event was published")
	}
	if !all.put(all.queues.Load(), nil, "x") || q.ring.n != 1 {
		t.Error("the event was not published")
	}
}
