package codons

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// script is what one codon adds to a conversation on one side: the table says
// what is to be done, the script does it. Its methods run on the conversation's
// actor.
type script interface {
	// run starts a job of the table, stop ends its context.
	run(c *conversation, job string)
	stop(c *conversation, job string)
	// payload is the content of the act that the table has the conversation send.
	payload(c *conversation, e machine.Effect, data any) any
	// report tells the agent or the caller what arrived.
	report(c *conversation, what string, m *performatives.Message)
	// timer is how long a timer of the table runs from now on: at most 0 is at
	// once, never is not at all.
	timer(c *conversation, name string) time.Duration
	// tag is what the table must know of a message's content.
	tag(m *performatives.Message) string
	// ended is called once, in the state in which the conversation ended. last is
	// the message that ended it, if one did.
	ended(c *conversation, last *performatives.Message)
	// abandoned is called once instead, for a conversation that never began.
	abandoned(c *conversation, cause error)
}

// never is the time of a timer that does not run.
const never time.Duration = math.MaxInt64

// conversation is the actor of one conversation on one side. It turns what
// happens into events, steps the codon's machine, and carries out the effects.
// All its fields are touched only on its actor, but for those that never change.
type conversation struct {
	self   actors.Self
	peer   performatives.AgentID
	key    actors.Key
	script script
	// priority is the band of the opening act, and so of all that belongs to it.
	priority performatives.Priority
	// release detaches the conversation from its caller's ctx; nil without one.
	release func() bool
	child   child                        // of the scope in which it was begun
	parent  performatives.ConversationID // in whose work it was begun; empty without one
	work    *scope                       // of its handler, on the side that answers; nil before that runs
	spent   Budget                       // what it has cost, on the side that asked; read once it has ended
	account *performatives.Message       // the latest that said what the peer has used, on the side that asked
	asked   bool                         // a request has been sent since
	// watch is told of each step, once it is done, and of the end of a conversation
	// that never began; nil without a coordinator. It runs on the conversation's actor.
	watch func(on machine.Symbol, at machine.State)

	correspondence
	timers  timers
	pid     atomic.Pointer[actor.PID] // nil until the actor has started
	left    atomic.Pointer[error]     // why the caller withdrew, if it did
	over    atomic.Bool               // nothing is left to do, but by the epilogue
	stands  bool                      // it goes on until someone ends it
	pending []happening               // what the script said during a step
	busy    bool                      // a step is under way
}

// newAsking returns the side of a conversation that opens it, with a request.
func newAsking(self actors.Self, m *machine.Machine, request *performatives.Message, s script) *conversation {
	key := actors.Key{ID: request.ConversationID(), Peer: request.Receiver(), Initiator: true}
	c := newConversation(self, m, machine.Initiator, key, request, s)
	c.draft = request
	return c
}

// newAnswering returns the side of a conversation that opening, from a peer, opens.
func newAnswering(self actors.Self, m *machine.Machine, opening *performatives.Message, s script) *conversation {
	key := actors.Key{ID: opening.ConversationID(), Peer: opening.Sender()}
	return newConversation(self, m, machine.Responder, key, opening, s)
}

func newConversation(self actors.Self, m *machine.Machine, role machine.Role, key actors.Key, opening *performatives.Message, s script) *conversation {
	c := &conversation{
		self: self, peer: key.Peer, key: key, script: s, priority: opening.Priority(), parent: parentOf(opening),
		correspondence: correspondence{
			machine: m, state: m.Start(role, time.Now()), shared: string(opening.ID()) != string(key.ID),
		},
	}
	c.sent, c.seen = c.fewSent[:0], c.fewSeen[:0]
	c.timers.ring = c.ring
	return c
}

// Key returns what the conversation is found by.
func (c *conversation) Key() actors.Key { return c.key }

// Priority returns the band of the conversation.
func (c *conversation) Priority() performatives.Priority { return c.priority }

// Over reports whether the conversation has ended.
func (c *conversation) Over() bool { return c.over.Load() }

// Standing reports whether the conversation goes on until someone ends it.
func (c *conversation) Standing() bool { return c.stands }

// Receive is the engine's entry: one event at a time.
func (c *conversation) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *performatives.Message:
		c.receive(m)
	case *command:
		c.obey(m)
	case tick:
		for name, ok := c.timers.expired(time.Now()); ok; name, ok = c.timers.expired(time.Now()) {
			c.happen(happening{on: machine.Timeout(name)})
		}
	case *actor.Started:
		c.pid.Store(ctx.Self())
		c.start()
	case *actor.Stopping:
		c.close()
	}
}

// obey takes a command. A receipt says that nothing runs any more, so that to one who
// has sent CANCEL a handler that has left something running is one that does not
// return. Only here is it known whether the CANCEL came before the last word.
func (c *conversation) obey(m *command) {
	if m.by != nil {
		defer m.by.said() // whatever became of it
	}
	if m.loose && c.state.State == stateCancelling {
		c.happen(happening{on: machine.Timeout(timerGrace)})
		return
	}
	c.happen(happening{on: machine.Command(m.name), data: m.data})
}

// start takes the initiator's first step. When the caller has withdrawn already,
// nobody need hear of the conversation.
func (c *conversation) start() {
	if c.state.Role != machine.Initiator {
		return
	}
	if left := c.left.Load(); left != nil {
		c.Abandon(*left)
		c.self.End(c, nil)
		return
	}
	c.happen(happening{on: machine.Command(commandStart)})
}

