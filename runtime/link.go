package runtime

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime/internal/route"
	"github.com/ribosome-agents/ribosome/wire"
)

// link is the way to the agents of another process: a session, common to both of its ends, or a
// link to another node. It is the epoch of the destinations behind it: their agents are lost when
// it ends.
type link struct {
	node   *Node
	out    messageSender
	limits linkLimits
	toNode bool        // the other end is a node, which tells its agents that their deadlines have passed
	guests bool        // the peer may have agents that know themselves by another name than this node does
	load   actors.Load // the conversations that agents of this process have over it

	receiving sync.Mutex  // held while a message of the peer is passed on
	over      bool        // no further message of the peer is passed on; guarded by receiving
	finished  atomic.Bool // over, for those who must not wait for receiving

	lost   bool // its records have ended; guarded by records.mu
	weight int  // of the long messages of its records, in bytes; guarded by records.mu
}

// messageSender sends messages to the other end of a link. It is a [wire.Session] or a [nodeLink].
type messageSender interface {
	// Send queues m, or returns a [*performatives.Refusal] with the reason why it cannot. It does
	// not block.
	Send(m *performatives.Message) error
}

// remote is the destination of an agent behind a link.
type remote interface {
	actors.Destination
	via() *link
	// labelled returns m in the form in which the other end gets it.
	labelled(m *performatives.Message) *performatives.Message
}

// isRemote reports whether an agent is behind a link.
func isRemote(r *actors.Registration) bool {
	_, remote := r.Destination().(remote)
	return remote
}

// linkLimits bound a link. See [PeerOptions].
type linkLimits struct {
	open     int
	bytes    int
	grace    time.Duration
	patience time.Duration
}

// finish ends the link. It returns false when it has ended before. Afterwards, no message of the
// peer is passed on, and the conversations with its agents have lost their peers.
func (l *link) finish(why performatives.Failure, peers ...performatives.AgentID) bool {
	if !l.close() {
		return false
	}
	l.lose(why, peers...)
	return true
}

// lose tells those who converse over the link, which is closed, that the peers are lost.
func (l *link) lose(why performatives.Failure, peers ...performatives.AgentID) {
	l.node.system.LosePeers(why.ErrorCode, peers...)
	l.node.records.lose(l, why)
}

// close ends the link: no message of the peer is passed on any more. It returns false when it has
// ended before.
func (l *link) close() bool {
	l.receiving.Lock()
	defer l.receiving.Unlock()
	ended := l.over
	l.over = true
	l.finished.Store(true)
	return !ended
}

// ended reports whether the link has ended.
func (l *link) ended() bool { return l.finished.Load() }

// deliver routes a message of the peer's agent to its receiver. The error is a
// [*performatives.Refusal], and the node has counted the message.
func (l *link) deliver(m *performatives.Message, from performatives.AgentID) error {
	if r, ok := l.node.system.Find(m.Receiver()); ok && isRemote(r) || !ok && !route.ActivatesHere(view{l.node}, m) { // the destination notes it
		return l.node.system.Pass(m)
	}
	return l.receive(passage{message: m, from: party{from, l}, to: party{id: m.Receiver()}})
}

// deliverAs is deliver for a message to a namespace, which the worker handles. The peer knows the
// worker under the name of the namespace, so replies and refusals are sent under that name.
func (l *link) deliverAs(m *performatives.Message, worker, from performatives.AgentID) error {
	p := passage{message: m.Readdressed(m.Sender(), worker), from: party{from, l}, to: l.node.partyOf(worker), as: m.Receiver()}
	err := l.receive(p)
	if err == nil {
		return nil
	}
	r := *asRefusal(err)
	r.From = p.as
	return &r
}

func (l *link) receive(p passage) error {
	sent := false
	err := l.node.pass(p, func(m *performatives.Message) error {
		sent = true // Send counts the message if it fails
		return l.node.system.Pass(m)
	})
	if err != nil && !sent {
		return l.node.recordRefusal(p.message, err)
	}
	return err
}

// send passes a message on to the peer. sent is the form in which the peer gets it. The error is a
// [*performatives.Refusal].
func (l *link) send(m *performatives.Message, to performatives.AgentID, form func(*performatives.Message) *performatives.Message) error {
	var unsent error
	err := l.node.pass(passage{message: m, from: l.node.partyOf(m.Sender()), to: party{to, l}}, func(m *performatives.Message) error {
		unsent = l.out.Send(form(m))
		return unsent
	})
	switch {
	case err == nil && unsent != nil: // its record was ended meanwhile: the sender was told so
		_ = l.node.recordRefusal(m, unsent)
	case err != nil && m.Protocol() != "" && errors.Is(err, performatives.CodeInvalidPayload):
		// The sender gets the error, but a conversation whose last message it was has ended.
		if s := l.substitute(m, asRefusal(err)); s != nil {
			_ = l.send(s, to, form) // the error is that the link has ended, and with it the conversation
		}
	}
	return err
}

