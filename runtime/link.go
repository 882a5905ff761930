package runtime

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// link is a session between agents of this node and agents elsewhere: what both ends of
// one have in common. Its ledger says what is to be done when it ends.
type link struct {
	node    *Node
	session *wire.Session
	ledger  *ledger
	sweeps  atomic.Bool // a sweep is to come

	mu    sync.Mutex
	stop  func() bool // the next sweep; nil before the first
	ended bool
}

func newLink(n *Node, s *wire.Session, limits ledgerLimits) *link {
	return &link{node: n, session: s, ledger: newLedger(limits, &n.told)}
}

// send passes a message of local's on to peer. The error is a [*performatives.Refusal].
func (l *link) send(m *performatives.Message, local, peer performatives.AgentID) error {
	return l.pass(entry{message: m, local: local, peer: peer}, l.session.Send)
}

// deliver passes a message of peer's on to local. The error is a
// [*performatives.Refusal], and the node has counted the message.
func (l *link) deliver(m *performatives.Message, local, peer performatives.AgentID) error {
	return l.receive(entry{message: m, local: local, peer: peer, inbound: true})
}

// deliverAs is the same for what peer says to a namespace, and is for local. The peer
// knows the conversation by the name that it has used, and so it gets its answers.
func (l *link) deliverAs(m *performatives.Message, local, peer performatives.AgentID) error {
	e := entry{message: renamed(m, m.Sender(), local), local: local, peer: peer, inbound: true, as: m.Receiver()}
	err := l.receive(e)
	if err == nil {
		return nil
	}
	r := *asRefusal(err)
	r.From = e.as
	return &r
}

func (l *link) receive(e entry) error {
	sent := false
	err := l.pass(e, func(m *performatives.Message) error {
		sent = true // and if that is in vain, counted
		return l.node.Send(m)
	})
	if err != nil && !sent {
		return l.node.turnAway(e.message, err)
	}
	return err
}

// pass notes a message and passes it on. A namespace answers the peer under the name that
// the peer has used.
func (l *link) pass(e entry, on func(*performatives.Message) error) error {
	n, err := l.ledger.note(e, time.Now())
	if err != nil {
		return err
	}
	defer l.sweepLater() // also for what is open again
	m := e.message
	if n.as != "" && !e.inbound {
		m = renamed(m, n.as, m.Receiver())
	}
	if err := on(m); err != nil {
		switch ended := !l.ledger.takeBack(n); {
		case ended && n.closed:
			l.lose([]*talk{n.talk}, disconnected)
		case ended:
			if !e.inbound { // else the node has counted it
				_ = l.node.turnAway(m, err)
			}
			return nil // the end of the conversation has come between, and tells
		}
		return err
	}
	return nil
}

// turnAway counts a message from outside that is not passed on, and returns why.
func (n *Node) turnAway(m *performatives.Message, why error) error {
	r := wire.AsRefusal(why)
	n.system.Refused(m, r)
	return r
}

// undelivered is told of a message that the session has taken and not written. Of one
// whose sender waits no more, nobody else is.
func (l *link) undelivered(m *performatives.Message, why *performatives.Refusal) {
	if m.Performative().ExpectsReply() && l.ledger.lost(m) {
		l.node.system.Refuse(m.Receiver(), m, why.Code, why.Text)
		return
	}
	l.node.system.DeadLetter(string(m.Receiver()), m, why.Code)
	if why.Code == performatives.CodeInvalidPayload {
		l.substitute(m, why)
	}
}

// substitute tells the peer that an answer cannot be written, so that it does not wait
// for it.
func (l *link) substitute(m *performatives.Message, why *performatives.Refusal) {
	switch m.Performative() { //nolint:exhaustive // the acts that are no last word
	case performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate, performatives.ActFailure:
		return
	}
	if m.InReplyTo() == "" {
		return
	}
	s := l.node.system.Stamp()
	failure, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
		Protocol: m.Protocol(), InReplyTo: m.InReplyTo(), Priority: m.Priority(), Ontology: performatives.OntologyExecutionFailure,
		Payload: performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: why.Text},
	})
	if err == nil {
		_ = l.session.Send(failure) // the session ends: then nobody waits
	}
}

