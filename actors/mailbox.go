package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Mailbox is the queue of an actor: four bounded bands of priority. It implements
// [actor.Mailbox].
//
// System messages are served first, then the highest band that is not empty. But of any 64 messages
// served while a band is not empty, at least one is from that band. Within a band, messages of one
// sender keep their order.
//
// The Priority method of a message selects its band, also inside an envelope. A message
// without that method is Normal. A PoisonPill goes to the end of the lowest band, so that
// messages queued before it are handled first. If the higher bands never become empty,
// the PoisonPill is still served in the share of its band, and the remaining messages are
// refused.
//
// The engine's ReenterAfter and Stash bypass the bands: a continuation is a system
// message, which overtakes urgent messages, and a stashed message loses its sender and
// its order. This package does not offer either to agents.
//
// Each message that is not handled goes to OnRefuse exactly once. It is refused because
// its band is full, because the limit of long messages is reached, or because the actor
// has stopped. A handler that panics fails its actor with a [*PanicError]; the queued
// messages stay.
//
// All methods may be called from any goroutine, and none blocks.
type Mailbox struct {
	// Fields that producers read, and seldom write.
	state      atomic.Uint32 // see stateBands
	longQueued atomic.Int32  // KiB of queued long messages
	config     *mailboxConfig
	bands      [performatives.Bands]atomic.Pointer[band] // nil until the first message
	system     atomic.Pointer[systemMessage]             // newest first
	order      uint64                                    // of its turns in a simulation

	// Fields that only the consumer writes: the goroutine that holds stateRunning. Producers may read
	// turns and express after Start.
	invoker   actor.MessageInvoker
	turns     turns
	pending   *systemMessage // system messages taken from system, oldest first
	process   *actor.ActorProcess
	scheduler bandScheduler
	express   bool // the dispatcher has an express queue
	stopping  bool // the actor has received Stop
	stopped   bool // the remaining messages are to be refused
	drained   bool // all messages have been served or refused
}

var _ actor.Mailbox = (*Mailbox)(nil)

// The bits of Mailbox.state. The lowest bits are one per band, set when the band may have
// messages that the consumer has not claimed.
const (
	stateBands     = 1<<performatives.Bands - 1
	stateSystem    = 1 << (performatives.Bands + iota - 1) // system is not empty
	stateSuspended                                         // messages of the bands are not served
	stateRunning                                           // a consumer runs or is scheduled
	stateQueued                                            // a consumer is scheduled and has not begun
	stateOrdinary                                          // the ordinary queue of the dispatcher has an entry for the mailbox, perhaps of an earlier turn
	stateExpress                                           // the express queue has an entry for the mailbox, perhaps of an earlier turn
	stateStarted                                           // Start was called
	stateProbed                                            // set from outside while the consumer runs, which clears it before its next message
)

// NewMailbox returns a mailbox. It panics on invalid options. For many actors with the
// same options, use [MailboxProducer].
func NewMailbox(o MailboxOptions) *Mailbox { return newMailbox(newMailboxConfig(o)) }

// MailboxProducer returns a producer of mailboxes that share their options. It panics on
// invalid options.
func MailboxProducer(o MailboxOptions) actor.MailboxProducer {
	config := newMailboxConfig(o)
	return func() actor.Mailbox { return newMailbox(config) }
}

func newMailbox(config *mailboxConfig) *Mailbox {
	m := &Mailbox{config: config}
	// A consumer must not run before Start: protoactor registers an actor before it sets
	// the mailbox's invoker.
	m.state.Store(stateRunning)
	return m
}

// Post queues message like PostUserMessage, but returns [ErrMailboxFull] or [ErrStopped]
// for a message that it does not accept, instead of calling OnRefuse. The items of a
// batch are separate messages: refused items go to OnRefuse, and Post returns nil.
func (m *Mailbox) Post(message any) error { return m.post(message, 0).Err() }