// unchanged is the form of a message for a peer that knows its agents by their ids.
func unchanged(m *performatives.Message) *performatives.Message { return m }

// pass notes a message in the records and passes it on with the function on. The reply of a worker
// that the asker has called by a namespace is sent under the namespace's name.
func (n *Node) pass(p passage, on func(*performatives.Message) error) error {
	noted, err := n.records.note(p, time.Now)
	if err != nil {
		return err
	}
	m := p.message
	if noted.as != "" && p.as == "" && !m.Sender().Is(noted.record.asker.id) {
		m = m.Readdressed(noted.as, m.Receiver())
	}
	if err := on(m); err != nil && n.records.takeBack(noted) {
		return err
	}
	return nil // or the conversation was ended meanwhile, and its parties were told so
}

// partyOf returns the agent with that id at its present destination.
func (n *Node) partyOf(id performatives.AgentID) party {
	r, ok := n.system.Find(id)
	if ok {
		if a, ok := r.Destination().(remote); ok {
			return party{id, a.via()}
		}
		return party{id: id}
	}
	if l := n.cluster.Load().lives(id); l != nil {
		return party{id, l.link}
	}
	if u := n.uplinkFor(id); u != nil {
		if l := u.current.Load(); l != nil {
			return party{id, l.link}
		}
	}
	return party{id: id}
}

// recordRefusal counts a message of another process that is not routed. It returns the
// reason as a refusal.
func (n *Node) recordRefusal(m *performatives.Message, why error) error {
	r := wire.AsRefusal(why)
	n.system.RecordRefusal(m, r)
	return r
}

// undelivered handles a message that the session accepted and did not write. A sender that waits
// for the reply gets a refusal of the copy. Otherwise the message is a dead letter, and if it is a
// reply with an invalid payload, the peer gets a substitute.
func (l *link) undelivered(m *performatives.Message, why *performatives.Refusal) {
	n := l.node
	switch {
	case m.Forwards() == 0:
	case why.Code == performatives.CodeDisconnected: // this node has no record of it, and it may have arrived
		n.system.RefuseWith(m.Receiver(), m, why)
		return
	default:
		n.system.RefuseCopy(m.Receiver(), m, why)
		return
	}
	if m.Performative().ExpectsReply() && l.refuseCopy(m, why) {
		return
	}
	n.system.DeadLetter(string(m.Receiver()), m, why.Code)
	if why.Code == performatives.CodeInvalidPayload {
		if s := l.substitute(m, why); s != nil {
			if l.guests {
				s = s.Readdressed(s.Sender(), s.Receiver().Name())
			}
			_ = l.out.Send(s) // the error is that the session has ended
		}
	}
}

// refuseCopy tells the sender of a request that a copy has not arrived. It reports false if the
// sender does not wait for a reply.
func (l *link) refuseCopy(m *performatives.Message, why *performatives.Refusal) bool {
	n, asker := l.node, l.node.partyOf(m.Sender())
	voice, recorded := n.records.refused(passage{message: m, from: asker, to: party{m.Receiver(), l}}, why.Code)
	switch {
	case recorded && asker.via != nil: // past the records, which have noted the refusal
		n.system.RecordRefusal(m, why)
		if refusal := m.RefuseCopy(voice, n.system.Stamp(), why); refusal != nil {
			n.deliverWithRetry([]*performatives.Message{refusal}, true)
		}
	case !recorded && why.Code == performatives.CodeDisconnected: // it may have arrived, and the conversation loses its peer now
		return false
	case recorded, n.system.Conversing(m.Sender(), m.ConversationID(), m.Receiver()):
		n.system.RefuseCopy(m.Receiver(), m, why)
	default:
		return false
	}
	return true
}

// substitute returns a FAILURE in place of a reply that cannot be encoded or is too long: the peer
// waits for one. It returns nil for a message that does not end a conversation.
func (l *link) substitute(m *performatives.Message, why *performatives.Refusal) *performatives.Message {
	switch m.Performative() { //nolint:exhaustive // these acts do not end a conversation
	case performatives.ActTaskAccept, performatives.ActAgree, performatives.ActStatusUpdate, performatives.ActFailure:
		return nil
	}
	if m.InReplyTo() == "" {
		return nil
	}
	s := l.node.system.Stamp()
	failure, err := performatives.New(performatives.Envelope{
		ID: s.ID, Timestamp: s.Time, Sender: m.Sender(), Receiver: m.Receiver(), ConversationID: m.ConversationID(),
		Protocol: m.Protocol(), InReplyTo: m.InReplyTo(), Priority: m.Priority(), Ontology: performatives.OntologyExecutionFailure,
		Payload: performatives.Failure{ErrorCode: performatives.CodeFailed, ErrorText: why.Text},
	})
	if err != nil {
		return nil
	}
	return failure
}

