package relay

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Link is the way to the agents of another process: a session, common to both of its ends, or a
// link to another node. It is the epoch of the destinations behind it: their agents are lost when
// it ends.
type Link struct {
	relay  *Relay
	kind   Kind
	out    Sender
	limits Limits
	load   actors.Load // the conversations that agents of this process have over it

	// Receiving is held while a message of the peer is passed on. Meanwhile the link does not end.
	Receiving sync.Mutex
	over      atomic.Bool // no further message of the peer is passed on; set with Receiving

	// They change with Relay.mu.
	lost    atomic.Bool  // its records have ended
	records atomic.Int64 // how many are open
	weight  atomic.Int64 // of their long messages, in bytes
}

// Kind is the other end of a [Link].
type Kind uint8

// The kinds.
const (
	Session Kind = iota // a process with agents, which may know themselves by other names than this node does
	Uplink              // a node, which tells its agents that their deadlines have passed
	Node                // a node of the cluster, which does so, too, and keeps records of its own
)

// Sender sends messages to the other end of a link, such as a [wire.Session].
type Sender interface {
	// Send queues m, or returns a [*performatives.Refusal] with the reason why it cannot. It does
	// not block.
	Send(m *performatives.Message) error
}

// Destination is that of an agent behind a link.
type Destination interface {
	actors.Destination
	Via() *Link
	// Labelled returns m in the form in which the other end gets it.
	Labelled(m *performatives.Message) *performatives.Message
}

// Limits bound a link.
type Limits struct {
	Open     int           // conversations, in both directions together
	Bytes    int           // of their long requests
	Grace    time.Duration // for the worker of another node's request, to answer CANCEL after the ReplyBy
	Patience time.Duration // for a request without a ReplyBy
}

// NewLink returns a link whose messages out sends.
func (r *Relay) NewLink(kind Kind, out Sender, limits Limits) *Link {
	return &Link{relay: r, kind: kind, out: out, limits: limits}
}

// Load returns the conversations that agents of this process have over the link.
func (l *Link) Load() *actors.Load { return &l.load }

// Finish closes the link, unless it has ended, and loses its peers.
func (l *Link) Finish(why performatives.Failure, peers ...performatives.AgentID) {
	if l.Close() {
		l.Lose(why, peers...)
	}
}

// Lose tells those who converse over the link, which is closed, that the peers are lost.
func (l *Link) Lose(why performatives.Failure, peers ...performatives.AgentID) {
	l.relay.system.LosePeers(why.ErrorCode, peers...)
	l.EndRecords(why)
}

// Close ends the link: no message of the peer is passed on any more. It returns false when it has
// ended before.
func (l *Link) Close() bool {
	l.Receiving.Lock()
	defer l.Receiving.Unlock()
	return !l.over.Swap(true)
}

// Ended reports whether the link has ended.
func (l *Link) Ended() bool { return l.over.Load() }

// Deliver routes a message of the peer's agent to its receiver. The error is a
// [*performatives.Refusal], and the node has counted the message.
func (l *Link) Deliver(m *performatives.Message, from performatives.AgentID) error {
	a, d := l.relay.find(m.Receiver())
	if d != nil || a == nil && !l.relay.activates(m) { // the destination notes it
		return l.relay.system.Pass(m)
	}
	return l.receive(passage{message: m, from: party{from, l}, to: party{id: m.Receiver()}, here: a}, l.relay.system.Pass)
}

// DeliverAs is Deliver for a message to a namespace, which the worker handles. The peer knows the
// worker under the name of the namespace, so replies and refusals are sent under that name. With
// named, replies have the id of the worker in their metadata.
func (l *Link) DeliverAs(m *performatives.Message, worker, from performatives.AgentID, named bool) error {
	p := passage{message: m.Readdressed(m.Sender(), worker), from: party{from, l}, to: l.relay.partyOf(worker), as: m.Receiver(), named: named}
	return refusedBy(p.as, l.receive(p, l.relay.system.Pass))
}

// DeliverTo is Deliver for a message to an agent of this process that was found a moment ago.
func (l *Link) DeliverTo(r *actors.Registration, m *performatives.Message) error {
	return l.receive(passage{message: m, from: party{m.Sender(), l}, to: party{id: m.Receiver()}, here: r}, func(m *performatives.Message) error {
		return l.relay.system.PassTo(r, m)
	})
}