// begin starts the conversation of a caller, and withdraws it when ctx is cancelled.
// ctx's deadline is the conversation's own, so it needs no withdrawal. The error
// says that the conversation never ran.
func (c *conversation) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		c.child.castOff()
		return c.abandonError(endOf(ctx))
	}
	c.release = context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			c.withdraw(endOf(ctx))
		}
	})
	if err := c.self.Begin(c); err != nil {
		c.release()
		c.child.castOff()
		return fmt.Errorf("codons: %s with %q: %w", c.machine.Name(), c.peer, err)
	}
	return nil
}

// endOf is why ctx has ended: its error, and its cause where that says more.
func endOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// withdraw is the caller's wish to end the conversation, from any goroutine. Only
// the first counts.
func (c *conversation) withdraw(cause error) {
	if c.left.CompareAndSwap(nil, &cause) {
		c.tell(commandCancel, nil)
	}
}

// Abandon ends a conversation that never began, because its agent has stopped or
// the caller has withdrawn, or one whose actor failed even over its end: then the peer
// may work on.
func (c *conversation) Abandon(cause error) {
	if !c.over.CompareAndSwap(false, true) {
		return
	}
	begun := c.state.State != machine.Idle
	defer c.child.leave(!begun, begun)
	c.detach()
	if begun {
		c.spent = c.child.limits()
	}
	c.child.settle(c.spent)
	c.script.abandoned(c, cause)
	c.stepped(machine.Symbol{}, stateAbandoned)
}

// stepped tells whoever watches the conversation.
func (c *conversation) stepped(on machine.Symbol, at machine.State) {
	if c.watch != nil {
		c.watch(on, at)
	}
}

// receive turns a message into an event. What comes after the end is for the
// epilogue.
func (c *conversation) receive(m *performatives.Message) {
	switch {
	case c.over.Load():
		c.self.Return(m)
	case c.stray(c.key, m):
		c.turnAway(m)
	default:
		c.happen(happening{on: c.classify(m, c.script.tag(m)), message: m})
	}
}

// turnAway is what becomes of a message that is about an earlier conversation of
// the same name.
func (c *conversation) turnAway(m *performatives.Message) {
	if m.Performative().ExpectsReply() {
		c.self.System().Refuse(c.self.ID(), m, performatives.CodeConversationEnded, "")
		return
	}
	c.drop(m, dropStale)
}

// tell sends a command to the conversation from any goroutine, once it has started.
func (c *conversation) tell(name string, data any) {
	c.post(&command{name: name, data: data, band: c.priority})
}

func (c *conversation) post(event any) {
	if pid := c.pid.Load(); pid != nil {
		c.self.System().Engine().Root.Send(pid, event)
	}
}

// finish ends the conversation in its terminal state. Its agent is told first, so
// that whoever learns of the end may use its name again.
func (c *conversation) finish(last *performatives.Message) {
	c.timers.stop()
	c.self.End(c, c.epilogue())
	c.over.Store(true)
	c.detach()
	defer func() { c.child.leave(c.stopped(last)) }() // also when the answer makes the caller's code panic
	if c.state.Role == machine.Initiator {
		c.spent = c.child.used(c.lastAccount(last))
		c.child.settle(c.spent)
	}
	c.script.ended(c, last)
}

// lastAccount returns the message that says what the peer has used: the last one, or
// where a partial result stands, or a proposal was not taken, and nothing was done since,
// that.
func (c *conversation) lastAccount(last *performatives.Message) *performatives.Message {
	switch {
	case c.account == nil || last != nil && !last.Budget().IsZero():
	case last == nil && !c.asked && slices.Contains([]machine.State{stateCompleted, stateRejected, stateLapsed}, c.state.State):
		return c.account
	case last != nil && last.AsRefusal() != nil && last.Performative() != performatives.ActFailure:
		return c.account // the further round was not taken on
	}
	return last
}

// stopped reports whether the peer's work has stopped, as far as this side can know,
// and whether it was to: it was withdrawn, or the peer says so. A FAILURE that the
// peer's table sends of its own accord comes before its handler has returned.
func (c *conversation) stopped(last *performatives.Message) (stopped, withdrawn bool) {
	withdrawn = c.left.Load() != nil || c.state.State == stateAbandoned
	if last == nil {
		return false, withdrawn
	}
	if last.Performative() != performatives.ActFailure {
		return true, withdrawn
	}
	switch last.AsRefusal().Code { //nolint:exhaustive // those of a table's own failures
	case performatives.CodeStillRunning:
		return false, true
	case performatives.CodeTimeout, performatives.CodeStopped, performatives.CodeDisconnected:
		return false, withdrawn
	}
	return true, withdrawn
}

func (c *conversation) detach() {
	if c.release != nil {
		c.release()
	}
}

// close ends a conversation whose actor is stopped before its time. One that has
// not got its first message yet has nothing to say.
func (c *conversation) close() {
	switch {
	case c.over.Load():
	case c.state.State == machine.Idle:
		c.Abandon(actors.ErrStopped)
	default:
		c.happen(happening{on: machine.Command(commandStop)})
	}
	c.timers.stop()
}
