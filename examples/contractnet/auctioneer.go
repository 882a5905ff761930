package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// auctioneer has workers bid for jobs, one after the other.
type auctioneer struct {
	self     actors.Self
	bidders  []performatives.AgentID
	iterated bool
}

// maxRounds is how often the workers may underbid each other, and once more.
const maxRounds = 20

// allocate calls for proposals for each job, in the order of the queue. A job that
// nobody can do stays undone.
func (a *auctioneer) allocate(ctx context.Context, p problem) (*report, error) {
	r := &report{Iterated: a.iterated, Optimum: p.optimum()}
	for _, job := range p.Jobs {
		all, err := codons.CallForProposals(ctx, a.self, a.bidders, codons.Call{
			Task: performatives.TaskRequest{TaskType: "job", Description: job.Name, Parameters: performatives.ContentOf(job)},
		}, a.options()...)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && (p.feasible(job) || !errors.Is(err, codons.ErrNoAward)):
			return nil, fmt.Errorf("%s: %w", job.Name, err)
		}
		if err := r.add(job, all); err != nil {
			return nil, err
		}
	}
	r.sum()
	return r, nil
}

func (a *auctioneer) options() []codons.CallOption {
	if !a.iterated {
		return nil // the lowest cost wins
	}
	return []codons.CallOption{codons.WithRounds(maxRounds), codons.WithDecision(bargain)}
}

// bargain has the workers underbid each other until one is left.
func bargain(ctx context.Context, b codons.Bidding) codons.Selection {
	v := codons.LowestCost(ctx, b)
	if !b.Again || len(b.Bids) < 2 {
		return v
	}
	leader := v.Award[0]
	v.Award = nil
	for _, bid := range b.Bids {
		v.Revise = append(v.Revise, bid.Bidder)
		if bid.Bidder == leader {
			v.Call.Terms = performatives.ContentOf(standing{Best: bid.Proposal.Cost, Leader: string(leader)})
		}
	}
	return v
}
