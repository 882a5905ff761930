package actors

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

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
// runs of the agent in this process. A nil *takenOn is that of an agent that does not move.
type takenOn struct {
	mu     sync.Mutex
	all    []TakenOn // the oldest first
	weight int
}

func (t *takenOn) add(one TakenOn, now time.Time) {
	if t == nil {
		return
	}
	one.Sender, one.ID = performatives.AgentID(strings.Clone(string(one.Sender))), performatives.MessageID(strings.Clone(string(one.ID))) // they may be parts of messages
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
	if t == nil {
		return
	}
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
	key := r.known.Key(string(one.Sender.Fold()), string(v.entry.folded), string(one.ID))
	r.known.Add(key, r.owner(v.sys, one.Sender), struct{}{}, now, one.Until)
	v.taken.add(one, now)
}
