package actors

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/internal/expiring"
	"github.com/ribosome-agents/ribosome/performatives"
)

// MaxRequestAge is the longest time for which a system remembers the id of a request.
const MaxRequestAge = time.Hour

// DefaultRequestIDs is the default of [Options].RequestIDs. It suffices for 25,000 requests a
// second that each have five minutes, or for 100,000 a second that have a minute. A system that has
// so many to remember uses some 400 MB for them.
const DefaultRequestIDs = 1 << 23

// requestIDs remembers the ids of the requests that agents have taken on, so that a request
// never runs twice. It is one for the system: it outlives the tombstones, the restarts and
// the stop of an agent.
type requestIDs struct {
	known *expiring.Map[struct{}]
}

func newRequestIDs(capacity int) requestIDs {
	return requestIDs{expiring.New[struct{}](capacity)}
}

// TimedResponder is a [Responder] whose conversations have a deadline or are long-lived. Their
// initiators await an answer to each opening act, also to one that expects none. The requests of
// any other responder are remembered until their ReplyBy, and without one for [MaxRequestAge].
type TimedResponder interface {
	Responder
	// Deadline returns the time in which a request without a ReplyBy must have been answered:
	// so long its id is remembered. Zero means that the conversations are long-lived: while one
	// is open it recognises its request itself, and after its end the same request, such as the
	// heartbeat of a subscription, may open it again.
	Deadline() time.Duration
}

// takeOn records that the agent c takes on the request m, under the given id. from is the entry of
// the sender, or nil. It returns a refusal when it has taken it on before, or when there is no
// room.
func (r requestIDs) takeOn(c *cell, m *performatives.Message, from *Registration, id string, otherwise time.Duration) *performatives.Refusal {
	now := time.Now()
	until := retainedUntil(m, now, otherwise)
	key, owner := r.identity(from, m.Sender(), c.folded, id)
	switch _, result := r.known.Add(key, owner, struct{}{}, now, until); result {
	case expiring.Known:
		return refusal(m, c.id, performatives.CodeConversationEnded, "")
	case expiring.Full:
		return refusal(m, c.id, performatives.CodeBusy, "too many requests to remember")
	case expiring.Added:
		if c.taken != nil {
			c.taken.add(TakenOn{m.Sender(), performatives.MessageID(id), until}, now)
		}
	}
	return nil
}

func (r requestIDs) forget(c *cell, m *performatives.Message) {
	from, _ := c.sys.Find(m.Sender())
	r.known.Delete(r.identity(from, m.Sender(), c.folded, string(m.ID())))
	if c.taken != nil {
		c.taken.remove(m.Sender(), m.ID())
	}
}

// identity returns the key of a request, and the peer that it is accounted to. The key has the
// sender, the folded id of the agent that takes it on and the id: a broadcast has one for each
// agent. from is the entry of the sender, or nil. Agents of this process have no share of the
// capacity.
func (r requestIDs) identity(from *Registration, sender, to performatives.AgentID, id string) (expiring.Key, expiring.Owner) {
	folded, owner := string(sender.Fold()), expiring.NoOwner
	if from == nil || from.local == nil {
		owner = r.known.Owner(folded)
	}
	return r.known.Key(folded, string(to), id), owner
}

// retainedUntil returns the time until which a request is remembered: its ReplyBy, and
// without one the time that its role gives it.
func retainedUntil(m *performatives.Message, now time.Time, otherwise time.Duration) time.Time {
	last, by := now.Add(MaxRequestAge), m.ReplyBy()
	if by.IsZero() {
		by = now.Add(otherwise)
	}
	if by.After(last) {
		return last
	}
	return by
}

// TakeOn records that a conversation of this agent takes on a further request of its peer. The
// requests that open conversations are recorded by the system. The error is a
// [*performatives.Refusal]: [performatives.CodeConversationEnded] says that this agent has taken on
// a request of the same sender and id before and must not run it again. [performatives.CodeBusy]
// says that the system has no room to remember it. It is remembered until its ReplyBy, without one
// for the given time, and at most for [MaxRequestAge].
func (s Self) TakeOn(m *performatives.Message, otherwise time.Duration) error {
	from, _ := s.c.sys.Find(m.Sender())
	if r := s.c.sys.requestIDs.takeOn(s.c, m, from, string(m.ID()), otherwise); r != nil {
		return r
	}
	return nil
}

// ForgetRequest has the system forget a request that this agent has refused before any of its code
// ran. The request may be sent again unchanged.
func (s Self) ForgetRequest(m *performatives.Message) { s.c.sys.requestIDs.forget(s.c, m) }

// TakenOn is a request that an agent has taken on and must not run again: see
// [Reservation.TakenOn].
type TakenOn struct {
	Sender performatives.AgentID
	ID     performatives.MessageID
	Until  time.Time // it is remembered so long
}

// MaxTakenOn bounds the requests that go along with an agent, in bytes of the memory that they
// take, as weight counts it. That is some 1,100 with the ids of this package. The oldest are left
// out.
const MaxTakenOn = 128 << 10

// weight is the size of a request in memory, in bytes.
func (t TakenOn) weight() int { return 64 + len(t.Sender) + len(t.ID) }

// takenOn has the latest requests that an agent has taken on that may move. It is shared by the
// runs of the agent in this process.
type takenOn struct {
	mu     sync.Mutex
	all    []TakenOn // the oldest first
	weight int
}

func (t *takenOn) add(one TakenOn, now time.Time) {
	one.Sender, one.ID = one.Sender.Clone(), performatives.MessageID(strings.Clone(string(one.ID))) // they may be parts of messages
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, one)
	t.weight += one.weight()
	drop := 0
	for ; drop < len(t.all) && (t.weight > MaxTakenOn || !t.all[drop].Until.After(now)); drop++ {
		t.weight -= t.all[drop].weight()
	}
	clear(t.all[:drop])
	t.all = t.all[drop:]
}

func (t *takenOn) remove(sender performatives.AgentID, id performatives.MessageID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, one := range slices.Backward(t.all) {
		if one.ID == id && one.Sender.Is(sender) {
			t.weight -= one.weight()
			t.all = slices.Delete(t.all, i, i+1)
			return
		}
	}
}

// TakenOn returns the latest requests that the agent has taken on which has just run here, the
// oldest first: those that are still to be remembered, and at most as many as have [MaxTakenOn]
// bytes.
func (v *Reservation) TakenOn() (all []TakenOn) {
	now := time.Now()
	v.taken.mu.Lock()
	defer v.taken.mu.Unlock()
	for _, one := range v.taken.all {
		if one.Until.After(now) {
			all = append(all, one)
		}
	}
	return all
}

// TakeOn has the system remember requests that the agent has taken on elsewhere, so that it does
// not run them again here. Of more than have [MaxTakenOn] bytes the first are left out, and those
// for which the system has no room. Each is remembered for [MaxRequestAge] at most.
func (v *Reservation) TakeOn(all []TakenOn) {
	for _, one := range all {
		v.sys.requestIDs.takenElsewhere(v, one)
	}
}

// takenElsewhere records that an agent which is about to run here has taken on a request elsewhere.
func (r requestIDs) takenElsewhere(v *Reservation, one TakenOn) {
	now := time.Now()
	if last := now.Add(MaxRequestAge); one.Until.After(last) {
		one.Until = last
	}
	if !one.Until.After(now) {
		return
	}
	from, _ := v.sys.Find(one.Sender)
	key, owner := r.identity(from, one.Sender, v.entry.folded, string(one.ID))
	r.known.Add(key, owner, struct{}{}, now, one.Until)
	v.taken.add(one, now)
}
