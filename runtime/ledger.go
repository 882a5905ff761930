package runtime

import (
	"cmp"
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

	mu     sync.Mutex
	sealed bool
	n      int
	talks  map[performatives.ConversationID]*talk // chained by next
	about  map[string]*talk                       // by the id and the reply_with of a message that expects an answer
}

// ledgerLimits bound a ledger.
type ledgerLimits struct {
	open     int           // conversations
	grace    time.Duration // after a ReplyBy, in which an answer may still come
	patience time.Duration // with a request that has no ReplyBy
}

// maxNamesakes is how many open conversations of one session may have the same id, as
// those of one call for proposals to many have. It bounds the search among them.
const maxNamesakes = 4096

func newLedger(l ledgerLimits) *ledger {
	return &ledger{limits: l, talks: make(map[performatives.ConversationID]*talk), about: make(map[string]*talk)}
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

// expect notes a message before it is passed on, if it is one to be answered. The error
// is a [*performatives.Refusal]: too many conversations are open, or the session is over.
// undo is for a message that was not passed on after all; it reports false when the end
// of the session has told its sender already.
func (l *ledger) expect(e entry, now time.Time) (undo func() bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed {
		return nil, &performatives.Refusal{Code: performatives.CodeStopped, About: e.message.ID(), Text: "the connection to the agent has closed"}
	}
	if !e.message.Performative().ExpectsReply() || l.answeredLocked(e) != nil {
		return func() bool { return true }, nil
	}
	if t := l.askedLocked(e); t != nil {
		l.askLocked(t, e.message, now)
		return func() bool { return l.isOpen(t) }, nil
	}
	t, err := l.openLocked(e, now)
	if err != nil {
		return nil, err
	}
	return func() bool { return l.forget(t) }, nil
}

// closing notes a message that is about to be passed on, and closes the conversation
// whose last word it is, which it returns: whoever gets that word may know it before this
// side has done anything more. reopen is for a word that was not passed on after all.
func (l *ledger) closing(e entry) *talk {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.answeredLocked(e)
	switch {
	case t != nil && !t.closes(e.message):
		return nil
	case t == nil && e.message.Performative() == performatives.ActRejectProposal: // which ends what its sender has asked for
		t = l.askedLocked(e)
	}
	if t != nil {
		l.removeLocked(t)
	}
	return t
}

// reopen takes back that t is closed. It reports false when the session has ended in the
// meantime, so that who waits has not been told.
func (l *ledger) reopen(t *talk) bool {
	if t == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed {
		return false
	}
	t.gone = false
	l.addLocked(t)
	for _, ref := range t.refs {
		l.about[ref] = t
	}
	return true
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

// voice returns as whom the local agent answers the peer by e: as the namespace that the
// peer has asked, if it has, else under its own name.
func (l *ledger) voice(e entry) performatives.AgentID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.answeredLocked(e); t != nil {
		return cmp.Or(t.as, e.local)
	}
	return e.local
}

// lost notes that a message to the peer has not arrived, as far as anybody knows. It
// reports whether its sender still waits, and is to be told so: the peer may have
// answered what only perhaps was lost, and the end of the session tells who waits then.
func (l *ledger) lost(m *performatives.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := l.talks[m.ConversationID()]; t != nil; t = t.next {
		if !t.inbound && t.asked.ID() == m.ID() && t.peer.Is(m.Receiver()) {
			l.removeLocked(t)
			return true
		}
	}
	return false
}

// expired forgets the conversations that nobody can wait for any more, and returns them.
func (l *ledger) expired(now time.Time) []*talk {
	return l.takeOut(func(t *talk) bool { return !t.due.IsZero() && !now.Before(t.due) })
}

// of forgets the conversations of one of the peer's agents, and returns them.
func (l *ledger) of(peer performatives.AgentID) []*talk {
	return l.takeOut(func(t *talk) bool { return t.peer.Is(peer) })
}

// seal ends the ledger, and returns what was open: nothing will be noted any more.
func (l *ledger) seal() []*talk {
	l.mu.Lock()
	l.sealed = true
	l.mu.Unlock()
	return l.takeOut(func(*talk) bool { return true })
}

// open returns how many conversations are open.
func (l *ledger) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

func (l *ledger) takeOut(which func(*talk) bool) []*talk {
	l.mu.Lock()
	defer l.mu.Unlock()
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

func (l *ledger) isOpen(t *talk) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !t.gone
}

// forget closes t, and reports whether it was open.
func (l *ledger) forget(t *talk) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := !t.gone
	l.removeLocked(t)
	return was
}
