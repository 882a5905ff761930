package fifo

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A queue has what a plain slice has, refers to nothing that was removed, and gives back the memory
// of a burst.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.IntRange(0, 8).Draw(t, "keep")
		q, want, next := In(make([]*int, 0, 2)), []*int(nil), 0
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 9).Draw(t, "step") < 5 {
				if got := q.Pop(keep); got != want[0] {
					t.Fatalf("the oldest is %d, want %d", *got, *want[0])
				}
				if want = want[1:]; len(want) == 0 && cap(q.items) > keep {
					t.Fatalf("the empty queue keeps memory for %d elements", cap(q.items))
				}
			} else {
				next++
				want = append(want, &next)
				q.Push(&next)
			}
			if q.Len() != len(want) || !slices.Equal(q.All(), want) {
				t.Fatalf("the queue has %d elements, want %d", q.Len(), len(want))
			}
			for _, v := range slices.Concat(q.items[:q.head], q.items[len(q.items):cap(q.items)]) {
				if v != nil {
					t.Fatal("a place without an element refers to one")
				}
			}
		}
	})
}

// Steady traffic in a queue that is never empty takes no more memory.
func TestSteadyTraffic(t *testing.T) {
	var q Queue[int]
	for i := range 100 {
		q.Push(i)
	}
	if n := testing.AllocsPerRun(10_000, func() {
		q.Push(0)
		q.Pop(0)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if cap(q.items) > 400 {
		t.Errorf("memory for %d elements, of which there are 100", cap(q.items))
	}
}
