package codontest

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Script makes the choices of one seed for the code that the options [Agents] and [Calling] give.
// A choice depends on the seed and on what the code names, so that a seed repeats it. Its methods
// are safe for concurrent use.
type Script struct {
	dice  dice
	key   string // of the call; empty for an agent
	self  actors.Self
	peers []performatives.AgentID
}

// Self returns the handle of the agent on whose behalf a call opens conversations: it is a
// [codons.Party]. It must not be used by an agent of [Agents].
func (s *Script) Self() actors.Self { return s.self }

// Peers returns the ids of the agents of [Agents], in their order. The slice belongs to the
// caller.
func (s *Script) Peers() []performatives.AgentID {
	return slices.Clone(s.peers)
}

// Chance returns the choices for a part of a call.
func (s *Script) Chance(part string) *Chance {
	return &Chance{s.dice.of("call", s.key, part)}
}

// About returns the choices for a part of the handling of a message.
func (s *Script) About(m *performatives.Message, part string) *Chance {
	return &Chance{s.dice.of("about", string(m.Receiver()), string(m.ID()), part)}
}

// Chance draws choices. One goroutine may use it at a time.
type Chance struct{ rand *rand.Rand }

// IntN returns a number from 0 to n-1, for n of at least 1.
func (c *Chance) IntN(n int) int { return c.rand.IntN(n) }

// Pause waits for a while of virtual time, mostly a short one and at most two minutes. When ctx
// ends first, it returns the cause, or nil all the same, because the last message of a job may come
// late.
func (c *Chance) Pause(ctx context.Context) error {
	if err := pause(ctx, c.rand); err != nil && c.rand.IntN(2) == 0 {
		return err
	}
	return nil
}

// Err returns nil, or in one of four cases an error of a job: a [*performatives.Refusal] that is
// sent as REFUSE, NOT_UNDERSTOOD or FAILURE, or an error that is none.
func (c *Chance) Err() error {
	const text = "the script says so"
	switch c.rand.IntN(16) {
	case 0:
		return &performatives.Refusal{Code: performatives.CodeUnauthorized, Text: text}
	case 1:
		return &performatives.Refusal{Code: performatives.CodeInvalidPayload, Text: text}
	case 2:
		return &performatives.Refusal{Code: performatives.CodeFailed, Text: text}
	case 3:
		return errors.New(text)
	}
	return nil
}

// Do is a whole job: it calls each of says, or leaves it out, waits as Pause does and ends as Err
// does. says are messages of a job that goes on, such as an agreement.
func (c *Chance) Do(ctx context.Context, says ...func() error) error {
	for _, say := range says {
		if c.rand.IntN(2) == 0 {
			continue
		}
		if err := say(); err != nil {
			return err
		}
	}
	if err := c.Pause(ctx); err != nil {
		return err
	}
	return c.Err()
}

// ids returns the ids of n agents of a world.
func ids(n int) []performatives.AgentID {
	all := make([]performatives.AgentID, n)
	for i := range all {
		all[i] = responderID
		if i > 0 {
			all[i] += performatives.AgentID(strconv.Itoa(i + 1))
		}
	}
	return all
}

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
