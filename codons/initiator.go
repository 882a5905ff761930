package codons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// InitiatorSide is the base of the initiator's sides of all codons. A [Side] embeds it and adds at
// least Ended, which reads the result and calls [InitiatorSide.Close] last.
//
// Prepare, Begin and Start are called once, by the caller. The methods of Side run on the
// conversation's actor. The others say where they may be called.
type InitiatorSide struct {
	codon        *Codon
	conversation *Conversation
	options      Options
	request      *performatives.Message
	longLived    bool // the conversation has no deadline unless the caller's ctx has one
	child        child
	watch        func(machine.Symbol, machine.State) // of the conversation; nil without a group

	// Touched on the conversation's actor, and read once done is closed.
	retries      int
	retried      machine.State // the state in which retries was counted
	acknowledged bool          // the peer has answered the latest message, though not finally
	err          error
	done         chan struct{}
}

// Opening describes the opening act of a conversation.
type Opening struct {
	// Codon is the codon of the conversation. It is required.
	Codon *Codon
	// To is the id of the peer. It is required.
	To performatives.AgentID
	// Act is the performative of the opening act.
	Act performatives.Performative
	// Type is the application's message type of the opening act. Empty for none.
	Type string
	// Payload is the content of the opening act. Nil for none.
	Payload any
	// Options are those of the caller, see [NewOptions].
	Options Options
	// LongLived says that the conversation has no deadline unless ctx has one.
	LongLived bool
}

// Prepare makes the opening act of a conversation. Where ctx belongs to a handler, the conversation
// becomes a child of the handler's conversation. The error is [ErrDeciding] or [ErrEnded] if ctx
// allows no child, the error of [Options.Check], or a [*performatives.Refusal] that names the
// invalid field or the missing budget.
func (i *InitiatorSide) Prepare(ctx context.Context, self actors.Self, o Opening) error {
	if err := o.Options.Check(o.Codon); err != nil {
		return err
	}
	i.codon, i.options, i.longLived = o.Codon, o.Options, o.LongLived
	stamp := self.Stamp()
	by, ok := ctx.Deadline()
	if !ok && !o.LongLived {
		by = stamp.Time.Add(DefaultDeadline)
	}
	e := performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: o.Act, Sender: self.ID(), Receiver: o.To,
		ConversationID: o.Options.conversation, Protocol: o.Codon.Name(), ReplyWith: string(stamp.ID), ReplyBy: by,
		InReplyTo: o.Options.inReplyTo, Language: performatives.LanguageJSON, Ontology: o.Options.ontology,
		Priority: o.Options.priority, Trace: o.Options.trace, MessageType: o.Type, Payload: o.Payload,
	}
	var err error
	if i.child, err = openChild(ctx, &e, &i.options); err != nil {
		return err
	}
	if t := self.System().Tracing(); t != nil {
		i.traced(t, &e)
	}
	if i.request, err = NewRequest(e); err != nil {
		i.child.release()
		return err
	}
	i.done = make(chan struct{})
	return nil
}

// NewRequest makes the opening act of a conversation between two agents. The error is a
// [*performatives.Refusal] when the envelope is not valid or has no receiver.
func NewRequest(e performatives.Envelope) (*performatives.Message, error) {
	if e.Receiver == "" {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: e.ID, Field: "receiver",
			Text: "receiver: want the id of an agent, got nothing",
		}
	}
	return performatives.New(e)
}

// Begin starts the conversation after Prepare and does not wait for it. s is the side that
// embeds i. The conversation is withdrawn when ctx is cancelled. The error says that the
// conversation never ran: it is an [*EndError] that wraps the end of ctx, or it wraps
// [actors.ErrMailboxFull] or [actors.ErrStopped]. Then no method of s is called.
func (i *InitiatorSide) Begin(ctx context.Context, self actors.Self, s Side) error {
	c := newConversation(self, i.codon, machine.Initiator, i.request, s)
	i.conversation, c.longLived, c.child, c.watch = c, i.longLived, i.child, i.watch
	if ctx.Err() != nil {
		c.child.release()
		return c.abandonError(actors.EndOf(ctx))
	}
	if c.child.scope == nil { // else it belongs to work that was taken on
		if busy := c.actor.Foresee(ctx, self.System(), i.request); busy != nil {
			return fmt.Errorf("codons: %s with %q: %w", c.machine.Name(), c.key.Peer, busy)
		}
	}
	c.release = context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) { // which is the deadline of the conversation
			// The cause of ctx is read later. It is locked until all that depends on ctx is
			// cancelled, so that many conversations would wait here.
			c.withdrawFor(func() error { return actors.EndOf(ctx) }, nil)
		}
	})
	if err := self.Begin(c); err != nil {
		c.release()
		c.child.release()
		return fmt.Errorf("codons: %s with %q: %w", c.machine.Name(), c.key.Peer, err)
	}
	return nil
}

