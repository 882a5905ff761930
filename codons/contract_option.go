package codons

import (
	"context"
	"time"
)

// CallOption changes one thing about a contract net: any [Option] does, and so do
// [WithProposalsWithin], [WithResultWithin], [WithWinners], [WithDecision], [WithReserve] and
// [WithRounds].
type CallOption interface{ call(*callOptions) }

// call applies an option of any codon.
func (o Option) call(c *callOptions) { o(&c.options) }

// callOption is an option of this codon only.
type callOption func(*callOptions)

func (o callOption) call(c *callOptions) { o(c) }

type callOptions struct {
	options
	within  time.Duration // for proposals
	results time.Duration // for the work of a winner
	winners int
	rounds  int
	reserve bool
	decide  func(context.Context, Bidding) Selection
}

// WithProposalsWithin says how long bidders have for their proposals, in each
// round. Whoever has not answered by then is out. Zero or less, and without it, is
// half of the time that is left.
func WithProposalsWithin(d time.Duration) CallOption {
	return callOption(func(o *callOptions) { o.within = d })
}

// WithResultWithin says how long a winner has from its award, within the call's
// ResultBy. Zero or less, and without it, is until then; but with [WithReserve], a
// winner that falls silent can be followed by another only if there is time left.
func WithResultWithin(d time.Duration) CallOption {
	return callOption(func(o *callOptions) { o.results = d })
}

// WithWinners says how many may be awarded the task: each does all of it. Less than
// one, and without it, is one.
func WithWinners(n int) CallOption { return callOption(func(o *callOptions) { o.winners = max(n, 1) }) }

// WithDecision has decide choose among the proposals, in place of [LowestCost]. It
// is called when nobody is left to answer the call, and with [WithReserve] again
// when a winner was lost. It may take its time, while the proposals' validity runs:
// it runs on a goroutine of its own, and ctx ends with the call. A Selection that is
// not allowed, and a panic, withdraw the call from all.
func WithDecision(decide func(ctx context.Context, b Bidding) Selection) CallOption {
	return callOption(func(o *callOptions) { o.decide = decide })
}

// WithReserve keeps the bids that did not win, as long as they are valid, until the
// winners have delivered: should one fail, there is another decision, among them.
// Without it the losers are rejected at once, as FIPA has it. A winner that fell
// silent may have done the task nevertheless: then it is done twice.
func WithReserve() CallOption { return callOption(func(o *callOptions) { o.reserve = true }) }

// WithRounds makes it an iterated contract net, of at most so many rounds: a
// decision may call for better proposals ([Selection].Revise). Less than two is none.
func WithRounds(n int) CallOption { return callOption(func(o *callOptions) { o.rounds = n }) }

func newCallOptions(opts []CallOption) callOptions {
	o := callOptions{options: defaultOptions(), winners: 1, decide: LowestCost}
	for _, opt := range opts {
		opt.call(&o)
	}
	return o
}
