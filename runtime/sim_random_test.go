package runtime_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	p "github.com/ribosome-agents/ribosome/performatives"
)

// simStamper gives messages consecutive ids.
type simStamper struct {
	mu sync.Mutex
	n  int
}

// Stamp returns the next id, and the virtual time.
func (s *simStamper) Stamp() p.Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return p.Stamp{ID: p.MessageID("m" + strconv.Itoa(s.n)), Time: time.Now()}
}

// simDice is the random generator of one run.
type simDice struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *simDice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.IntN(n)
}

func (d *simDice) fraction() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.Float64()
}

func (d *simDice) oneIn(n int) bool { return d.n(n) == 0 }

// simTick is the unit of all random durations. It is coarse, so that many events are
// simultaneous.
const simTick = 5 * time.Millisecond

// upTo returns a random duration of at least one tick.
func (d *simDice) upTo(max time.Duration) time.Duration {
	return simTick * time.Duration(1+d.n(int(max/simTick)))
}

// option is one of several behaviours, with its weight.
type option[F any] struct {
	name   string
	weight int
	do     F
}

// pick returns a random option, with the probability of its weight.
func pick[F any](d *simDice, options []option[F]) option[F] {
	total := 0
	for _, o := range options {
		total += o.weight
	}
	n := d.n(total)
	for _, o := range options {
		if n -= o.weight; n < 0 {
			return o
		}
	}
	panic("unreachable")
}

// requiredActions lists the behaviours that the simulations of all seeds together must
// contain.
func requiredActions() []string {
	names := []string{"fail", "stop and spawn", "forget", "lose", "lose a burst", "lose a peer", "repeat", "delay", "garble"}
	for _, o := range errands {
		names = append(names, o.name)
	}
	for _, o := range works {
		names = append(names, o.name)
	}
	for _, o := range decisions {
		names = append(names, o.name)
	}
	for _, o := range answers {
		names = append(names, o.name)
	}
	for _, o := range services {
		names = append(names, o.name)
	}
	return names
}
