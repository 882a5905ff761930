package codons

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// CallForProposals has agents bid for a task, awards it, and waits for what the
// winner delivers: the calling side of [ContractNetTable], with many.
//
// Proposals are taken for a while ([WithProposalsWithin]); the decision
// ([WithDecision]) is made as soon as all have answered. The result is due by the
// call's ResultBy, or else ctx's deadline, or else within [DefaultDeadline].
// Cancelling ctx withdraws the call from all, at any stage, and waits for their
// receipts. Below a conversation that has a budget, each bidder gets an equal part of
// what is left, also for the work should it win, but of what [WithBudget] names, that
// much each.
//
// The error joins [ErrNoAward] with why each bid was lost, when nobody delivered; it
// is that of [StartCall] when nothing was begun, and tells of a decision that was
// not allowed. The Allocation tells of each bidder also beside an error. It must not
// be called on an agent's own actor.
func CallForProposals(ctx context.Context, p Party, bidders []performatives.AgentID, call Call, opts ...CallOption) (Allocation, error) {
	t, err := StartCall(ctx, p, bidders, call, opts...)
	if err != nil {
		return Allocation{}, err
	}
	return t.Wait()
}

// Tender is a call for proposals that was begun. Its methods may be called from any
// goroutine.
type Tender struct {
	with    callOptions
	members []*tendered
	group   *coordinator
	call    Call // the latest; touched only by the decisions once begun
}

// StartCall is [CallForProposals] without the wait. The error says that there are no
// bidders, or that one is there twice, or what is wrong with the call, or that the
// party cannot begin: then nobody is called any more.
func StartCall(ctx context.Context, p Party, bidders []performatives.AgentID, call Call, opts ...CallOption) (*Tender, error) {
	t := &Tender{with: newCallOptions(opts), call: call}
	if err := checkBidders(bidders); err != nil {
		return nil, err
	}
	t.call.Round = 1
	t.call.ResultBy = resultBy(ctx, call)
	parted(ctx, len(bidders))(&t.with.options)
	ctx, cancel := context.WithDeadline(ctx, t.call.ResultBy)
	rules := t.rules(len(bidders))
	t.group = newCoordinator(rules, t.decide)
	if err := t.begin(ctx, p.Self(), rules.Machine, bidders); err != nil {
		defer cancel()
		return nil, t.group.giveUp(err)
	}
	t.group.start(ctx, p.Self())
	p.Self().System().Work(func() { <-t.group.done; cancel() })
	return t, nil
}

func checkBidders(bidders []performatives.AgentID) error {
	if len(bidders) == 0 {
		return fmt.Errorf("codons: %s: there are no bidders", contractNet.Name())
	}
	for i, id := range bidders {
		if slices.ContainsFunc(bidders[:i], id.Is) {
			return fmt.Errorf("codons: %s: %q is called twice", contractNet.Name(), id)
		}
	}
	return nil
}

// resultBy is until when a winner has to deliver: never later than ctx allows.
func resultBy(ctx context.Context, call Call) time.Time {
	by, ok := ctx.Deadline()
	if !ok {
		by = time.Now().Add(DefaultDeadline)
	}
	if !call.ResultBy.IsZero() && (!ok || call.ResultBy.Before(by)) {
		by = call.ResultBy
	}
	return by
}

// rules are those of one round or of more. More winners than bidders are none.
func (t *Tender) rules(bidders int) machine.Coordination {
	winners := min(t.with.winners, bidders)
	if t.with.rounds > 1 {
		return IteratedContractNetCoordination(winners, t.with.reserve)
	}
	return ContractNetCoordination(winners, t.with.reserve)
}

// proposalsBy is until when the proposals of a round are due.
func (t *Tender) proposalsBy() time.Time {
	left := time.Until(t.call.ResultBy)
	within := t.with.within
	if within <= 0 {
		within = left / 2
	}
	return time.Now().Add(min(within, left))
}

// begin calls the bidders, one after the other.
func (t *Tender) begin(ctx context.Context, self actors.Self, m *machine.Machine, bidders []performatives.AgentID) error {
	by := t.proposalsBy()
	due, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	for _, id := range bidders {
		member := &tendered{asker: asker{options: t.with.options}, resultBy: t.call.ResultBy, by: by, round: 1, last: Bid{Bidder: id}}
		if err := member.prepare(due, self, m, id, performatives.ActCFP, t.call); err != nil {
			return err
		}
		if err := t.group.begin(ctx, self, m, &member.asker, member); err != nil {
			return err
		}
		t.members = append(t.members, member)
	}
	return nil
}

// Done is closed when the call has ended with all bidders.
func (t *Tender) Done() <-chan struct{} { return t.group.done }

// Cancel withdraws the call from all bidders. It does not wait for their ends.
func (t *Tender) Cancel() { t.group.cancel(context.Canceled) }

// Wait returns what came of the call, as [CallForProposals] does.
func (t *Tender) Wait() (Allocation, error) {
	awaitEnd(t.members[0].conversation.self, t.group.done)
	var a Allocation
	for _, m := range t.members {
		if m.err != nil {
			a.Lost = append(a.Lost, Loss{m.last, m.err})
		} else {
			a.Awards = append(a.Awards, Award{m.last, m.result})
		}
	}
	if err := t.group.failed(); err != nil {
		return a, err
	}
	return a, a.end()
}
