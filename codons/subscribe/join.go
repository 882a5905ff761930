package subscribe

import (
	"cmp"
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxJoinRounds is the largest number of rounds in which a new subscriber catches up with events
// that are published in the meantime. Then it joins with a gap. Usually one round is enough.
const maxJoinRounds = 8

// joining is one subscriber that joins a topic.
type joining struct {
	topic   *topic
	queue   *queue
	at      uint64 // the events up to here are replayed
	agreed  Agreed
	resumed bool // every event after Since is replayed or counted as lost
}

// join adds a subscriber's queue to the topic of the feed. The events begin at since, if it is
// a position that the topic remembers, else now. The caller releases the queue after the
// subscriber was told. The error says that the topic is closed.
func (f Feed) join(q *queue, since *Position, stream string) (Agreed, error) {
	q.match, q.edge, q.ring.room, q.claimed = f.match, f.edge, f.topic.buffer(), true
	a := &joining{topic: f.topic, queue: q}
	a.begin(since, stream)
	for round := 0; ; round++ {
		fresh, now, done, err := a.enter(round == maxJoinRounds)
		if err != nil || done {
			a.agreed.Resumed = a.resumed
			return a.agreed, err
		}
		a.replay(fresh, now)
	}
}

// begin finds the position at which the subscriber's events begin.
func (a *joining) begin(since *Position, stream string) {
	t := a.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch = cmp.Or(t.epoch, stream) // any unique name will do
	a.at = t.seq
	if since != nil && since.Epoch == t.epoch && since.Seq <= t.seq {
		a.at, a.resumed = since.Seq, true
	}
	a.agreed = Agreed{Stream: stream, From: Position{t.epoch, a.at}, Buffered: t.buffer()}
	switch {
	case !a.queue.edge || a.at == 0:
	case a.at > t.seq-uint64(t.history.n):
		a.at-- // the event at that position says whether the condition held there
	default:
		a.resumed = false // it is unknown whether the condition held
	}
	if !a.resumed {
		a.agreed.From.Seq = a.at
	}
}

// enter adds the queue to the topic if no event is left to replay, or in the last round. Else it
// returns the events to replay.
func (a *joining) enter(last bool) (fresh []entry, now uint64, done bool, err error) {
	t := a.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed != nil:
		return nil, 0, false, &performatives.Refusal{Code: t.closed.ErrorCode, Text: t.closed.ErrorText}
	case !a.resumed && !a.queue.edge: // the events begin now
		a.at, a.agreed.From.Seq = t.seq, t.seq
	case a.queue.match == nil: // no user code runs, so replay under the lock
		a.replay(t.after(a.at), t.seq)
	case last:
		a.missed(t.seq - a.at)
		a.queue.was, a.at = false, t.seq // the condition may be reported twice, but not missed
	}
	if t.seq > a.at {
		return t.after(a.at), t.seq, false, nil
	}
	all := slices.Concat(t.subscribers(), []*queue{a.queue})
	t.queues.Store(&all)
	return nil, 0, true, nil
}

// replay puts in events that were published before the queue joined. The topic may not remember
// all of them.
func (a *joining) replay(fresh []entry, now uint64) {
	a.missed(now - a.at - uint64(len(fresh)))
	for _, e := range fresh {
		wants := a.queue.wants(e.value)
		if a.queue.edge && a.resumed && e.seq <= a.agreed.From.Seq {
			a.queue.was = wants // without the lock: no other goroutine has the queue yet
			continue
		}
		a.queue.put(e, wants)
	}
	a.at = now
}

// missed counts n events that the topic does not remember. With a predicate they cannot be
// counted, since it is unknown which of them it would have selected.
func (a *joining) missed(n uint64) {
	switch {
	case n == 0:
	case a.queue.match == nil:
		a.queue.miss(n)
	default:
		a.resumed = false
	}
}
