package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/discovery"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrUndecided is the error of an approval without a decision and without a default. It wraps
// the error of each approver: errors.As finds the first, errors.Is all codes.
var ErrUndecided = errors.New("approval: no approver decided")

// Approval is the result of [Approve].
type Approval struct {
	Approved bool
	By       performatives.AgentID // the approver that decided; empty for the default
	Reason   string                // the approver's reason, or why no approver decided
	Default  bool                  // no approver decided: see [WithDefault]
}

// Approve proposes a step to an approver and waits for the decision. The caller must take the
// step only if the result is Approved.
//
// The deadline is ctx's, or else [codons.DefaultDeadline]. With [WithEscalation] each
// approver has an equal share of the time left. An approver that does not decide in its
// share gets CANCEL, and the next is asked; so it is when an approver refuses, fails or does
// not exist. One eighth of each share, at most a second, is kept for the CANCEL, so that
// both sides agree on whether a late decision counts. After the last approver the default
// applies; without one, the error is [ErrUndecided].
//
// Any other error ends the approval without a decision: ctx was cancelled, the party has
// stopped, or the step is not valid. Approve must not be called on an agent's own actor.
func Approve(ctx context.Context, p codons.Party, approver performatives.AgentID, s Step, opts ...codons.Option) (Approval, error) {
	with := codons.NewOptions(opts...)
	o := codons.Settings[approveOptions](&with)
	o.options = with
	o.chain = append([]performatives.AgentID{approver}, o.chain...)
	by, ok := ctx.Deadline()
	if !ok {
		by = time.Now().Add(codons.DefaultDeadline)
	}
	var decided Approval
	var end machine.State
	var errs []error
	err := discovery.UntilDone(ctx, p, o.chain, func(id performatives.AgentID) machine.State {
		v, err := o.ask(ctx, p, id, s, time.Until(by)/time.Duration(len(o.chain)-len(errs)))
		decided, errs = Approval{Approved: v.Accepted, By: id, Reason: v.Reason}, append(errs, err)
		end = discovery.EndState(err)
		return end
	})
	switch {
	case err != nil:
		return Approval{}, err
	case end == standard.StateCompleted:
		return decided, nil
	case end == standard.StateAbandoned || len(errs) > 0 && errors.Is(ctx.Err(), context.Canceled):
		return Approval{}, errs[len(errs)-1]
	case errors.Is(ctx.Err(), context.Canceled): // before any agent was asked
		return Approval{}, actors.EndOf(ctx)
	}
	if actors.DeadlinePassed(by, time.Now()) { // the last approver was cancelled before it
		errs = append(errs, context.DeadlineExceeded)
	}
	return o.undecided(errors.Join(errs...))
}

type approveOptions struct {
	options  codons.Options
	chain    []performatives.AgentID
	fallback *bool
	seen     func(performatives.AgentID)
}

// WithEscalation names the approvers to ask, in order, when the first approver does not decide.
func WithEscalation(next ...performatives.AgentID) codons.Option {
	return codons.Setting(func(o *approveOptions) { o.chain = append(o.chain, next...) })
}

// WithDefault sets the decision for the case that no approver decides.
func WithDefault(approved bool) codons.Option {
	return codons.Setting(func(o *approveOptions) { o.fallback = &approved })
}

// WithSeen calls fn when an approver has seen the step ([ProposedStep.Seen]). fn must not block
// or wait for the approval. A panic of fn ends that approver's conversation.
func WithSeen(fn func(by performatives.AgentID)) codons.Option {
	return codons.Setting(func(o *approveOptions) { o.seen = fn })
}

// ask asks one approver, with share as its deadline.
func (o *approveOptions) ask(ctx context.Context, p codons.Party, id performatives.AgentID, s Step, share time.Duration) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	opts := o.options
	if o.seen != nil {
		opts.Apply(codons.WithAgreed(func() { o.seen(id) }))
	}
	pending, err := codons.Question[Verdict]{
		Opening: codons.Opening{Codon: Codon, To: id, Act: performatives.ActPropose, Payload: s}, Read: readVerdict,
	}.StartWith(ctx, p, opts)
	if err != nil {
		return Verdict{}, err
	}
	defer p.Self().System().AfterFunc(share-min(share/8, time.Second), pending.Cancel)()
	return pending.Wait()
}

// undecided returns the default, or the error when there is none.
func (o *approveOptions) undecided(why error) (Approval, error) {
	why = cmp.Or(why, context.DeadlineExceeded) // the deadline passed before the first question
	if o.fallback == nil {
		return Approval{}, fmt.Errorf("%w: %w", ErrUndecided, why)
	}
	return Approval{Approved: *o.fallback, Reason: fmt.Sprintf("no approver decided: %v", why), Default: true}, nil
}

// Step is what the initiator will do if it is approved.
type Step struct {
	What string                `json:"what"`          // required: a sentence for people
	Why  string                `json:"why,omitempty"` // a reason for people
	Data performatives.Content `json:"data,omitzero"` // data for a program that decides
}

// Act returns [performatives.ActPropose].
func (Step) Act() performatives.Performative { return performatives.ActPropose }

// Validate reports a step without What.
func (s Step) Validate() error {
	if s.What == "" {
		return &performatives.Refusal{
			Code: performatives.CodeInvalidPayload, Field: "what", Text: "what: want a description of the step, got nothing",
		}
	}
	return nil
}

// Approver is an agent that approves or denies steps of other agents: the responder of [Codon].
// [Queue] is an Approver for a person.
type Approver interface {
	actors.Agent
	// DecideStep returns the verdict. It may block until ctx ends: at the deadline, when
	// the next approver is asked, or when the initiator withdraws the step. An error says
	// that it does not decide, and the next approver is asked. A [*performatives.Refusal]
	// is sent with its code and text; any other error, or a panic, without its text.
	// DecideStep runs on a goroutine of its conversation: it must not use the agent's
	// fields except by [actors.Self.Do].
	DecideStep(ctx context.Context, s ProposedStep) (Verdict, error)
}

// ProposedStep is a step that waits for a verdict.
type ProposedStep struct {
	Step
	Message *performatives.Message // the PROPOSE: its Sender will take the step, its ReplyBy is the deadline
	Agent   actors.Self            // the handle of the approver
	agree   func() error
}

// Seen tells the initiator that the step has been seen and will be decided about (AGREE).
// Afterwards the approver decides or fails, but cannot refuse. The error says that the
// conversation has ended.
func (s ProposedStep) Seen() error { return s.agree() }

// Service makes every [Approver] answer the PROPOSE of [Codon]. A PROPOSE without the codon's name
// is for [ProposeService].
var Service = codons.NewService(Codon, codons.ServiceOptions{}, newResponder)

func newResponder(self actors.Self, role Approver, t codons.Times) actors.Responder {
	return codons.AnswerWith(self, role, Codon, t, func(ctx context.Context, h *codons.Handler) codons.Command {
		step, err := performatives.PayloadAs[Step](h.Message())
		if err != nil {
			return h.TurnDown(err)
		}
		v, err := role.DecideStep(ctx, ProposedStep{Step: step, Message: h.Message(), Agent: self, agree: h.Agree})
		if err != nil {
			return h.TurnDown(err)
		}
		return v.command()
	})
}