// Watch has fn called after each step of the conversation, with the symbol of the step and the new
// state, on the conversation's actor. It is called between Prepare and Begin.
func (i *InitiatorSide) Watch(fn func(on machine.Symbol, at machine.State)) { i.watch = fn }

// Panicked is [Conversation.Panicked] of the conversation. Safe for concurrent use.
func (i *InitiatorSide) Panicked(job string, v any, stack []byte) {
	i.conversation.Panicked(job, v, stack)
}

// Start is Prepare and Begin, with the errors of both.
func (i *InitiatorSide) Start(ctx context.Context, self actors.Self, o Opening, s Side) error {
	if err := i.Prepare(ctx, self, o); err != nil {
		return err
	}
	return i.Begin(ctx, self, s)
}

// Run does nothing: most initiators have no jobs.
func (i *InitiatorSide) Run(*Conversation, string) {}

// Stop does nothing.
func (i *InitiatorSide) Stop(*Conversation, string) {}

// Tag returns [standard.TagReceipt] for an INFORM that answers this side's CANCEL, and the empty
// tag for any other message.
func (i *InitiatorSide) Tag(v *Value, m *performatives.Message) string {
	if m.Performative() != performatives.ActInform {
		return ""
	}
	if cancel := v.Sent(performatives.ActCancel); cancel != nil && m.Answers(cancel) {
		return standard.TagReceipt
	}
	return ""
}

// Reduce counts the retries of each message and each state.
func (i *InitiatorSide) Reduce(v *Value, e *Input) {
	sends := e.Sends()
	if sends || i.retried != v.State() {
		i.retries, i.retried = 0, v.State()
	}
	switch {
	case sends:
		i.acknowledged = false
	case e.On.Kind == machine.KindReceive && !refusedOrDropped(e.effects):
		i.acknowledged = true
	}
	if e.Arms(machine.TimerRetry) {
		i.retries++
	}
}

// initiatorData is the data of an [InitiatorSide].
type initiatorData struct {
	Retries      int           `json:"retries"`      // of the latest message, in this state
	State        machine.State `json:"state"`        // in which they were counted
	Acknowledged bool          `json:"acknowledged"` // a first answer to the latest message has come
}

// Data returns the data that Reduce keeps. Its type is not exported; it has a JSON form.
func (i *InitiatorSide) Data() any { return initiatorData{i.retries, i.retried, i.acknowledged} }

// Compose returns the content of the event's command. It makes the content of a CANCEL.
func (i *InitiatorSide) Compose(_ *Value, f machine.Effect, e *Input) any {
	_, withdrawn := e.Data.(performatives.Cancel) // by an operator
	switch {
	case f.Act == performatives.ActCancel && e.Data == nil:
		return performatives.Cancel{Reason: "the initiator no longer wants the result"}
	case withdrawn && f.Act != performatives.ActCancel:
		return nil
	}
	return e.Data
}

// Report does nothing.
func (i *InitiatorSide) Report(*Conversation, string, *performatives.Message) {}

// Timer returns the grace for [machine.TimerGrace], the time until the next retry for
// [machine.TimerRetry], the duration of [WithTimer] or of the table for a timer of the table's own,
// and for any other timer the time until the ReplyBy of the opening act.
func (i *InitiatorSide) Timer(v *Value, name string, now time.Time) time.Duration {
	switch name {
	case machine.TimerGrace:
		return i.options.grace
	case machine.TimerRetry:
		wait := i.policy(v.sentOf(performatives.ActCancel) != nil).Wait(v.first.ID(), i.retries)
		if wait == Never || v.deadline.IsZero() { // v.deadline is that of the current stage: the request's may have passed
			return wait
		}
		return min(wait, max(v.deadline.Sub(now)/2, cmp.Or(i.options.retry.First, DefaultRetry))) // a retry comes before the deadline
	case machine.TimerDeadline:
	default:
		if d := v.codon.after(machine.Initiator, name, i.options.timers); d > 0 {
			return d
		}
	}
	return v.first.ReplyBy().Sub(now)
}

