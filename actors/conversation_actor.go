package actors

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ConversationActor is the actor of one conversation: its mailbox, its turns on the
// dispatcher, and its supervision. A [Conversation] has it as a field, so that the
// conversation and its actor are one allocation. The engine has no process for it: its
// address is the agent and the [Key].
//
// It keeps the rules of an agent's [Mailbox]: bands, bounds, the express queue and the
// dispatcher's throughput. It has no restarts: an actor that fails is stopped.
//
// The zero value is an actor that no agent has opened. All methods may be called from any
// goroutine. It must not be copied once an agent has opened it.
type ConversationActor struct {
	// Set by open, and constant afterwards.
	cell         *cell
	conversation Conversation
	order        uint64 // of its turns in a simulation

	peer *Registration // the entry of the peer when it was last looked up; nil: none. Set before open, and then by its turns

	// The commands of the beginning and the end, and the agent's record in between.
	begin begin
	end   end
	entry entry

	mu    sync.Mutex
	flags actorFlags // guarded by mu
	queue conversationQueue
}

// actorFlags is the state of a [ConversationActor].
type actorFlags uint16

const (
	flagOpen     actorFlags = 1 << iota // an agent has opened it
	flagRunning                         // a turn runs or is scheduled
	flagQueued                          // a turn is scheduled and has not begun
	flagOrdinary                        // the ordinary queue of the dispatcher has an entry for it, perhaps of an earlier turn
	flagExpress                         // the express queue has an entry for it, perhaps of an earlier turn
	flagStarted                         // Start was called, or it was stopped before
	flagStop                            // it is to be stopped
	flagStopped                         // Stop was called
	flagFailed                          // a call of the conversation has panicked
	flagClosed                          // it has ended: it takes no more messages
	flagFinished                        // its last turn is over
	flagReceived                        // Receive was called
)

// Tell queues a message that the conversation sends to itself, or that its caller or its
// handlers send. It never blocks. The Priority method of the message selects its band; a
// message without that method is Normal. The message is exempt from the bounds of the
// mailbox, so its sender must limit the number of such messages. A message before the
// conversation has begun, or after its end, is dropped.
func (a *ConversationActor) Tell(message any) {
	band := performatives.Normal.Band()
	if p, ok := message.(prioritized); ok {
		band = p.Priority().Band()
	}
	a.post(message, band, true)
}

// Send is [Self.Send] for a message of the conversation, which is open. It looks the receiver up
// in the directory only if that has another entry of it since the last message. Only the turns of
// the conversation call it.
func (a *ConversationActor) Send(m *performatives.Message) (err error) {
	a.peer, err = Self{a.cell}.sendTo(a.peer, m)
	return err
}

// deliver queues a message of the peer. The agent gets a message back that comes after the
// end of the conversation. One that exceeds a bound is refused to its sender.
func (a *ConversationActor) deliver(m *performatives.Message) {
	switch a.post(m, m.Priority().Band(), false) {
	case ReasonStopped:
		Self{a.cell}.Return(m)
	case ReasonFull:
		a.cell.sys.RefuseCopy(m.Receiver(), m, &performatives.Refusal{Code: performatives.CodeBusy})
	}
}

// post queues a message in a band and schedules a turn, or returns the reason why it cannot.
func (a *ConversationActor) post(message any, band int, exempt bool) Reason {
	a.mu.Lock()
	if a.flags&(flagOpen|flagClosed) != flagOpen {
		a.mu.Unlock()
		return ReasonStopped
	}
	if !a.queue.push(message, band, exempt, a.cell.sys.mailbox) {
		a.mu.Unlock()
		return ReasonFull
	}
	a.scheduleAndUnlock(band == performatives.Urgent.Band())
	return 0
}

