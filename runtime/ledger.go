package runtime

import (
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ledger keeps the conversations of one session that are open: those in which one side
// waits for the last word of the other. It is what tells both sides how they end when
// the session does, and answers a peer whose question nobody answers. A broadcast is not
// in it: nobody knows whose word would be the last.
//
// It is safe for concurrent use; its methods take the time as an argument and call
// nobody.
type ledger struct {
	limits ledgerLimits
	told   *told

	mu     sync.Mutex
	sealed bool
	n      int
	weight int                                    // of the talks
	talks  map[performatives.ConversationID]*talk // chained by next
	about  map[string]*talk                       // by the id and the reply_with of a message that expects an answer
	due    dueHeap                                // the talks with a due time
}

// ledgerLimits bound a ledger.
type ledgerLimits struct {
	open     int           // conversations
	bytes    int           // of the long messages that are their questions
	grace    time.Duration // after a ReplyBy, in which an answer may still come
	patience time.Duration // with a request that has no ReplyBy
}

// maxNamesakes is how many open conversations of one session may have the same id, as
// those of one call for proposals to many have. It bounds the search among them.
const maxNamesakes = 4096

func newLedger(l ledgerLimits, t *told) *ledger {
	return &ledger{limits: l, told: t, talks: make(map[performatives.ConversationID]*talk), about: make(map[string]*talk)}
}

// entry is a message as a ledger sees it: agents by the names that are theirs on this
// node, whatever the message says.
type entry struct {
	message *performatives.Message
	local   performatives.AgentID // on this side of the session
	peer    performatives.AgentID // on the other
	inbound bool                  // peer has sent it
	as      performatives.AgentID // the namespace that peer has named instead of local; else empty
}

// noted is what a ledger did about a message that is passed on next: it began a
// conversation, belongs to one, or closed it by its last word.
type noted struct {
	talk   *talk // nil: there is nothing to take back
	began  bool
	closed bool
	as     performatives.AgentID  // what the peer calls the local agent, if by another name
	asks   *performatives.Message // what now is the latest question of the conversation
	before *performatives.Message // which was that before
	copies copies                 // of before
}

// note notes a message before it is passed on, because whoever gets it may act on it
// before this side has done anything more. The error is a [*performatives.Refusal]: the
// session is over, too many conversations are open, or the message answers what has been
// answered in its sender's stead. A message that was not passed on after all is taken back.
func (l *ledger) note(e entry, now time.Time) (noted, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed {
		return noted{}, &performatives.Refusal{Code: performatives.CodeStopped, About: e.message.ID(), Text: "the connection to the agent has closed"}
	}
	t := l.answeredLocked(e)
	if ref := e.message.InReplyTo(); !t.knows(ref) && l.told.has(!e.inbound, e.receiver(), ref) {
		return noted{}, &performatives.Refusal{
			Code: performatives.CodeConversationEnded, About: e.message.ID(), Text: "who asked has been told an end already",
		}
	}
	if t != nil {
		n := noted{talk: t, as: t.as, closed: t.answeredBy(e.message)}
		if n.closed {
			l.removeLocked(t)
		}
		return n, nil
	}
	act := e.message.Performative()
	if act.ExpectsReply() {
		return l.noteAskLocked(e, now)
	}
	if act == performatives.ActRejectProposal { // which ends what its sender has asked for
		if t := l.askedLocked(e); t != nil {
			l.removeLocked(t)
			return noted{talk: t, closed: true}, nil
		}
	}
	return noted{}, nil
}

// noteAskLocked notes a message that expects an answer, in a conversation that is open
// or in a new one.
func (l *ledger) noteAskLocked(e entry, now time.Time) (noted, error) {
	t := l.askedLocked(e)
	if !l.roomLocked(t, e.message) {
		return noted{}, &performatives.Refusal{
			Code: performatives.CodeBusy, About: e.message.ID(), Text: "too many conversations are open over this connection, or too long ones",
		}
	}
	if t != nil {
		n := noted{talk: t, asks: e.message, before: t.asked, copies: t.copies}
		l.askLocked(t, e.message, now)
		return n, nil
	}
	return noted{talk: l.openLocked(e, now), began: true}, nil
}

// takeBack takes back that a message was passed on. It reports false when the conversation
// has been ended in the meantime: then who waits in one that was open has been told so, and
// in one that the message had closed, has not.
func (l *ledger) takeBack(n noted) bool {
	if n.talk == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n.closed && l.sealed:
		l.lostLocked(n.talk)
		return false
	case n.closed:
		l.reopenLocked(n.talk)
		return true
	}
	switch t := n.talk; {
	case n.began:
		l.removeLocked(t)
	case n.before != nil && t.asked == n.asks && !t.gone:
		l.latestLocked(t, n.before)
		if n.before.ID() == n.asks.ID() {
			t.copies.passed--
		} else {
			t.copies = n.copies
		}
	}
	return !n.talk.told
}

