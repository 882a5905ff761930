package contractnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/group"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// CallForProposals asks the bidders for proposals, awards the task, and waits for the
// winner's result.
//
// Proposals are due after a time ([WithProposalsWithin]). The decision ([WithDecision],
// else [LowestCost]) is made as soon as each bidder has answered. The result is due by
// call.ResultBy, or else by ctx's deadline, or else within [codons.DefaultDeadline].
// The end of ctx withdraws the call from all bidders, at any stage, and
// CallForProposals returns after their receipts.
//
// Inside a conversation that has a budget, each bidder gets an equal part of the rest, for
// its bid and for its work. Of the quantities that [codons.WithBudget] names, each bidder
// gets that amount.
//
// When no bidder delivered, the error joins [ErrNoAward] with the reason of each bidder.
// Otherwise it is an error of [Start], or says which rule a decision broke. The
// Allocation is filled beside every error that is not of Start.
// CallForProposals blocks and must not be called on an agent's own actor.
func CallForProposals(ctx context.Context, p codons.Party, bidders []performatives.AgentID, call Call, opts ...codons.Option) (Allocation, error) {
	t, err := Start(ctx, p, bidders, call, opts...)
	if err != nil {
		return Allocation{}, err
	}
	return t.Wait()
}

// Allocation is the result of a call for proposals. Each bidder is in one of the lists,
// both in the order in which the caller named the bidders.
type Allocation struct {
	Awards []Award
	Lost   []Loss
}

// Bid is the answer of one bidder to a call.
type Bid struct {
	Bidder   performatives.AgentID
	Proposal Proposal // the latest; zero when there is none
	Round    int      // the round of the proposal, from 1; zero when there is none
	Held     bool     // the proposal was kept in reserve: see [WithReserve]
}

// Award is a bid that won, with the result of the work.
type Award struct {
	Bid
	Result performatives.InformResult
}

// Loss is a bidder without a result: it made no bid, or its bid did not win, or it failed.
type Loss struct {
	Bid
	// Err is an [*codons.EndError] whose State says how the bid was lost: refused,
	// not_understood, rejected (others were better), lapsed, timed_out (no answer),
	// failed, cancelled.
	Err error
}

// ErrNoAward says that no bidder delivered: each refused, did not answer, was rejected or
// failed. It is joined with the reason of each.
var ErrNoAward = errors.New("contractnet: no bidder delivered")

// err returns nil when a bidder delivered.
func (a Allocation) err() error {
	if len(a.Awards) > 0 {
		return nil
	}
	errs := []error{ErrNoAward}
	for _, l := range a.Lost {
		errs = append(errs, l.Err)
	}
	return errors.Join(errs...)
}

// Tender is a call for proposals under way. Its methods may be called from any goroutine.
type Tender struct {
	self    actors.Self
	with    settings
	members []*initiatorSide // one for each bidder, in the order of the bidders
	group   *group.Group
	call    Call // of the latest round; read and written only by decisions after Start
}

// Start is [CallForProposals] without the wait. The error is for no bidders, a bidder that is named
// twice, an invalid call, or a party that cannot begin a conversation. With an error no bidder has
// a call any more.
func Start(ctx context.Context, p codons.Party, bidders []performatives.AgentID, call Call, opts ...codons.Option) (*Tender, error) {
	self, err := codons.SelfOf(p)
	if err != nil {
		return nil, err
	}
	t := &Tender{self: self, with: newSettings(opts), call: call}
	if err := checkBidders(bidders); err != nil {
		return nil, err
	}
	t.call.Round = 1
	t.with.options.Apply(codons.WithBudgetShare(ctx, len(bidders)))
	ctx, cancel := codons.Bounded(ctx, call.ResultBy)
	t.call.ResultBy, _ = ctx.Deadline()
	t.group = group.New(t.coordination(len(bidders)), t.decide)
	if err := t.begin(ctx, bidders); err != nil {
		defer cancel()
		return nil, t.group.GiveUp(err)
	}
	t.group.Start(ctx, t.self)
	t.self.System().Work(func() { <-t.group.Done(); cancel() })
	return t, nil
}

func checkBidders(bidders []performatives.AgentID) error {
	if len(bidders) == 0 {
		return errors.New("contractnet: there are no bidders")
	}
	for i, id := range bidders {
		if slices.ContainsFunc(bidders[:i], id.Is) {
			return fmt.Errorf("contractnet: bidder %q is named twice", id)
		}
	}
	return nil
}

// coordination returns the rules of the call. There are at most as many winners as bidders.
func (t *Tender) coordination(bidders int) machine.Coordination {
	winners := min(t.with.winners, bidders)
	if t.with.rounds > 1 {
		return IteratedCoordination(winners, t.with.reserve)
	}
	return Coordination(winners, t.with.reserve)
}

