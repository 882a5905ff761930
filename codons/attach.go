package codons

import (
	"slices"

	"github.com/ribosome-agents/ribosome/performatives"
)

// attachRounds is how often what was published meanwhile is looked at before a
// subscriber is let in all the same, with a gap. One round is the rule.
const attachRounds = 8

// attachment is one subscriber on its way into a topic.
type attachment struct {
	board   *board
	outlet  *outlet
	at      uint64 // what was published up to here has been seen to
	agreed  Agreed
	resumed bool // nothing since Since is missing without being counted
}

// attach lets a subscriber into a topic: from Since on, where that is a place of this
// topic that it remembers, else from now on. The outlet is to be released once the
// subscriber knows. The error says that the topic is closed.
func (f Feed) attach(o *outlet, since *Position, stream string) (Agreed, error) {
	o.match, o.edge, o.ring.room, o.claimed = f.match, f.edge, f.board.buffer(), true
	a := &attachment{board: f.board, outlet: o}
	a.begin(since, stream)
	for round := 0; ; round++ {
		fresh, now, done, err := a.look(round == attachRounds)
		if err != nil || done {
			a.agreed.Resumed = a.resumed
			return a.agreed, err
		}
		a.replay(fresh, now)
	}
}

// begin finds where the subscriber's events begin.
func (a *attachment) begin(since *Position, stream string) {
	b := a.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == "" {
		b.epoch = stream // as good as any name, and nobody else's
	}
	a.at = b.seq
	if since != nil && since.Epoch == b.epoch && since.Seq <= b.seq {
		a.at, a.resumed = since.Seq, true
	}
	a.agreed = Agreed{Stream: stream, From: Position{b.epoch, a.at}, Buffered: b.buffer()}
	switch {
	case !a.outlet.edge || a.at == 0:
	case a.at > b.seq-uint64(len(b.history)):
		a.at-- // whether the condition holds now, or held then, the event of that place says
	default:
		a.resumed = false // nobody knows whether it held
	}
	if !a.resumed {
		a.agreed.From.Seq = a.at
	}
}

// look returns what was published since, or lets the subscriber in when that is
// nothing, or when there is to be no more looking.
func (a *attachment) look(last bool) (fresh []entry, now uint64, done bool, err error) {
	b := a.board
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed != nil:
		return nil, 0, false, &performatives.Refusal{Code: b.closed.ErrorCode, Text: b.closed.ErrorText}
	case !a.resumed && !a.outlet.edge: // nothing before now is wanted
		a.at, a.agreed.From.Seq = b.seq, b.seq
	case a.outlet.match == nil: // no code of others has to be asked
		a.replay(b.after(a.at), b.seq)
	case last:
		a.missed(b.seq - a.at)
		a.outlet.was, a.at = false, b.seq // better told twice than never
	}
	if b.seq > a.at {
		return b.after(a.at), b.seq, false, nil
	}
	all := slices.Concat(b.subscribers(), []*outlet{a.outlet})
	b.outlets.Store(&all)
	return nil, 0, true, nil
}

// replay puts in what was published before the subscriber was let in. What is not
// remembered is missed.
func (a *attachment) replay(fresh []entry, now uint64) {
	a.missed(now - a.at - uint64(len(fresh)))
	for _, e := range fresh {
		wants := a.outlet.wants(e.value)
		if a.outlet.edge && a.resumed && e.seq <= a.agreed.From.Seq {
			a.outlet.was = wants // nobody else has the outlet yet
			continue
		}
		a.outlet.put(e, wants)
	}
	a.at = now
}

// missed counts what is gone, where that can be: nobody knows how much of it would
// have been for a subscriber that does not want all.
func (a *attachment) missed(n uint64) {
	switch {
	case n == 0:
	case a.outlet.match == nil:
		a.outlet.miss(n)
	default:
		a.resumed = false
	}
}