// end ends what is open, for the reason that both sides are told. It reports false when
// that has been done before.
func (l *link) end(why performatives.Failure) bool {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return false
	}
	l.ended = true
	if l.stop != nil {
		l.stop()
	}
	l.mu.Unlock()
	l.lose(l.ledger.seal(), why)
	return true
}

// lose tells the agents of this side that conversations are over: those who wait for an
// answer, by FAILURE, and those who work for the peer, by CANCEL in its name.
func (l *link) lose(talks []*talk, why performatives.Failure) {
	if len(talks) == 0 {
		return
	}
	l.node.system.Work(func() {
		words := make([]*performatives.Message, 0, len(talks))
		for _, t := range talks {
			if m := t.last(l.node.system.Stamp(), why); m != nil {
				if t.inbound {
					l.node.told.add(true, t.peer, string(m.ID()))
				}
				words = append(words, m)
			}
		}
		l.node.insist(words)
	})
}

// last is the word of the peer that ends t, made in its stead; nil when it has said it.
func (t *talk) last(s performatives.Stamp, why performatives.Failure) *performatives.Message {
	if !t.inbound {
		return t.asked.Refuse(t.peer, s, why.ErrorCode, why.ErrorText)
	}
	if t.asked.Performative() == performatives.ActCancel {
		return nil
	}
	m, err := t.first.Follow(s, performatives.Cancel{Reason: why.ErrorText})
	if err != nil {
		return nil // only an invalid stamp
	}
	return m
}

// patienceWithBusy is how long what ends a conversation waits for room in a mailbox.
const patienceWithBusy = 10 * time.Second

// insist delivers words in a peer's stead. So many may come at once that a mailbox has
// no room for all of them.
func (n *Node) insist(words []*performatives.Message) {
	for _, m := range words {
		if actors.Wants[actors.MessageSent](n.Events()) {
			n.Events().Publish(actors.MessageSent{At: actors.At{Time: time.Now()}, Message: m})
		}
	}
	until := time.Now().Add(patienceWithBusy)
	for wait := time.Millisecond; len(words) > 0; wait = min(2*wait, 100*time.Millisecond) {
		words = n.deliverAll(words, time.Now().Before(until))
		if len(words) > 0 {
			room := time.NewTimer(wait)
			<-room.C
		}
	}
}

// deliverAll delivers what it can, and returns what there is no room for yet if that is
// to be tried again. Who waits may be beyond the uplink.
func (n *Node) deliverAll(words []*performatives.Message, again bool) []*performatives.Message {
	var left []*performatives.Message
	for _, m := range words {
		err := router{n}.Route(m)
		switch {
		case err == nil:
		case again && errors.Is(err, performatives.CodeBusy):
			left = append(left, m)
		default:
			n.system.DeadLetter(string(m.Receiver()), m, wire.AsRefusal(err).Code)
		}
	}
	return left
}

// sweepLater has somebody look after what nobody answers.
func (l *link) sweepLater() {
	if l.sweeps.Load() || l.ledger.open() == 0 || !l.sweeps.CompareAndSwap(false, true) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.stop = l.node.system.AfterFunc(l.ledger.limits.grace, l.sweep)
	}
}

// sweep answers the peer's questions that nobody has answered in time, once and for all,
// and forgets those of this side, whose askers know the time.
func (l *link) sweep() {
	for _, t := range l.ledger.expired(time.Now()) {
		if late := t.asked.Refuse(t.voice(), l.node.system.Stamp(), performatives.CodeTimeout, ""); late != nil {
			_ = l.session.Send(late) // the session ends, or the peer does not read
		}
	}
	l.sweeps.Store(false)
	l.sweepLater()
}