// open makes the actor one of c's and schedules its first turn. The arguments are those of
// [cell.open].
func (a *ConversationActor) open(c *cell, conversation Conversation, first *performatives.Message, priority performatives.Priority) {
	a.cell, a.conversation = c, conversation
	if c.sys.sim != nil {
		a.order = c.sys.sim.source()
	}
	c.live.Add(1)
	a.mu.Lock()
	a.flags |= flagOpen
	if first != nil {
		a.queue.push(first, priority.Band(), false, c.sys.mailbox)
	}
	a.scheduleAndUnlock(priority == performatives.Urgent)
}

// requestStop has the actor stop before any further message.
func (a *ConversationActor) requestStop() {
	a.mu.Lock()
	if a.flags&flagClosed != 0 {
		a.mu.Unlock()
		return
	}
	a.flags |= flagStop
	a.scheduleAndUnlock(false)
}

// over reports whether the conversation has ended. The command of its end may still be in
// the mailbox of the agent.
func (a *ConversationActor) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.flags&flagClosed != 0
}

// close ends the actor: it takes no more messages, and the agent gets back those of the
// peer that were not handled. Messages of other senders are dropped. The agent has been
// told of the end before, so that it passes them to the tombstone. What a conversation has ended
// without, such as its request when it was stopped at once, was not taken on: it may come again.
func (a *ConversationActor) close() {
	a.mu.Lock()
	a.flags |= flagClosed
	var unread []any
	for message, ok := a.queue.pop(); ok; message, ok = a.queue.pop() {
		unread = append(unread, message)
	}
	finished := a.flags&(flagOpen|flagRunning) == flagOpen && a.finishLocked()
	untaken := a.flags&(flagStopped|flagReceived|flagFailed) == flagStopped
	a.mu.Unlock()
	for _, message := range unread {
		if m, ok := message.(*performatives.Message); ok {
			if untaken {
				a.cell.sys.requestIDs.forget(a.cell, m)
			}
			Self{a.cell}.Return(m)
		}
	}
	if finished && a.cell.live.Add(-1) == 0 && a.cell.stops.Load() != nil {
		a.cell.conversationsStopped()
	}
}

// finishLocked records the end of the last turn. It reports false when it has been recorded
// before.
func (a *ConversationActor) finishLocked() bool {
	before := a.flags
	a.flags |= flagFinished
	a.peer = nil // its agent may stop while a handle keeps the conversation
	return before&flagFinished == 0
}

// scheduleAndUnlock schedules a turn if none runs or is scheduled, and moves a scheduled one to the
// express queue. It unlocks mu. Invariant: each queue of the dispatcher holds at most one entry per
// actor.
func (a *ConversationActor) scheduleAndUnlock(urgent bool) {
	before, lane, express := a.flags, flagOrdinary, urgent && a.cell.sys.express
	if express {
		lane = flagExpress
	}
	adds := before&flagRunning == 0 || express && before&flagQueued != 0
	if adds {
		a.flags |= flagRunning | flagQueued | lane
	}
	a.mu.Unlock()
	if adds && before&lane == 0 { // else an entry of an earlier turn serves
		a.cell.sys.turns.schedule(a, express, a.order)
	}
}

// run handles messages, unless the entry in the other queue has begun the turn.
func (a *ConversationActor) run(express bool) {
	lane := flagOrdinary
	if express {
		lane = flagExpress
	}
	a.mu.Lock()
	begins := a.flags&flagQueued != 0
	a.flags &^= lane | flagQueued
	a.mu.Unlock()
	if !begins {
		return
	}
	for !a.serve() { // again after a panic, to stop
	}
}

// step is one thing to do in a turn.
type step uint8

const (
	stepRest step = iota // the turn is over
	stepStart
	stepStop
	stepReceive
)

// serve does steps until the turn is over. It reports false after a panic.
func (a *ConversationActor) serve() (done bool) {
	var message any
	defer func() {
		if !done {
			a.fail(recover(), message)
		}
	}()
	turns := a.cell.sys.turns
	throughput := max(1, turns.Throughput())
	for n := throughput; ; n-- {
		if n == 0 {
			if turns.waiting() && a.yield() {
				return true
			}
			n = throughput
		}
		var next step
		switch next, message = a.next(); next {
		case stepStart:
			a.conversation.Start()
		case stepStop:
			a.stop()
		case stepReceive:
			a.conversation.Receive(message)
		case stepRest:
			return true
		}
	}
}

