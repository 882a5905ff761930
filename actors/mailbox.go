package actors

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Mailbox is an actor's queue: four bands of priority, each of them bounded.
// It implements [actor.Mailbox].
//
// System messages come first. Then the highest band that has a message comes
// first, except that of any 64 messages served while a band waits, at least one
// is of that band. Within a band, messages of one sender keep their order.
//
// The band is that of the message's Priority method, also when the message is in
// an envelope; what has no such method is Normal. A PoisonPill goes to the end of
// the lowest band, so that what is queued is handled first. If the higher bands
// never let the lowest be empty, it has its turn there all the same, and what is
// left is refused.
//
// The engine's ReenterAfter and Stash go past the bands: a continuation is a
// system message and overtakes what is urgent, and a stashed message loses its
// sender and its order. Agents are offered neither.
//
// A message that is not handled goes to OnRefuse, exactly once: because its band
// is full, because there is no room for one so long, or because the actor has
// stopped. A handler that panics fails its
// actor with a [*PanicError]; the messages behind it stay where they are.
//
// All methods may be called by any goroutine, and none blocks.
type Mailbox struct {
	// What producers read, and seldom write.
	word   atomic.Uint32 // see wordBand
	long   atomic.Int32  // what is queued of long messages, see units
	config *mailboxConfig
	bands  [performatives.Bands]atomic.Pointer[band] // nil until the first message
	system atomic.Pointer[systemMessage]             // newest first
	run    func()                                    // process, bound once

	// What the consumer writes: the goroutine that holds wordRunning.
	invoker    actor.MessageInvoker
	dispatcher actor.Dispatcher
	pending    *systemMessage // taken from system, oldest first
	process    *actor.ActorProcess
	turns      turns
	stopping   bool // the actor was told to stop
	stopped    bool // refuse what is left
	drained    bool // nothing is left
}

var _ actor.Mailbox = (*Mailbox)(nil)

// The bits of Mailbox.word. The low bits are one per band: set when the band may
// have messages that the consumer has not claimed.
const (
	wordBands     = 1<<performatives.Bands - 1
	wordSystem    = 1 << (performatives.Bands + iota - 1) // system is not empty
	wordSuspended                                         // the bands are masked
	wordRunning                                           // someone serves, or is scheduled to
	wordQueued                                            // someone is scheduled to, and has not begun
	wordOrdinary                                          // the dispatcher's queue has it, if only for a turn that is over
	wordExpress                                           // its express lane has it, likewise
	wordStarted                                           // Start was called
)

// NewMailbox returns a mailbox of its own options. It panics on options that
// cannot be. To give many actors the same options, use [MailboxProducer].
func NewMailbox(o MailboxOptions) *Mailbox { return newMailbox(newMailboxConfig(o)) }

// MailboxProducer returns a producer of mailboxes that share their options. It
// panics on options that cannot be.
func MailboxProducer(o MailboxOptions) actor.MailboxProducer {
	config := newMailboxConfig(o)
	return func() actor.Mailbox { return newMailbox(config) }
}

func newMailbox(config *mailboxConfig) *Mailbox {
	m := &Mailbox{config: config}
	m.run = m.serveOrdinary
	// Until Start nobody may serve: protoactor registers an actor before its
	// mailbox knows its invoker.
	m.word.Store(wordRunning)
	return m
}

// Post queues message like PostUserMessage, but returns [ErrMailboxFull] or
// [ErrStopped] for a message that it does not accept, and leaves its refusal to
// the caller. The items of a batch are messages of their own: those that are not
// accepted go to OnRefuse, and Post returns nil.
func (m *Mailbox) Post(message any) error { return m.post(message).Err() }

// PostUserMessage queues message in its band, or refuses it. A batch is taken
// apart: its items are queued, with its sender, and it is not.
func (m *Mailbox) PostUserMessage(message any) {
	if reason := m.post(message); reason != 0 {
		m.refuse(message, reason)
	}
}

// PostSystemMessage queues a message of the engine's, ahead of all bands.
func (m *Mailbox) PostSystemMessage(message any) {
	s := &systemMessage{message: message}
	for {
		s.next = m.system.Load()
		if m.system.CompareAndSwap(s.next, s) {
			break
		}
	}
	m.wake(wordSystem, false)
}

// RegisterHandlers tells the mailbox whom it serves and where. The engine calls
// it once, before Start.
func (m *Mailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.invoker, m.dispatcher = invoker, dispatcher
	if sim, ok := dispatcher.(*Sim); ok {
		m.dispatcher = sim.dispatcher()
	}
	m.process = processOf(invoker)
}

// Start lets the mailbox serve. What was posted before it has waited.
func (m *Mailbox) Start() {
	m.word.Or(wordStarted)
	m.word.And(^uint32(wordRunning))
	m.schedule(false)
}

// Close has the mailbox refuse what is queued, and everything posted later, with
// [ReasonStopped], as it does when its actor stops. It does not stop the actor,
// and returns before anything is refused. Closing again has no effect.
func (m *Mailbox) Close() { m.PostSystemMessage(closeMailbox{}) }

// UserMessageCount returns the number of queued messages, of all bands. While
// messages are being handled, it may count up to 63 too many in each band.
func (m *Mailbox) UserMessageCount() int {
	n := 0
	for b := range m.bands {
		n += m.lenBand(b)
	}
	return n
}

// Len returns the number of queued messages of priority p, as exactly as
// UserMessageCount.
func (m *Mailbox) Len(p performatives.Priority) int { return m.lenBand(p.Band()) }

func (m *Mailbox) lenBand(i int) int {
	b := m.bands[i].Load()
	if b == nil {
		return 0
	}
	return b.len()
}