// PostUserMessage queues message in its band, or refuses it. A batch is split: its items
// are queued one by one, with the sender of the batch.
func (m *Mailbox) PostUserMessage(message any) {
	if reason := m.post(message, 0); reason != 0 {
		m.refuse(message, reason)
	}
}

// PostSystemMessage queues a system message of the engine, ahead of all bands.
func (m *Mailbox) PostSystemMessage(message any) {
	s := &systemMessage{message: message}
	for {
		s.next = m.system.Load()
		if m.system.CompareAndSwap(s.next, s) {
			break
		}
	}
	m.wake(stateSystem, false)
}

// RegisterHandlers sets the invoker, which handles messages, and the dispatcher, which
// runs the mailbox. The engine calls it once, before Start.
func (m *Mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.invoker, m.process = invoker, processOf(invoker)
	m.turns, m.express = turnsOn(dispatcher)
	switch t := m.turns.(type) {
	case *Sim:
		m.order = t.source()
	case *otherTurns:
		t.run = func() { m.run(false) } // allocated once
	}
}

// Start begins to serve messages, including those posted before it.
func (m *Mailbox) Start() {
	m.state.Or(stateStarted)
	m.state.And(^uint32(stateRunning))
	m.wake(0, false)
}

// Close makes the mailbox refuse all queued and all later messages with [ReasonStopped],
// as when its actor stops. It does not stop the actor, and returns before the messages
// are refused. Closing again has no effect.
func (m *Mailbox) Close() { m.PostSystemMessage(closeMailbox{}) }

// UserMessageCount returns the number of queued messages of all bands. While messages are
// being handled, the count may be up to 63 too high for each band.
func (m *Mailbox) UserMessageCount() int {
	n := 0
	for b := range m.bands {
		n += m.lenBand(b)
	}
	return n
}

// Len returns the number of queued messages of priority p, with the precision of
// UserMessageCount.
func (m *Mailbox) Len(p performatives.Priority) int { return m.lenBand(p.Band()) }

func (m *Mailbox) lenBand(i int) int {
	b := m.bands[i].Load()
	if b == nil {
		return 0
	}
	return b.len()
}

// Control is a message that is exempt from the bounds of a mailbox. Its sender must limit
// the number of such messages, for example to one for each thing that was begun. It is
// meant for messages whose loss would leave an operation unfinished.
type Control interface{ Control() }

// prioritized is a message that selects its band.
type prioritized interface {
	Priority() performatives.Priority
}

// posting says where a message goes in a mailbox.
type posting struct {
	band     int
	until    bound // the band is full for the message
	ordinary bool  // it does not move the mailbox to the express queue of the dispatcher
}

// post queues message, or returns the reason why it cannot. Its band has that much room beyond the
// capacity. The commands of the agent itself leave the mailbox in the ordinary queue of the
// dispatcher, except begin: they use the urgent band only to overtake messages of the same mailbox.
func (m *Mailbox) post(message any, room int32) Reason {
	at := posting{band: performatives.Normal.Band(), until: bounded}
	content := message
	envelope, ok := message.(*actor.MessageEnvelope)
	if ok {
		content = envelope.Message
	}
	switch c := content.(type) {
	case *performatives.Message:
		at.band, at.until = c.Priority().Band(), timely
		if c.Weight() > 0 && !ok {
			return m.pushLong(c, at)
		}
	case *begin:
		at.band, at.until = c.Priority().Band(), timely
	case *end, *alias, *redelivery, *conversationFailed, *retire: // see command
		at = posting{performatives.Urgent.Band(), unbounded, true}
	case *actor.PoisonPill:
		at.band, at.until = performatives.Low.Band(), unbounded
	case prioritized:
		at.band = c.Priority().Band()
		if _, ok := content.(Control); ok {
			at.until = unbounded
		}
		if at.band == performatives.Urgent.Band() {
			_, at.ordinary = content.(command)
		}
	case Control:
		at.until = unbounded
	case actor.MessageBatch:
		m.postBatch(c, envelope)
		return 0
	}
	return m.push(message, at, m.config.capacity+room)
}