// receive notes a message and passes it on with the function on, which counts it if that fails.
func (l *Link) receive(p passage, on func(*performatives.Message) error) error {
	unsent, err := l.relay.pass(p, on)
	if err != nil && unsent == nil {
		return l.relay.Refuse(p.message, err)
	}
	return err
}

// SendTo passes a message on to an agent of the peer. from is the sender, an agent of this process;
// nil: it is looked up. form returns the form in which the peer gets the message. The error is a
// [*performatives.Refusal].
func (l *Link) SendTo(
	m *performatives.Message, from *actors.Registration, to performatives.AgentID, form func(*performatives.Message) *performatives.Message,
) error {
	p := passage{message: m, from: party{id: m.Sender()}, to: party{to, l}, here: from}
	if from == nil {
		p.from.via, p.here = l.relay.whereIs(m.Sender())
	}
	unsent, err := l.relay.pass(p, func(m *performatives.Message) error { return l.out.Send(form(m)) })
	switch {
	case err == nil && unsent != nil: // its record was ended meanwhile: the sender was told so
		_ = l.relay.Refuse(m, unsent)
	case err != nil && m.Protocol() != "" && errors.Is(err, performatives.CodeInvalidPayload):
		l.relay.substitute(m, err) // the sender gets the error, but a conversation whose last message it was has ended
	}
	return err
}

// Unchanged is the form of a message for a peer that knows its agents by their ids.
func Unchanged(m *performatives.Message) *performatives.Message { return m }

// Undelivered handles a message that the session accepted and did not write. A sender that waits
// for the reply gets a refusal of the copy. Otherwise the message is a dead letter, and if it is a
// reply with an invalid payload, the peer gets a substitute.
func (l *Link) Undelivered(m *performatives.Message, why *performatives.Refusal) {
	s := l.relay.system
	switch {
	case m.Forwards() == 0:
	case why.Code == performatives.CodeDisconnected: // this node has no record of it, and it may have arrived
		s.RefuseWith(m.Receiver(), m, why)
		return
	default:
		s.RefuseCopy(m.Receiver(), m, why)
		return
	}
	if m.Performative().ExpectsReply() && l.refuseCopy(m, why) {
		return
	}
	s.DeadLetter(string(m.Receiver()), m, why.Code)
	if why.Code == performatives.CodeInvalidPayload {
		l.relay.substitute(m, why)
	}
}

// Redirect sends a message over the link behind which its receiver is now, past the records. It
// reports whether that is another link, and takes it.
func (l *Link) Redirect(m *performatives.Message) bool {
	_, d := l.relay.find(m.Receiver())
	return d != nil && d.Via() != l && d.Via().out.Send(d.Labelled(m)) == nil
}

// refuseCopy tells the sender of a request that a copy has not arrived, as if the peer had. It
// reports false if the sender does not wait for a reply, or if the peer has disconnected: the copy
// may have arrived, and the record or the conversation loses the peer now.
func (l *Link) refuseCopy(m *performatives.Message, why *performatives.Refusal) bool {
	s := l.relay.system
	_, recorded := l.relay.recordOf(m, party{id: m.Sender()}, party{m.Receiver(), l})
	waits := recorded || s.Conversing(m.Sender(), m.ConversationID(), m.Receiver()) || s.AccountsFor(m)
	refusal := m.RefuseCopy(m.Receiver(), s.Stamp(), why)
	if !waits || refusal == nil || why.Code == performatives.CodeDisconnected {
		return false
	}
	s.RecordRefusal(m, why)
	_ = l.Deliver(refusal, m.Receiver()) // Deliver counts what fails
	return true
}

// substitute sends a FAILURE in place of a reply that cannot be encoded or is too long: the peer
// waits for one. It does nothing for a message that does not end a conversation.
func (r *Relay) substitute(m *performatives.Message, why error) {
	goesOn := []performatives.Performative{performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate, performatives.ActFailure}
	if m.InReplyTo() == "" || slices.Contains(goesOn, m.Performative()) {
		return
	}
	s := r.system.Stamp()
	failure, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
		Protocol: m.Protocol(), InReplyTo: m.InReplyTo(), Priority: m.Priority(), Ontology: performatives.OntologyExecutionFailure,
		Payload: performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: wire.AsRefusal(why).Text},
	})
	if err == nil { // the error is an invalid stamp
		_ = r.system.Route(failure) // the error is that the link has ended, and with it the conversation
	}
}