// Control is a message that the bounds of a mailbox do not apply to. Whoever
// sends it promises that there are only a few at a time, such as one for each
// thing that was begun, and that losing one would leave something hanging.
type Control interface{ Control() }

// prioritized is what a message says its band by.
type prioritized interface {
	Priority() performatives.Priority
}

// post queues message, or returns why not.
func (m *Mailbox) post(message any) Reason {
	content := message
	envelope, ok := message.(*actor.MessageEnvelope)
	if ok {
		content = envelope.Message
	}
	switch c := content.(type) {
	case *performatives.Message:
		if c.Weight() > 0 && !ok {
			return m.pushLong(c, c.Priority().Band())
		}
		return m.push(message, c.Priority().Band(), false)
	case *actor.PoisonPill:
		return m.push(message, performatives.Low.Band(), true)
	case prioritized:
		_, exempt := content.(Control)
		return m.push(message, c.Priority().Band(), exempt)
	case Control:
		return m.push(message, performatives.Normal.Band(), true)
	case actor.MessageBatch:
		m.postBatch(c, envelope)
		return 0
	}
	return m.push(message, performatives.Normal.Band(), false)
}

// postBatch posts each item of batch, in the envelope that the batch had.
func (m *Mailbox) postBatch(batch actor.MessageBatch, envelope *actor.MessageEnvelope) {
	for _, item := range batch.GetMessages() {
		if _, wrapped := item.(*actor.MessageEnvelope); envelope != nil && !wrapped {
			item = &actor.MessageEnvelope{Header: envelope.Header, Message: item, Sender: envelope.Sender}
		}
		m.PostUserMessage(item)
	}
}

func (m *Mailbox) push(message any, i int, exempt bool) Reason {
	b := m.bands[i].Load()
	if b == nil {
		b = m.newBand(i)
	}
	reason := b.push(message, m.config.capacity, exempt)
	if reason == ReasonFull && m.word.Load()&wordStarted == 0 {
		// Nobody knows yet in whose name to refuse.
		reason = b.push(message, m.config.capacity, true)
	}
	if reason != 0 {
		return reason
	}
	m.wake(1<<i, expressly(i, message))
	return 0
}

// expressly reports whether a message of a band is to be served before other mailboxes
// are. An agent's own commands are not, but for the beginning of a conversation:
// they are in that band only to overtake messages.
func expressly(i int, message any) bool {
	if i != performatives.Urgent.Band() {
		return false
	}
	switch message.(type) {
	case *begin:
		return true
	case command:
		return false
	}
	return true
}

func (m *Mailbox) newBand(i int) *band {
	b := new(band)
	if m.bands[i].CompareAndSwap(nil, b) {
		return b
	}
	return m.bands[i].Load()
}

// wake announces a message that has been queued. The consumer clears a band's
// bit before it empties the band, so that whoever queues later sees it clear.
func (m *Mailbox) wake(bit uint32, express bool) {
	w := m.word.Load()
	if w&bit == 0 {
		w = m.word.Or(bit) | bit
	}
	switch {
	case w&wordRunning == 0:
		m.schedule(express)
	case express && w&wordQueued != 0:
		m.hurry()
	}
}

// schedule starts a consumer if there is something to serve and none runs.
func (m *Mailbox) schedule(express bool) {
	lane := m.lane(express)
	for {
		w := m.word.Load()
		switch {
		case w&wordRunning != 0:
			if express { // someone else was faster, and may not be in a hurry
				m.hurry()
			}
			return
		case !runnable(w):
			return
		}
		if m.word.CompareAndSwap(w, w|wordRunning|wordQueued|lane) {
			m.dispatch(lane, w)
			return
		}
	}
}

// hurry has a consumer that waits for its turn come before others: it is scheduled
// a second time, and whichever comes first serves.
func (m *Mailbox) hurry() {
	if m.lane(true) != wordExpress {
		return
	}
	for {
		w := m.word.Load()
		if w&wordQueued == 0 || w&wordExpress != 0 {
			return
		}
		if m.word.CompareAndSwap(w, w|wordExpress) {
			m.dispatch(wordExpress, w)
			return
		}
	}
}

// lane returns the bit of where the mailbox is scheduled.
func (m *Mailbox) lane(express bool) uint32 {
	if _, ok := m.dispatcher.(expressing); ok && express {
		return wordExpress
	}
	return wordOrdinary
}

// dispatch schedules a consumer in a lane, unless before, with word w, an entry of an
// earlier turn was still there, which the other lane overtook: that one serves. So no
// lane ever has more than one, however long it is.
func (m *Mailbox) dispatch(lane, w uint32) {
	switch {
	case w&lane != 0:
	case lane == wordExpress:
		m.dispatcher.(expressing).ScheduleFirst(m.serveExpress)
	default:
		m.dispatcher.Schedule(m.run)
	}
}

// runnable reports whether a mailbox of word w, and without a claim, has
// something to serve.
func runnable(w uint32) bool {
	return w&wordSystem != 0 || w&wordSuspended == 0 && w&wordBands != 0
}

// refuse hands message, which will not be handled, to the owner.
func (m *Mailbox) refuse(message any, reason Reason) {
	if m.config.onRefuse != nil {
		m.config.onRefuse(message, reason)
		return
	}
	m.answerRefused(message, reason)
}

// answerRefused tells the sender, or else the dead letters.
func (m *Mailbox) answerRefused(message any, reason Reason) {
	c, ok := m.invoker.(actor.Context)
	if !ok {
		return
	}
	_, content, sender := actor.UnwrapEnvelope(message)
	if sender != nil {
		c.ActorSystem().Root.Send(sender, &Refused{Message: content, Reason: reason})
		return
	}
	c.ActorSystem().DeadLetter.SendUserMessage(c.Self(), content)
}
