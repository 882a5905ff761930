package main

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
)

// auctioneer auctions jobs among workers, one after the other.
type auctioneer struct {
	self     actors.Self
	bidders  []performatives.AgentID
	iterated bool
}

// maxRounds is the largest number of rounds of a contract net, the first included.
const maxRounds = 20

// allocate calls for proposals for each job, in the order of the queue.
func (a *auctioneer) allocate(ctx context.Context, p problem) (*report, error) {
	r := &report{}
	for _, job := range p.Jobs {
		all, err := contractnet.CallForProposals(ctx, a.self, a.bidders, contractnet.Call{
			Task: performatives.TaskRequest{TaskType: "job", Description: job.Name, Parameters: performatives.ContentOf(job)},
		}, a.options()...)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("%s: %w", job.Name, err)
		}
		if err := r.add(job, all); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (a *auctioneer) options() []codons.Option {
	if !a.iterated {
		return nil // the lowest cost wins
	}
	return []codons.Option{contractnet.WithRounds(maxRounds), contractnet.WithDecision(bargain)}
}

// bargain asks the bidders for lower bids until one of them is left.
func bargain(ctx context.Context, b contractnet.Bidding) contractnet.Selection {
	v := contractnet.LowestCost(ctx, b)
	if !b.Again || len(b.Bids) < 2 {
		return v
	}
	leader := v.Award[0]
	v.Award = nil
	for _, bid := range b.Bids {
		v.Revise = append(v.Revise, bid.Bidder)
		if bid.Bidder == leader {
			v.Call.Terms = performatives.ContentOf(bestBid{Best: bid.Proposal.Cost, Leader: string(leader)})
		}
	}
	return v
}