// next returns the next step, and the message to receive.
func (a *ConversationActor) next() (step, any) {
	a.mu.Lock()
	switch {
	case a.flags&flagStop != 0:
		a.flags = a.flags&^flagStop | flagStopped
		a.mu.Unlock()
		return stepStop, nil
	case a.flags&flagClosed != 0:
		a.flags &^= flagRunning
		finished := a.finishLocked()
		a.mu.Unlock()
		if finished && a.cell.live.Add(-1) == 0 && a.cell.stops.Load() != nil {
			a.cell.conversationsStopped()
		}
		return stepRest, nil
	case a.flags&flagStarted == 0:
		a.flags |= flagStarted
		a.mu.Unlock()
		return stepStart, nil
	}
	message, ok := a.queue.pop()
	if !ok {
		a.flags &^= flagRunning
		a.mu.Unlock()
		return stepRest, nil
	}
	a.flags |= flagReceived
	a.mu.Unlock()
	return stepReceive, message
}

// yield schedules another turn, if there is a step to do.
func (a *ConversationActor) yield() bool {
	a.mu.Lock()
	if a.flags&(flagStop|flagClosed) == 0 && a.flags&flagStarted != 0 && a.queue.waiting() == 0 {
		a.mu.Unlock()
		return false
	}
	before := a.flags
	a.flags |= flagQueued | flagOrdinary
	a.mu.Unlock()
	if before&flagOrdinary == 0 { // else an entry of an earlier turn serves
		a.cell.sys.turns.schedule(a, false, a.order)
	}
	return true
}

// fail handles a panic of the conversation, or runtime.Goexit, for which value is nil. The
// sender of the message gets a refusal, and the actor is stopped.
func (a *ConversationActor) fail(value, message any) {
	if value == nil {
		value = errGoexit
		defer a.yield() // this goroutine ends
	}
	a.mu.Lock()
	stopped := a.flags&flagStopped != 0
	if !stopped {
		a.flags |= flagFailed | flagStop
	}
	a.mu.Unlock()
	if stopped { // by runtime.Goexit in Stop
		return
	}
	s, reason := a.cell.sys, panicError(value)
	if m, ok := message.(*performatives.Message); ok {
		s.Refuse(a.cell.id, m, performatives.CodeInternal, "")
	}
	s.supervised(events.Supervised{At: s.at(), Agent: a.cell.id, Conversation: a.conversation.Key().ID, Decision: events.Decision{
		Child: a.pid(), Directive: actor.StopDirective, Reason: reason, Stack: reason.Stack,
	}})
}

// pid returns the address of the conversation for events. The engine has no such process.
func (a *ConversationActor) pid() *actor.PID {
	agent := a.cell.pid.Load()
	return actor.NewPID(agent.GetAddress(), agent.GetId()+"/"+string(a.conversation.Key().ID))
}

// stop has the conversation end, and ends the actor. A conversation that fails to end is
// abandoned. The agent is told of a failed one, which may not have called End.
func (a *ConversationActor) stop() {
	stopped := false
	defer func() {
		failed := !stopped
		if !stopped {
			Self{a.cell}.Logger().Error("conversation panicked while stopping",
				"conversation", string(a.conversation.Key().ID), "err", fmt.Sprint(cmp.Or[any](recover(), errGoexit)))
			a.cell.sys.abandon(a.conversation, ErrStopped) // releases callers that wait for the conversation
		}
		a.mu.Lock()
		failed = failed || a.flags&flagFailed != 0
		a.mu.Unlock()
		if failed {
			_ = Self{a.cell}.post(&conversationFailed{a}) // the only error is that the agent has stopped
		}
		a.close()
	}()
	a.conversation.Stop()
	stopped = true
}