func (t *Tender) codon() *codons.Codon {
	if t.with.rounds > 1 {
		return IteratedCodon
	}
	return Codon
}

// proposalsBy returns the time by which the proposals of a round that begins now are due.
func (t *Tender) proposalsBy() time.Time {
	left := time.Until(t.call.ResultBy)
	within := t.with.within
	within = cmp.Or(max(within, 0), left/2)
	return time.Now().Add(min(within, left))
}

// begin opens the conversations with the bidders, one after the other.
func (t *Tender) begin(ctx context.Context, bidders []performatives.AgentID) error {
	due, cancel := context.WithDeadline(ctx, t.proposalsBy())
	defer cancel()
	for _, id := range bidders {
		member := &initiatorSide{last: Bid{Bidder: id}}
		opening := codons.Opening{Codon: t.codon(), To: id, Act: performatives.ActCFP, Payload: t.call, Options: t.with.options}
		if err := member.Prepare(due, t.self, opening); err != nil {
			return err
		}
		if err := t.group.Begin(ctx, t.self, &member.InitiatorSide, member); err != nil {
			return err
		}
		t.members = append(t.members, member)
	}
	return nil
}

// Done is closed when the conversations with all bidders have ended.
func (t *Tender) Done() <-chan struct{} { return t.group.Done() }

// Cancel withdraws the call from all bidders. It does not wait for their receipts.
func (t *Tender) Cancel() { t.group.Cancel(context.Canceled) }

// Wait waits until [Tender.Done] is closed and returns the result, as [CallForProposals]
// does. It may be called more than once.
func (t *Tender) Wait() (Allocation, error) {
	codons.AwaitEnd(t.self, t.group.Done())
	var a Allocation
	for _, m := range t.members {
		if m.Err() != nil {
			a.Lost = append(a.Lost, Loss{m.last, m.Err()})
		} else {
			a.Awards = append(a.Awards, Award{m.last, m.result})
		}
	}
	if err := t.group.Failed(); err != nil {
		return a, err
	}
	return a, a.err()
}

// settings are the options of a call.
type settings struct {
	options codons.Options
	within  time.Duration // for proposals
	results time.Duration // for the work of a winner
	winners int
	rounds  int
	reserve bool
	decide  func(context.Context, Bidding) Selection
}

func newSettings(opts []codons.Option) settings {
	with := codons.NewOptions(opts...)
	s := codons.Settings[settings](&with)
	s.options, s.winners = with, max(s.winners, 1)
	if s.decide == nil {
		s.decide = LowestCost
	}
	return s
}

// WithProposalsWithin sets the time for proposals, in each round. A bidder that has not
// answered by then is out. The default, and the meaning of zero or less, is half of the
// time that is left until the result is due.
func WithProposalsWithin(d time.Duration) codons.Option {
	return codons.Setting(func(s *settings) { s.within = d })
}

// WithResultWithin sets the time from an award to its result, at most until the call's
// ResultBy. The default, and the meaning of zero or less, is until ResultBy. With
// [WithReserve], set it: a winner that does not answer can be replaced only while time
// is left.
func WithResultWithin(d time.Duration) codons.Option {
	return codons.Setting(func(s *settings) { s.results = d })
}

// WithWinners sets the number of bidders that are awarded the task, at most. Each does all
// of it. The default, and the meaning of less than 1, is 1.
func WithWinners(n int) codons.Option {
	return codons.Setting(func(s *settings) { s.winners = max(n, 1) })
}

// WithDecision sets the function that chooses among the proposals, in place of
// [LowestCost]. It is called when each bidder has answered, and with [WithReserve] again
// when a winner has failed. It runs on a goroutine of its own and may block, while the
// validity of the proposals runs; ctx ends with the call. A Selection that breaks a rule,
// and a panic, withdraw the call from all bidders.
func WithDecision(decide func(ctx context.Context, b Bidding) Selection) codons.Option {
	return codons.Setting(func(s *settings) { s.decide = decide })
}

// WithReserve keeps the bids that did not win, as long as they are valid, until the
// winners have delivered. When a winner fails, there is another decision among them.
// Without this option losing bids are rejected at once, as FIPA specifies. A winner that
// did not answer in time may have done the task: then it is done twice.
func WithReserve() codons.Option { return codons.Setting(func(s *settings) { s.reserve = true }) }

// WithRounds runs an iterated contract net of at most n rounds: a decision may call for
// better proposals ([Selection].Revise). The default, and the meaning of less than 2, is
// one round.
func WithRounds(n int) codons.Option { return codons.Setting(func(s *settings) { s.rounds = n }) }