func (l *ledger) reopenLocked(t *talk) {
	t.gone = false
	l.addLocked(t)
	for _, ref := range t.refs {
		l.about[ref] = t
	}
}

// localOf returns who of this side is a namespace to the peer, in the open conversation
// to which a message of the peer's belongs.
func (l *ledger) localOf(peer performatives.AgentID, m *performatives.Message) (performatives.AgentID, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	is := func(t *talk) bool { return t.as != "" && t.as.Is(m.Receiver()) && t.peer.Is(peer) }
	for t := l.talks[m.ConversationID()]; t != nil; t = t.next {
		if is(t) {
			return t.local, true
		}
	}
	if t := l.about[m.InReplyTo()]; t != nil && is(t) {
		return t.local, true
	}
	return "", false
}

// lost notes that a copy of a message to the peer has not arrived, for the reason of that
// code. It reports whether its sender still waits, and is to be told so: the peer may have
// answered what only perhaps was lost, or the end of the session tells. The conversation
// stays open if another copy may have arrived.
func (l *ledger) lost(m *performatives.Message, code performatives.Code) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.talks[m.ConversationID()]; t != nil; t = t.next {
		if !t.inbound && t.asked.ID() == m.ID() && t.peer.Is(m.Receiver()) {
			if t.copyRefused(code) {
				l.removeLocked(t)
				l.tellLocked(t)
			}
			return true
		}
	}
	return false
}

// awaits reports whether m is the latest question to one of the peer's agents.
func (l *ledger) awaits(m *performatives.Message, peer performatives.AgentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.talks[m.ConversationID()]; t != nil; t = t.next {
		if !t.inbound && t.asked.ID() == m.ID() && t.peer.Is(peer) {
			return true
		}
	}
	return false
}

// expired forgets the conversations that nobody can wait for any more, and returns those
// that the peer has begun: it is to be told, and so is who works for it.
func (l *ledger) expired(now time.Time) []*talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*talk
	for len(l.due) > 0 && !now.Before(l.due[0].due) {
		t := l.due[0]
		l.removeLocked(t)
		if t.inbound {
			l.tellLocked(t)
			out = append(out, t)
		}
	}
	return out
}

// nextDue returns the earliest time at which expired finds something. It is zero when
// there is none.
func (l *ledger) nextDue() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.due) == 0 {
		return time.Time{}
	}
	return l.due[0].due
}

// of forgets the conversations of one of the peer's agents, and returns them: who waits,
// on either side, is to be told that they are over.
func (l *ledger) of(peer performatives.AgentID) []*talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.takeOutLocked(func(t *talk) bool { return t.peer.Is(peer) })
	for _, t := range out {
		l.tellLocked(t)
	}
	return out
}

// seal ends the ledger, and returns what was open: nothing will be noted any more, and
// who waits on this side is to be told. The peer knows, and may get its answers over its
// next session.
func (l *ledger) seal() []*talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
	out := l.takeOutLocked(func(*talk) bool { return true })
	for _, t := range out {
		l.lostLocked(t)
	}
	return out
}

// open returns how many conversations are open.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// lostLocked notes that t was open when the session ended.
func (l *ledger) lostLocked(t *talk) {
	if !t.inbound {
		l.tellLocked(t)
	}
}

// tellLocked notes that who began t is told its end.
func (l *ledger) tellLocked(t *talk) {
	t.told = true
	l.told.add(t.inbound, t.side(!t.inbound), t.refs...)
}

func (l *ledger) takeOutLocked(which func(*talk) bool) []*talk {
	var out []*talk
	for _, t := range l.talks {
		for ; t != nil; t = t.next {
			if which(t) {
				out = append(out, t)
			}
		}
	}
	for _, t := range out {
		l.removeLocked(t)
	}
	return out
}