// acknowledgedFactor multiplies the times between retries once the peer has answered, though
// not finally: an answer that takes long is then no sign of a lost message.
const acknowledgedFactor = 6

// policy returns the retry policy of the latest message. The retries of a CANCEL fit in the
// grace.
func (i *InitiatorSide) policy(cancelling bool) Retry {
	r := i.options.retry
	r.First = cmp.Or(r.First, DefaultRetry)
	switch {
	case r.First < 0:
	case cancelling:
		r.First = min(r.First, max(i.options.grace/4, 1))
	case i.acknowledged:
		r.First *= acknowledgedFactor
		r.Max *= acknowledgedFactor
	}
	return r
}

// Abandoned closes the initiator with an [*EndError] that wraps the cause.
func (i *InitiatorSide) Abandoned(c *Conversation, cause error) { i.Close(c.abandonError(cause)) }

// Close sets the result of Err and closes Done. It must be called exactly once, on the
// conversation's actor, after all other fields of the side are set.
func (i *InitiatorSide) Close(err error) {
	i.err = err
	close(i.done)
}

// Await blocks until the conversation has ended on this side. It must not be called on an
// agent's own actor. Safe for concurrent use.
func (i *InitiatorSide) Await() { AwaitEnd(i.conversation.agent, i.done) }

// AwaitEnd blocks until done is closed, on behalf of an agent. It then waits for its turn of
// the system's dispatcher, so that a simulation controls the order of execution. It must not
// be called on an agent's own actor. Safe for concurrent use.
func AwaitEnd(self actors.Self, done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	turn := self.System().Turn()
	<-done
	turn()
}

// Options returns the caller's options. They do not change after Prepare.
func (i *InitiatorSide) Options() *Options { return &i.options }

// Request returns the opening act, after Prepare. Safe for concurrent use.
func (i *InitiatorSide) Request() *performatives.Message { return i.request }

// Err returns the error that Close was given, nil for a good end. It may be called once Done
// is closed, and on the conversation's actor.
func (i *InitiatorSide) Err() error { return i.err }

// Tell sends a command to the conversation. It never blocks. Safe for concurrent use.
func (i *InitiatorSide) Tell(m Command) { i.conversation.Tell(m) }

// Withdraw is [Handle.Cancel] with a cause for the [EndError]. Safe for concurrent use.
func (i *InitiatorSide) Withdraw(cause error) { i.conversation.withdraw(cause) }

// Handle returns the caller's handle of the conversation, after Prepare.
func (i *InitiatorSide) Handle() Handle { return Handle{i} }

// Handle is the caller's handle of a conversation that it began. The handles of codons embed
// it. Its methods never block and are safe for concurrent use.
type Handle struct{ i *InitiatorSide }

// Conversation returns the id of the conversation.
func (h Handle) Conversation() performatives.ConversationID { return h.i.request.ConversationID() }

// Done is closed when the conversation has ended on this side.
func (h Handle) Done() <-chan struct{} { return h.i.done }

// Spent returns the part of the budget that the conversation and those below it have used. It
// may be called once Done is closed. A peer that reports no usage counts as one that has used
// its whole allowance. Nil means that the conversation had no budget and reports no usage. The map
// is the caller's.
func (h Handle) Spent() Budget { return maps.Clone(h.i.conversation.spent) }

// Cancel withdraws the request and returns at once. The peer gets CANCEL, and the
// conversation ends with the receipt, with an answer that was faster, or when the grace has
// passed. A second call, and a call after the end, does nothing.
func (h Handle) Cancel() { h.i.conversation.withdraw(context.Canceled) }

// Party is the initiator on whose behalf a conversation begins: an agent, by its [actors.Self],
// or a node, for the program that runs it.
type Party interface {
	// Self returns the handle of the agent. Safe for concurrent use.
	Self() actors.Self
}

// ErrNoParty is the error of a conversation that a nil [Party], a nil pointer or the zero
// [actors.Self] begins.
var ErrNoParty = errors.New("codons: the party is nil: want the Self of an agent, or a node")

// SelfOf returns the handle of the agent on whose behalf p begins a conversation. The error is
// [ErrNoParty] where p is nil, a nil pointer, or has the zero Self.
func SelfOf(p Party) (actors.Self, error) {
	if p == nil {
		return actors.Self{}, ErrNoParty
	}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && v.IsNil() {
		return actors.Self{}, ErrNoParty
	}
	self := p.Self()
	if self == (actors.Self{}) {
		return actors.Self{}, ErrNoParty
	}
	return self, nil
}
