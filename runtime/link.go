package runtime

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// link is the state of one session, common to both of its ends. Its ledger records the
// pending requests between agents of this node (local) and agents of the other end
// (peer), so that they can be ended when the session ends.
type link struct {
	node    *Node
	session *wire.Session
	ledger  *ledger

	mu        sync.Mutex
	wake      time.Time   // for which the timer is set; zero: it is not
	stopTimer func() bool // nil before the first
	ended     bool
}

func newLink(n *Node, s *wire.Session, limits ledgerLimits) *link {
	return &link{node: n, session: s, ledger: newLedger(limits, &n.told)}
}

// send sends a message from the local agent to the peer's agent. The error is a
// [*performatives.Refusal].
func (l *link) send(m *performatives.Message, local, peer performatives.AgentID) error {
	return l.pass(entry{message: m, local: local, peer: peer}, l.session.Send)
}

// deliver routes a message from the peer's agent to the local agent. The error is a
// [*performatives.Refusal], and the node has counted the message.
func (l *link) deliver(m *performatives.Message, local, peer performatives.AgentID) error {
	return l.receive(entry{message: m, local: local, peer: peer, inbound: true})
}

// deliverAs is like deliver for a message to a namespace, which local handles. The peer
// knows the conversation under the name of the namespace, so replies and refusals are
// sent under that name.
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
		sent = true // Send counts the message if it fails
		return l.node.Send(m)
	})
	if err != nil && !sent {
		return l.node.recordRefusal(e.message, err)
	}
	return err
}

// pass records a message in the ledger and sends it with the function on. A message to
// the peer in a conversation with a namespace is sent under the namespace's name.
func (l *link) pass(e entry, on func(*performatives.Message) error) error {
	n, err := l.ledger.note(e, time.Now())
	if err != nil {
		return err
	}
	if n.began || n.asks != nil {
		defer l.scheduleExpiry()
	}
	m := e.message
	if n.as != "" && !e.inbound {
		m = renamed(m, n.as, m.Receiver())
	}
	if err := on(m); err != nil {
		ended := !l.ledger.takeBack(n)
		l.scheduleExpiry() // of a conversation that takeBack has reopened
		switch {
		case ended && n.closed:
			l.tell([]*talk{n.talk}, disconnected)
		case ended:
			if !e.inbound { // an inbound message has been counted by the node
				_ = l.node.recordRefusal(m, err)
			}
			return nil // the link ended in between, and ends the conversation
		}
		return err
	}
	return nil
}

// recordRefusal counts a message of another process that is not routed. It returns the
// reason as a refusal.
func (n *Node) recordRefusal(m *performatives.Message, why error) error {
	r := wire.AsRefusal(why)
	n.system.RecordRefusal(m, r)
	return r
}

// undelivered handles a message that the session accepted and did not write. If the
// sender has a pending request for it, the sender gets a refusal. Otherwise the message
// is a dead letter, and if it is a reply with an invalid payload, the peer gets a
// substitute.
func (l *link) undelivered(m *performatives.Message, why *performatives.Refusal) {
	if m.Performative().ExpectsReply() && l.ledger.lost(m, why.Code) {
		l.node.system.RefuseCopy(m.Receiver(), m, why.Code, why.Text)
		return
	}
	l.node.system.DeadLetter(string(m.Receiver()), m, why.Code)
	if why.Code == performatives.CodeInvalidPayload {
		l.sendSubstitute(m, why)
	}
}

// sendSubstitute sends the peer a FAILURE in place of a reply that cannot be encoded, so
// that the peer does not wait for it.
func (l *link) sendSubstitute(m *performatives.Message, why *performatives.Refusal) {
	switch m.Performative() { //nolint:exhaustive // these acts do not end a conversation
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
		_ = l.session.Send(failure) // the error is that the session has ended
	}
}

// end ends the pending requests of the link with the given reason, and the conversations with the given agents of
// the peer. It reports false when the link has ended before.
func (l *link) end(why performatives.Failure, peers ...performatives.AgentID) bool {
	l.mu.Lock()
	if l.ended {
		l.mu.Unlock()
		return false
	}
	l.ended = true
	if l.stopTimer != nil {
		l.stopTimer()
	}
	l.mu.Unlock()
	l.lose(l.ledger.seal(), why, peers...)
	return true
}