// postBatch posts each item of batch, in the envelope of the batch.
func (m *Mailbox) postBatch(batch actor.MessageBatch, envelope *actor.MessageEnvelope) {
	for _, item := range batch.GetMessages() {
		if _, wrapped := item.(*actor.MessageEnvelope); envelope != nil && !wrapped {
			item = &actor.MessageEnvelope{Header: envelope.Header, Message: item, Sender: envelope.Sender}
		}
		m.PostUserMessage(item)
	}
}

// push queues message as at says, in a band of that capacity.
func (m *Mailbox) push(message any, at posting, capacity int32) Reason {
	b := m.bands[at.band].Load()
	if b == nil {
		b = m.newBand(at.band)
	}
	reason := b.push(message, capacity, at.until)
	if reason == ReasonFull && m.state.Load()&stateStarted == 0 {
		// Before Start the invoker that refusals need is unknown.
		reason = b.push(message, capacity, unbounded)
	}
	if reason != 0 {
		return reason
	}
	m.wake(1<<at.band, at.band == performatives.Urgent.Band() && !at.ordinary)
	return 0
}

func (m *Mailbox) newBand(i int) *band {
	b := new(band)
	if m.bands[i].CompareAndSwap(nil, b) {
		return b
	}
	return m.bands[i].Load()
}

// wake sets the bit of a queued message, and schedules a consumer if there is a message to serve
// and none runs or is scheduled. The consumer clears a band's bit before it takes the band's queue.
// A producer that appends afterwards finds the bit clear and sets it again. Invariant: each queue
// of the dispatcher holds at most one entry per mailbox.
func (m *Mailbox) wake(bit uint32, express bool) {
	w := m.state.Load()
	if w&bit == 0 {
		w = m.state.Or(bit) | bit
	}
	express = express && w&stateStarted != 0 && m.express // before Start the engine may be setting it
	lane := uint32(stateOrdinary)
	if express {
		lane = stateExpress
	}
	for ; w&stateRunning == 0; w = m.state.Load() {
		if !runnable(w) {
			return
		}
		if !m.state.CompareAndSwap(w, w|stateRunning|stateQueued|lane) {
			continue
		}
		if w&lane == 0 { // else an entry of an earlier turn serves
			m.turns.schedule(m, express, m.order)
		}
		return
	}
	if express { // it is scheduled perhaps in the ordinary queue
		m.expedite()
	}
}

// expedite moves a scheduled consumer ahead: it schedules the consumer a second time, in
// the express queue. The first of the two entries to run serves the messages.
func (m *Mailbox) expedite() {
	for {
		w := m.state.Load()
		if w&stateQueued == 0 || w&stateExpress != 0 {
			return
		}
		if m.state.CompareAndSwap(w, w|stateExpress) {
			m.turns.schedule(m, true, m.order)
			return
		}
	}
}

// runnable reports whether a mailbox in state w has a message to serve, apart from the messages
// that its consumer has claimed.
func runnable(w uint32) bool {
	return w&stateSystem != 0 || w&stateSuspended == 0 && w&stateBands != 0
}

// refuse passes a message that will not be handled to OnRefuse, or else to answerRefused.
func (m *Mailbox) refuse(message any, reason Reason) {
	if m.config.onRefuse != nil {
		m.config.onRefuse(message, reason)
		return
	}
	m.answerRefused(message, reason)
}

// answerRefused sends a [*MailboxRefusal] to the sender. A message without a sender goes to the
// dead letters.
func (m *Mailbox) answerRefused(message any, reason Reason) {
	c, ok := m.invoker.(actor.Context)
	if !ok {
		return
	}
	_, content, sender := actor.UnwrapEnvelope(message)
	if sender != nil {
		c.ActorSystem().Root.Send(sender, &MailboxRefusal{Message: content, Reason: reason})
		return
	}
	c.ActorSystem().DeadLetter.SendUserMessage(c.Self(), content)
}
