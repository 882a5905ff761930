package actors

import (
	goruntime "runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// systemMessage is a message of the engine's in a mailbox.
type systemMessage struct {
	next    *systemMessage
	message any
}

// closeMailbox is the system message of [Mailbox.Close].
type closeMailbox struct{}

// queueing is a dispatcher with a queue: a mailbox that has used up its
// throughput goes to the end of it, if something waits there. Any other
// dispatcher may run at once what it is given.
type queueing interface {
	waiting() bool
}

// expressing is a dispatcher whose queue has an express lane: what is scheduled there
// comes before what waits in the queue, but does not starve it.
type expressing interface {
	ScheduleFirst(fn func())
}

// outcome is why serving ended.
type outcome uint8

const (
	outcomeFailed  outcome = iota // a handler panicked
	outcomeDrained                // there is nothing to serve
	outcomeSpent                  // the throughput is used up
)

func (m *Mailbox) serveOrdinary() { m.serveScheduled(wordOrdinary) }

func (m *Mailbox) serveExpress() { m.serveScheduled(wordExpress) }

// serveScheduled serves, unless a consumer that was scheduled in the other lane has
// come first.
func (m *Mailbox) serveScheduled(lane uint32) {
	if m.word.And(^(wordQueued|lane))&wordQueued != 0 {
		m.serveAll()
	}
}

// serveAll serves until nothing is left or the throughput is used up. It runs on
// the dispatcher, and only while it holds wordRunning.
func (m *Mailbox) serveAll() {
	for {
		switch m.serve() {
		case outcomeDrained:
			if m.stopped && !m.drained {
				m.drain()
			}
			if m.rest() {
				return
			}
		case outcomeSpent:
			if m.giveWay() {
				return
			}
		case outcomeFailed: // the supervisor has been told, and may have suspended it
		}
	}
}

// drain is the end of a mailbox: nothing is left in it, and nothing will be.
func (m *Mailbox) drain() {
	m.drained = true
	for i := range m.bands {
		if b := m.bands[i].Load(); b != closedBand {
			b.release()
		}
	}
	if m.config.onDrained != nil {
		m.config.onDrained(m.invoker)
	}
}

// giveWay lets other mailboxes have their turn, and reports whether this one has
// been scheduled for its next.
func (m *Mailbox) giveWay() bool {
	q, ok := m.dispatcher.(queueing)
	if !ok {
		goruntime.Gosched()
		return false
	}
	if !q.waiting() {
		return false
	}
	m.again()
	return true
}

// again schedules another turn of the consumer that runs.
func (m *Mailbox) again() {
	m.dispatch(wordOrdinary, m.word.Or(wordQueued|wordOrdinary))
}

// rest gives up wordRunning, unless something to serve has come.
func (m *Mailbox) rest() bool {
	for {
		w := m.word.Load()
		if runnable(w) {
			return false
		}
		if m.word.CompareAndSwap(w, w&^wordRunning) {
			return true
		}
	}
}

// serve handles up to the dispatcher's throughput of messages.
func (m *Mailbox) serve() (end outcome) {
	var message any
	defer func() {
		if end == outcomeFailed {
			m.fail(recover(), message)
		}
	}()
	for n := max(1, m.dispatcher.Throughput()); ; n-- {
		w := m.word.Load()
		if w&wordSystem != 0 || m.pending != nil {
			message = m.nextSystem()
			m.serveSystem(message)
			continue
		}
		waiting := m.turns.claimed | uint8(w&wordBands)
		if waiting == 0 || w&wordSuspended != 0 {
			return outcomeDrained
		}
		if n <= 0 {
			return outcomeSpent
		}
		var ok bool
		if message, ok = m.take(m.turns.next(waiting)); ok {
			m.deliver(message)
		}
	}
}

// deliver handles a message, or refuses it when the actor has stopped.
func (m *Mailbox) deliver(message any) {
	if m.stopped {
		m.refuse(message, ReasonStopped)
		return
	}
	m.invoker.InvokeUserMessage(message)
}

// take returns the next message of a band, and false when the band turns out to
// be empty: its bit may be set by someone whose message was claimed already.
func (m *Mailbox) take(i int) (any, bool) {
	b := m.bands[i].Load()
	bit := uint8(1) << i
	if m.turns.claimed&bit == 0 {
		m.word.And(^uint32(bit))
		if !b.claim() {
			return nil, false
		}
		m.turns.claimed |= bit
	}
	message := b.pop(m.config.step)
	if b.left == 0 {
		m.turns.claimed &^= bit
	}
	m.lighten(message)
	return message, true
}

// nextSystem returns the oldest system message, or nil.
func (m *Mailbox) nextSystem() any {
	if m.pending == nil {
		m.word.And(^uint32(wordSystem))
		for s := m.system.Swap(nil); s != nil; {
			s.next, m.pending, s = m.pending, s, s.next
		}
	}
	s := m.pending
	if s == nil {
		return nil
	}
	m.pending = s.next
	return s.message
}

// serveSystem handles a system message.
func (m *Mailbox) serveSystem(message any) {
	switch message.(type) {
	case nil: // the bit was late, the message has been served
	case *actor.SuspendMailbox:
		if !m.stopped { // what it holds is still to be refused
			m.word.Or(wordSuspended)
		}
	case *actor.ResumeMailbox:
		m.word.And(^uint32(wordSuspended))
	case closeMailbox:
		m.stop()
	default:
		m.serveLifecycle(message)
	}
}

// fail reports a handler's panic, or its runtime.Goexit when value is nil, to
// the supervisor.
func (m *Mailbox) fail(value any, message any) {
	if value == nil {
		value = errGoexit
		// The goroutine is ending: another has to serve the rest.
		defer m.again()
	}
	if m.stopped {
		return // it was OnRefuse that panicked
	}
	m.invoker.EscalateFailure(panicError(value), message)
	if m.stopping {
		m.finishStop(message)
	}
}
