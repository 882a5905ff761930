package contractnet

import (
	"context"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
)

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
