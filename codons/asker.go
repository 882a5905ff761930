package codons

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// asker is what the asking sides of all codons have in common. Their scripts embed
// it, and add at least what the end means: ended, which closes done last.
type asker struct {
	conversation *conversation
	options      options
	request      *performatives.Message
	endless      bool // without a deadline of the caller's there is none
	child        child

	watch func(machine.Symbol, machine.State) // of the conversation; nil without a coordinator

	// Touched on the conversation's actor, and read once done is closed.
	retries  int
	retrying machine.State // in which they were counted
	err      error
	done     chan struct{}
}

// prepare makes the opening act. Its error says what is wrong with it.
func (a *asker) prepare(ctx context.Context, self actors.Self, m *machine.Machine, to performatives.AgentID, act performatives.Performative, payload any) error {
	stamp := self.Stamp()
	by, ok := ctx.Deadline()
	if !ok && !a.endless {
		by = stamp.Time.Add(DefaultDeadline)
	}
	e := performatives.Envelope{
		ID: stamp.ID, Timestamp: stamp.Time, Performative: act, Sender: self.ID(), Receiver: to,
		ConversationID: a.options.conversation, Protocol: m.Name(), ReplyWith: string(stamp.ID), ReplyBy: by, InReplyTo: a.options.inReplyTo,
		Language: performatives.LanguageJSON, Ontology: a.options.ontology, Priority: a.options.priority,
		Trace: a.options.trace, Payload: payload,
	}
	var err error
	if a.child, err = adopt(ctx, &e, &a.options); err != nil {
		return err
	}
	if a.request, err = newRequest(e); err != nil {
		a.child.castOff()
		return err
	}
	a.done = make(chan struct{})
	return nil
}

// newRequest makes the opening act of a conversation between two.
func newRequest(e performatives.Envelope) (*performatives.Message, error) {
	if e.Receiver == "" {
		return nil, &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, About: e.ID, Field: "receiver",
			Text: "receiver: want the id of an agent, got nothing",
		}
	}
	return performatives.New(e)
}

// begin starts the conversation that prepare made the opening act of. s is the
// script that embeds a.
func (a *asker) begin(ctx context.Context, self actors.Self, m *machine.Machine, s script) error {
	a.conversation = newAsking(self, m, a.request, s)
	a.conversation.stands = a.endless
	a.conversation.child = a.child
	a.conversation.watch = a.watch
	return a.conversation.begin(ctx)
}

func (a *asker) run(*conversation, string) {}

func (a *asker) stop(*conversation, string) {}

func (a *asker) payload(_ *conversation, e machine.Effect, data any) any {
	a.retries = 0 // and of each message
	if e.Act == performatives.ActCancel && data == nil {
		return performatives.Cancel{Reason: "the asker no longer wants the result"}
	}
	return data
}

func (a *asker) report(*conversation, string, *performatives.Message) {}

// timer knows the deadline, the grace and the retries.
func (a *asker) timer(c *conversation, name string) time.Duration {
	switch name {
	case timerGrace:
		return a.options.grace
	case timerRetry:
		if a.retrying != c.state.State { // they are counted of each state
			a.retries, a.retrying = 0, c.state.State
		}
		a.retries++
		wait := a.retry(c.state.State).wait(a.request.ID(), a.retries)
		return min(wait, a.latest(c, wait))
	}
	return time.Until(a.request.ReplyBy())
}

// latest is when a retry comes at the latest, so that patience does not outlast the
// deadline: when half of the time that is left has passed, but no sooner than an
// ordinary one.
func (a *asker) latest(c *conversation, wait time.Duration) time.Duration {
	by, running := c.timers.at(timerDeadline) // of the stage at hand: the request's may be over
	if wait == never || !running {
		return never
	}
	return max(time.Until(by)/2, a.retry("").First)
}

// patience is how many times as long as for the first answer an asker waits for the
// last one before it asks again: that something takes long is no sign that it is lost.
const patience = 6

// retry is the policy in a state: a CANCEL has only the grace for its retries.
func (a *asker) retry(in machine.State) Retry {
	r := a.options.retry
	if r.First < 0 {
		return r
	}
	if r.First == 0 {
		r.First = DefaultRetry
	}
	switch in { //nolint:exhaustive // all others wait for a first answer
	case stateCancelling:
		r.First = min(r.First, max(a.options.grace/4, 1))
	case stateWorking, stateAgreed:
		r.First *= patience
		r.Max *= patience
	}
	return r
}

func (a *asker) tag(*performatives.Message) string { return "" }

func (a *asker) abandoned(c *conversation, cause error) {
	a.err = c.abandonError(cause)
	close(a.done)
}

// await returns when the conversation has ended on this side.
func (a *asker) await() { awaitEnd(a.conversation.self, a.done) }

// awaitEnd waits for done, and goes on in its turn.
func awaitEnd(self actors.Self, done <-chan struct{}) {
	select {
	case <-done:
		return
	default:
	}
	turn := self.System().Turn()
	<-done
	turn()
}

// Conversation returns the id of the conversation.
func (a *asker) Conversation() performatives.ConversationID { return a.request.ConversationID() }

// Done is closed when the conversation has ended on this side.
func (a *asker) Done() <-chan struct{} { return a.done }

// Spent returns what the conversation has cost of its budget, and what it began
// with it, once Done is closed; a peer that keeps no account has used all that it was
// given. The map is not to be changed.
func (a *asker) Spent() Budget { return a.conversation.spent }

// Cancel withdraws what was asked for: the peer gets CANCEL, and the conversation
// ends with its receipt, or with an answer that was faster, or once the grace has
// passed. It does not wait for that. Cancelling again, or what has ended, does
// nothing.
func (a *asker) Cancel() { a.conversation.withdraw(context.Canceled) }