// lose ends requests for the agents of this node, and their conversations with the given agents of the peer. A
// conversation loses its peer. Where a request has none, the agent is told.
func (l *link) lose(talks []*talk, why performatives.Failure, peers ...performatives.AgentID) {
	for _, t := range talks {
		peers = append(peers, t.peer)
	}
	conversing := make(map[actors.AgentKey]bool)
	for _, k := range l.node.system.LosePeers(why.ErrorCode, peers...) {
		conversing[folded(k)] = true
	}
	talks = slices.DeleteFunc(talks, func(t *talk) bool {
		return conversing[folded(actors.AgentKey{Agent: t.local, Key: actors.Key{ID: t.first.ConversationID(), Peer: t.peer, Initiator: !t.inbound}})]
	})
	l.tell(talks, why)
}

// tell ends requests by messages to the agents of this node: an agent that has asked gets FAILURE, and an agent that works for
// the peer gets CANCEL from the peer.
func (l *link) tell(talks []*talk, why performatives.Failure) {
	if len(talks) == 0 {
		return
	}
	l.node.system.Work(func() {
		messages := make([]*performatives.Message, 0, len(talks))
		for _, t := range talks {
			if m := t.finalMessage(l.node.system.Stamp(), why); m != nil {
				if t.inbound {
					l.node.told.addCancel(true, t.peer, m, t.first)
				}
				messages = append(messages, m)
			}
		}
		l.node.deliverWithRetry(messages)
	})
}

func folded(k actors.AgentKey) actors.AgentKey {
	k.Agent, k.Peer = k.Agent.Fold(), k.Peer.Fold()
	return k
}

// finalMessage returns the message that ends t for the agent of this node, with the peer
// as sender. It is nil when the peer has sent its CANCEL already.
func (t *talk) finalMessage(s performatives.Stamp, why performatives.Failure) *performatives.Message {
	if !t.inbound {
		return t.asked.Refuse(t.peer, s, why.ErrorCode, why.ErrorText)
	}
	if t.asked.Performative() == performatives.ActCancel {
		return nil
	}
	m, err := t.first.Follow(s, performatives.Cancel{Reason: why.ErrorText})
	if err != nil {
		return nil // the error is an invalid stamp
	}
	return m
}

// busyRetryPeriod is the time for which deliverWithRetry retries while a mailbox is full.
const busyRetryPeriod = 10 * time.Second

// deliverWithRetry delivers messages made on behalf of a peer. It retries while a mailbox
// is full, because the end of a session may produce more messages than a mailbox has room
// for.
func (n *Node) deliverWithRetry(messages []*performatives.Message) {
	for _, m := range messages {
		if actors.Wants[actors.MessageSent](n.Events()) {
			n.Events().Publish(actors.MessageSent{At: actors.At{Time: time.Now()}, Message: m})
		}
	}
	until := time.Now().Add(busyRetryPeriod)
	for wait := time.Millisecond; len(messages) > 0; wait = min(2*wait, 100*time.Millisecond) {
		messages = n.deliverAll(messages, time.Now().Before(until))
		if len(messages) > 0 {
			room := time.NewTimer(wait)
			<-room.C
		}
	}
}

// deliverAll routes the messages. If again is true, it returns those that were refused as
// busy, to be retried. The receiver of a message may be beyond the uplink.
func (n *Node) deliverAll(messages []*performatives.Message, again bool) []*performatives.Message {
	var left []*performatives.Message
	for _, m := range messages {
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

// scheduleExpiry sets the timer for the earliest due time of the open conversations, unless
// it is set for that or an earlier time.
func (l *link) scheduleExpiry() {
	due := l.ledger.nextDue()
	if due.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || !l.wake.IsZero() && !due.Before(l.wake) {
		return
	}
	if l.stopTimer != nil {
		l.stopTimer()
	}
	l.wake = due
	l.stopTimer = l.node.system.AfterFunc(time.Until(due), l.expire)
}

// expire ends the expired requests. A peer's request that a local agent has not answered
// in time gets FAILURE (timeout), and the agent gets CANCEL. A local agent's request is
// only removed, because its codon has its own deadline.
func (l *link) expire() {
	l.mu.Lock()
	l.wake = time.Time{}
	l.mu.Unlock()
	late := l.ledger.expired(time.Now())
	for _, t := range late {
		if m := t.asked.Refuse(t.voice(), l.node.system.Stamp(), performatives.CodeTimeout, ""); m != nil {
			_ = l.session.Send(m) // the session has ended, or the peer does not read
		}
	}
	l.tell(late, timedOut)
	l.scheduleExpiry()
}

// timedOut is the reason that agents get when the request that they work on has expired.
var timedOut = performatives.Failure{ErrorCode: performatives.CodeTimeout, ErrorText: "the deadline of the request has passed"}
