package delegation

import (
	"context"
	"runtime/debug"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Initiator is the initiator's [codons.Side] of one delegation. [Start] makes and begins one;
// a codon that leads several delegations as one group makes them with [New].
type Initiator struct {
	codons.InitiatorSide
	Delegated Delegated // the caller's handle

	settings Settings
	values   context.Context //nolint:containedctx // the caller's ctx without its end, so that WithInput works in the same scope

	// Set on the conversation's actor.
	partial  *performatives.InformResult // the latest partial result that asks for input
	given    bool                        // the request of the further round has been sent
	endInput context.CancelFunc          // ends the ctx of WithInput

	// Set before Done is closed, and read after it.
	result   performatives.InformResult
	unserved error
}

// initiatorData is the recorded data of an [Initiator].
type initiatorData struct {
	Asked   any                         `json:"asked"`
	Partial *performatives.InformResult `json:"partial"`
	Given   bool                        `json:"given"`
}

// Data returns the data that Reduce keeps. Its type is not exported; it has a JSON form.
func (i *Initiator) Data() any { return initiatorData{i.InitiatorSide.Data(), i.partial, i.given} }

// New makes a delegation that has not begun: the caller begins it with the Begin method or in
// a [group.Group]. The error is a [*performatives.Refusal] or one of those of [Start] about
// ctx.
func New(ctx context.Context, p codons.Party, to performatives.AgentID, task performatives.TaskRequest, opts []codons.Option) (*Initiator, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	o := codons.NewOptions(opts...)
	i := &Initiator{settings: codons.Settings[Settings](&o), values: context.WithoutCancel(ctx)}
	if from := i.settings.inputFrom; from != "" {
		i.settings.onInput = inputFrom(p, to, from, task)
	}
	i.Delegated = Delegated{i.Handle(), i}
	err = i.Prepare(ctx, self, codons.Opening{
		Codon: Codon, To: to, Act: performatives.ActTaskRequest, Payload: task, Options: o,
	})
	if err != nil {
		return nil, err
	}
	return i, nil
}

// Tag marks a partial result that asks for more.
func (i *Initiator) Tag(_ *codons.Value, m *performatives.Message) string { return inputTag(m) }

// inputTag returns [TagInput] for a partial result that asks for more, else "".
func inputTag(m *performatives.Message) string {
	if m.Performative() != performatives.ActInformResult {
		return ""
	}
	if r, err := performatives.PayloadAs[performatives.InformResult](m); err == nil && r.RequestForUser() != "" {
		return TagInput
	}
	return ""
}

// Reduce keeps the latest partial result, and whether the caller has answered it. A partial
// result that crosses with CANCEL counts, too.
func (i *Initiator) Reduce(v *codons.Value, e *codons.Input) {
	i.InitiatorSide.Reduce(v, e)
	if e.On.Name == TagInput && e.Message != nil && (v.State() == StateInputNeeded || v.State() == StateDeclining) {
		if r, err := performatives.PayloadAs[performatives.InformResult](e.Message); err == nil {
			i.partial, i.given = &r, false
		}
	}
	i.given = i.given || e.On == machine.Commanded(standard.CommandAnswer) && e.Sends()
}

// Compose returns the reason of a CANCEL that follows a partial result; the embedded Initiator
// composes all other messages.
func (i *Initiator) Compose(v *codons.Value, f machine.Effect, e *codons.Input) any {
	if f.Act == performatives.ActCancel && i.partial != nil && e.Data == nil {
		return performatives.Cancel{Reason: "the partial result is final"}
	}
	return i.InitiatorSide.Compose(v, f, e)
}

// Report calls the functions of the options.
func (i *Initiator) Report(c *codons.Conversation, what string, m *performatives.Message) {
	switch what {
	case ReportAccepted:
		callWith(i.settings.OnAccept, m)
	case standard.ReportProgress:
		callWith(i.settings.OnProgress, m)
	case ReportInput:
		if i.partial != nil {
			i.startInput(c, *i.partial)
		}
	}
}

// callWith calls fn with the payload of m. It does nothing when fn is nil or the payload is
// not a T.
func callWith[T any](fn func(T), m *performatives.Message) {
	if fn == nil {
		return
	}
	if p, err := performatives.PayloadAs[T](m); err == nil {
		fn(p)
	}
}

// startInput asks the caller for the task of a further round, on a goroutine of its own, and
// sends the answer to the conversation as a command.
func (i *Initiator) startInput(c *codons.Conversation, r performatives.InformResult) {
	if i.settings.onInput == nil {
		c.Happen(codons.Command{Name: standard.CommandDecline})
		return
	}
	values := context.WithValue(i.values, actors.CallerKey{}, c.CallerFor("the input of the caller"))
	ctx, cancel := context.WithDeadlineCause(values, i.Request().ReplyBy(), codons.ErrDeadline)
	i.endInput = cancel
	c.Agent().System().Work(func() {
		defer cancel()
		answer := codons.Command{Name: standard.CommandDecline}
		returned := false
		defer func() { // also when onInput panics or calls runtime.Goexit
			if v := recover(); v != nil || !returned {
				c.Panicked("", v, debug.Stack())
			}
			c.Tell(answer)
		}()
		answer = i.input(ctx, c, r)
		returned = true
	})
}

// input calls the function of [WithInput] and returns the command for its answer.
func (i *Initiator) input(ctx context.Context, c *codons.Conversation, r performatives.InformResult) codons.Command {
	task, ok := i.settings.onInput(ctx, r)
	if !ok || ctx.Err() != nil { // after the deadline the worker would reject the further round
		return codons.Command{Name: standard.CommandDecline}
	}
	if err := task.Validate(); err != nil {
		c.Agent().Logger().Error("the task of the further round is not valid", "conversation", string(c.ID()), "err", err)
		return codons.Command{Name: standard.CommandDecline}
	}
	return codons.Command{Name: standard.CommandAnswer, Data: task}
}

// Ended sets the result and closes Done. Only a partial result that is final completes the
// conversation without an INFORM_RESULT as its last message.
func (i *Initiator) Ended(c *codons.Conversation, last *performatives.Message) {
	if i.endInput != nil {
		i.endInput()
	}
	var err error
	switch {
	case c.State() != standard.StateCompleted:
		err = c.EndError(last)
	case last == nil || last.Performative() != performatives.ActInformResult: // a partial result that is final
		i.result, i.unserved = *i.partial, i.whyUnserved(c, last)
	default:
		i.result, err = codons.PayloadOf[performatives.InformResult](c, last)
	}
	i.Close(err)
}

// whyUnserved returns the reason why the worker did not serve the further round, nil when the
// caller had declined it.
func (i *Initiator) whyUnserved(c *codons.Conversation, last *performatives.Message) error {
	switch {
	case c.Sent(performatives.ActCancel) != nil:
		return nil
	case last != nil:
		return c.EndError(last)
	case i.given:
		return &codons.EndError{
			Protocol: c.Protocol(), Peer: c.Peer(), State: c.State(),
			Refusal: performatives.Refusal{Code: performatives.CodeTimeout, From: c.Peer()}, Cause: context.DeadlineExceeded,
		}
	}
	return nil
}