// sendEndings sends the last messages of ended records. At the stop of the node, it tries each
// message once, before it returns.
func (n *Node) sendEndings(all []ending, stopping bool) {
	if len(all) == 0 {
		return
	}
	send := func() {
		var messages []*performatives.Message
		for _, e := range all {
			messages = append(messages, e.messages(n, stopping)...)
		}
		n.deliverWithRetry(messages, stopping)
	}
	if stopping {
		send()
		return
	}
	n.system.Work(send)
}

// messages returns the last messages of a record: to the asker FAILURE, to the worker CANCEL.
func (e ending) messages(n *Node, stopping bool) (all []*performatives.Message) {
	if e.tellAsker && n.reaches(e.asker) {
		if m := e.asked.Refuse(e.voice, n.system.Stamp(), e.why.ErrorCode, e.why.ErrorText); m != nil {
			all = append(all, m)
		}
	}
	if e.tellWorker && n.reaches(e.worker) {
		reason := cmp.Or(e.why.ErrorText, e.why.ErrorCode.Traits().Text)
		if m, err := e.request.Follow(n.system.Stamp(), performatives.Cancel{Reason: reason}); err == nil { // the error is an invalid stamp
			if !stopping {
				n.records.withdrawn(e.record, m.ID())
			}
			all = append(all, m)
		}
	}
	return all
}

// reaches reports whether a party can be told anything: an agent of this process runs.
func (n *Node) reaches(p party) bool {
	if p.via != nil {
		return true
	}
	_, runs := n.system.Lookup(p.id)
	return runs
}

// busyRetryPeriod is the time for which deliverWithRetry retries while a mailbox is full.
const busyRetryPeriod = 10 * time.Second

// deliverWithRetry delivers messages made on behalf of an agent. It retries while a mailbox or an
// outbox is full, because the end of a session may produce more messages than one has room for.
func (n *Node) deliverWithRetry(messages []*performatives.Message, once bool) {
	for _, m := range messages {
		if events.Wants[events.MessageSent](n.Events()) {
			n.Events().Publish(events.MessageSent{At: events.At{Time: time.Now()}, Message: m})
		}
	}
	until := time.Now().Add(busyRetryPeriod)
	for wait := time.Millisecond; len(messages) > 0; wait = min(2*wait, 100*time.Millisecond) {
		messages = n.deliverAll(messages, !once && time.Now().Before(until))
		if len(messages) > 0 {
			room := time.NewTimer(wait)
			<-room.C
		}
	}
}

// deliverAll delivers the messages past the records, which have ended. If again is true, it returns
// those that were refused as busy, to be retried.
func (n *Node) deliverAll(messages []*performatives.Message, again bool) []*performatives.Message {
	var left []*performatives.Message
	for _, m := range messages {
		err := n.deliverEnding(m)
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

// deliverEnding delivers the last message of a record.
func (n *Node) deliverEnding(m *performatives.Message) error {
	if r, ok := n.system.Find(m.Receiver()); ok {
		if a, ok := r.Destination().(remote); ok {
			return a.via().out.Send(a.labelled(m))
		}
	} else if to := n.partyOf(m.Receiver()); to.via != nil {
		return to.via.out.Send(m)
	}
	return n.system.Deliver(m.Receiver(), m)
}

// onward routes a message of an agent of this process that has passed the chain. A routed request,
// its later messages and their replies pass the records. The records know the worker by both of its
// names.
func (n *Node) onward(m *performatives.Message, to performatives.AgentID, next actors.Router) error {
	as, worker := m.Receiver(), n.workerOf(m.Sender(), m, to)
	switch {
	case worker != "":
		n.routed.Store(true)
		p := passage{message: m.Readdressed(m.Sender(), worker), from: n.partyOf(m.Sender()), to: n.partyOf(worker), as: as}
		if err := n.pass(p, next.Route); err != nil {
			r := *asRefusal(err)
			r.From = as
			return &r
		}
		return nil
	case n.routed.Load() && m.Receiver() != "":
		if to := n.partyOf(m.Receiver()); to.via == nil && n.records.voiced(m) { // else the link renames it
			return n.pass(passage{message: m, from: party{id: m.Sender()}, to: to}, next.Route)
		}
	}
	return next.Route(m)
}

// workerOf returns the agent that a message was routed to, which is to if the chain has done so, or that an earlier message of its
// conversation was. It is empty for any other.
func (n *Node) workerOf(asker performatives.AgentID, m *performatives.Message, to performatives.AgentID) performatives.AgentID {
	if !n.routed.Load() && to == "" {
		return ""
	}
	if worker, ok := n.records.aliased(asker, m); ok {
		return worker
	}
	return to
}
