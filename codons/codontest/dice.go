package codontest

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// dice draws the choices of one seed. Each choice depends on the seed and on its key
// alone, not on the order of the goroutines.
type dice struct{ seed uint64 }

func (d dice) of(key ...string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.Join(key, "\n"))) // a hash takes all of it
	return rand.New(rand.NewPCG(d.seed, h.Sum64()))
}

// upTo draws a duration of at most d, short ones more often than long ones.
func upTo(r *rand.Rand, d time.Duration) time.Duration {
	f := r.Float64()
	return time.Duration(f * f * float64(d))
}

// stamper numbers the messages of one seed.
type stamper struct {
	mu sync.Mutex
	n  int
}

func (s *stamper) Stamp() performatives.Stamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return performatives.Stamp{ID: performatives.MessageID("m" + strconv.Itoa(s.n)), Time: time.Now()}
}
