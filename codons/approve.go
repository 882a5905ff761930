package codons

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ribosome-agents/ribosome/performatives"
)

// ErrUndecided says that no approver decided about a step, and that there is no
// default. errors.As finds in it how the first of them ended, errors.Is all codes.
var ErrUndecided = errors.New("codons: nobody decided")

// Approval is what became of a step that waited for one.
type Approval struct {
	Approved bool
	By       performatives.AgentID // who decided; empty when it is the default
	Reason   string                // the approver's, or why nobody decided
	Default  bool                  // nobody decided in time: see [WithDefault]
}

// Approve proposes a step to an approver and waits for the decision; whoever calls it
// takes the step only where it is Approved.
//
// The deadline is ctx's, or else [DefaultDeadline] from now. With [WithEscalation]
// each approver has an equal share of what is left: when it has not decided by then,
// refuses, fails or is not there, it gets CANCEL and the next is asked. Of each share
// an eighth, at most a second, is kept for the CANCEL, so that approver and asker
// agree on whether a late decision counts. At the end the default applies, and without
// one the error is [ErrUndecided]. Any other error means that nobody was asked to the
// end: ctx was cancelled, the party has stopped, the step is not valid. It must not be
// called on an agent's own actor.
func Approve(ctx context.Context, p Party, approver performatives.AgentID, s Step, opts ...ApproveOption) (Approval, error) {
	o := approveOptions{options: defaultOptions(), chain: []performatives.AgentID{approver}}
	for _, opt := range opts {
		opt.approve(&o)
	}
	by, ok := ctx.Deadline()
	if !ok {
		by = time.Now().Add(DefaultDeadline)
	}
	var undecided []error
	for i, who := range o.chain {
		share := time.Until(by) / time.Duration(len(o.chain)-i)
		if share <= 0 {
			break
		}
		v, err := o.ask(ctx, p, who, s, share)
		switch {
		case err == nil:
			return Approval{Approved: v.Accepted, By: who, Reason: v.Reason}, nil
		case o.over(ctx, err):
			return Approval{}, err
		}
		undecided = append(undecided, err)
	}
	return o.undecided(errors.Join(undecided...))
}

// ApproveOption changes one thing about an approval: any [Option] does, and so do
// [WithEscalation], [WithDefault] and [WithSeen].
type ApproveOption interface{ approve(*approveOptions) }

// approve applies an option of any codon.
func (o Option) approve(a *approveOptions) { o(&a.options) }

// approveOption is an option of this codon only.
type approveOption func(*approveOptions)

func (o approveOption) approve(a *approveOptions) { o(a) }

type approveOptions struct {
	options
	chain    []performatives.AgentID
	fallback *bool
	seen     func(performatives.AgentID)
}

// WithEscalation names who is asked, one after the other, when the first approver does
// not decide.
func WithEscalation(next ...performatives.AgentID) ApproveOption {
	return approveOption(func(o *approveOptions) { o.chain = append(o.chain, next...) })
}

// WithDefault is the decision when nobody makes one.
func WithDefault(approved bool) ApproveOption {
	return approveOption(func(o *approveOptions) { o.fallback = &approved })
}

// WithSeen has fn called when an approver has seen the step. fn must not block, nor
// wait for the approval; its panic ends that approver's conversation.
func WithSeen(fn func(by performatives.AgentID)) ApproveOption {
	return approveOption(func(o *approveOptions) { o.seen = fn })
}

// ask asks one approver, for that long.
func (o *approveOptions) ask(ctx context.Context, p Party, who performatives.AgentID, s Step, share time.Duration) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	opts := o.options
	if o.seen != nil {
		opts.agreed = func() { o.seen(who) }
	}
	pending, err := question[Verdict]{
		machine: approval, to: who, act: performatives.ActPropose, payload: s, read: readVerdict,
	}.start(ctx, p, opts)
	if err != nil {
		return Verdict{}, err
	}
	defer p.Self().System().AfterFunc(share-min(share/8, time.Second), pending.Cancel)()
	return pending.Wait()
}

// over reports whether an error ends the approval, and not only the turn of one
// approver.
func (o *approveOptions) over(ctx context.Context, err error) bool {
	var end *EndError
	return errors.Is(ctx.Err(), context.Canceled) || !errors.As(err, &end) ||
		end.State == stateAbandoned && end.Refusal.Code != performatives.CodeExpired
}

func (o *approveOptions) undecided(why error) (Approval, error) {
	if why == nil {
		why = context.DeadlineExceeded // before anybody was asked
	}
	if o.fallback == nil {
		return Approval{}, fmt.Errorf("%w: %w", ErrUndecided, why)
	}
	return Approval{Approved: *o.fallback, Reason: fmt.Sprintf("nobody decided: %v", why), Default: true}, nil
}
