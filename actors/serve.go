package actors

import "github.com/asynkron/protoactor-go/actor"

// systemMessage is a system message of the engine in a mailbox, an element of a linked
// list.
type systemMessage struct {
	next    *systemMessage
	message any
}

// closeMailbox is the system message sent by [Mailbox.Close].
type closeMailbox struct{}

// serveResult is the reason why serve returned.
type serveResult uint8

const (
	serveFailed  serveResult = iota // a handler panicked
	serveDrained                    // no message to serve
	serveSpent                      // the throughput is used up
)

// run serves messages until none is left or the mailbox yields, unless the consumer in the other
// queue has begun first. It runs on the dispatcher, and serves only while the mailbox holds
// stateRunning.
func (m *Mailbox) run(express bool) {
	lane := uint32(stateOrdinary)
	if express {
		lane = stateExpress
	}
	if m.state.And(^(stateQueued|lane))&stateQueued == 0 {
		return
	}
	for {
		switch m.serve() {
		case serveDrained:
			if m.stopped && !m.drained {
				m.drain()
			}
			if m.goIdle() {
				return
			}
		case serveSpent:
			if m.yield() {
				return
			}
		case serveFailed: // the supervisor has the failure, and may have suspended the mailbox
		}
	}
}

// drain releases the queues of a stopped mailbox after its last message.
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

// yield lets other mailboxes have their turn. It reports whether this mailbox is
// scheduled for another turn, so that the current one must end.
func (m *Mailbox) yield() bool {
	if !m.turns.waiting() {
		return false
	}
	m.reschedule()
	return true
}

// reschedule schedules another turn of the running consumer.
func (m *Mailbox) reschedule() {
	if m.state.Or(stateQueued|stateOrdinary)&stateOrdinary == 0 { // else an entry of an earlier turn serves
		m.turns.schedule(m, false, m.order)
	}
}

// goIdle clears stateRunning. It reports false when there is a message to serve.
func (m *Mailbox) goIdle() bool {
	for {
		w := m.state.Load()
		if runnable(w) {
			return false
		}
		if m.state.CompareAndSwap(w, w&^(stateRunning|stateProbed)) {
			return true
		}
	}
}

// serve handles messages, up to the dispatcher's throughput.
func (m *Mailbox) serve() (end serveResult) {
	var message any
	defer func() {
		if end == serveFailed {
			m.fail(recover(), message)
		}
	}()
	for n := max(1, m.turns.Throughput()); ; n-- {
		w := m.state.Load()
		if w&(stateSystem|stateProbed) != 0 || m.pending != nil {
			m.state.And(^uint32(stateProbed))
			message = m.nextSystem() // nil for a probe alone
			m.serveSystem(message)
			continue
		}
		waiting := m.scheduler.claimed | uint8(w&stateBands)
		if waiting == 0 || w&stateSuspended != 0 {
			return serveDrained
		}
		if n <= 0 {
			return serveSpent
		}
		var ok bool
		switch message, ok = m.take(m.scheduler.next(waiting)); {
		case !ok:
		case m.stopped:
			m.refuse(message, ReasonStopped)
		default:
			m.invoker.InvokeUserMessage(message)
		}
	}
}

// take returns the next message of band i. It reports false when the band is empty: a
// producer may set the bit after its message was claimed.
func (m *Mailbox) take(i int) (any, bool) {
	b := m.bands[i].Load()
	bit := uint8(1) << i
	if m.scheduler.claimed&bit == 0 {
		m.state.And(^uint32(bit))
		if !b.claim() {
			return nil, false
		}
		m.scheduler.claimed |= bit
	}
	message := b.pop(m.config.step)
	if b.remaining == 0 {
		m.scheduler.claimed &^= bit
	}
	if long := longOf(message); long > 0 {
		m.longQueued.Add(-long)
	}
	return message, true
}

// nextSystem returns the oldest system message, or nil.
func (m *Mailbox) nextSystem() any {
	if m.pending == nil {
		m.state.And(^uint32(stateSystem))
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
	case nil: // the bit was set after the message was served
	case *actor.SuspendMailbox:
		if !m.stopped { // a stopped mailbox still has to refuse its messages
			m.state.Or(stateSuspended)
		}
	case *actor.ResumeMailbox:
		m.state.And(^uint32(stateSuspended))
	case closeMailbox:
		m.stop()
	default:
		m.serveLifecycle(message)
	}
}

// fail reports a handler's panic to the supervisor. A nil value means runtime.Goexit.
func (m *Mailbox) fail(value any, message any) {
	if value == nil {
		value = errGoexit
		// The goroutine ends. Another one must serve the remaining messages.
		defer m.reschedule()
	}
	if m.stopped {
		return // OnRefuse panicked
	}
	m.invoker.EscalateFailure(panicError(value), message)
	if m.stopping {
		m.finishStop(message)
	}
}
