package main

import (
	"context"
	"math"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bidder is the agent of a worker. Its point is the worker's current location, which
// only the agent's own actor accesses. It changes with each job, and so do the costs.
type bidder struct{ Worker }

// Describe returns the capabilities for discovery.
func (b *bidder) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: b.Skills}
}

// bestBid is the lowest bid of a round and its bidder: the terms of a revised call.
type bestBid struct {
	Best   float64 `json:"best"`
	Leader string  `json:"leader"`
}

// underbid is the ratio of a bid to the best bid of the round before.
const underbid = 0.95

// ConsiderCall bids the cost plus a margin. In a further round, the leading bidder
// repeats its bid, and the others bid less than the leader but at least their cost.
func (b *bidder) ConsiderCall(ctx context.Context, c contractnet.Called) (contractnet.Proposal, error) {
	job, err := performatives.Decode[Job](c.Task.Parameters)
	if err != nil {
		return contractnet.Proposal{}, err
	}
	if !b.can(job) {
		return contractnet.Proposal{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "no skill in " + job.Skill}
	}
	var cost float64
	if err := c.Agent.Do(ctx, func(actors.Agent) { cost = b.cost(b.point, job) }); err != nil {
		return contractnet.Proposal{}, err
	}
	if len(c.Previous) == 0 {
		return contractnet.Proposal{Cost: cost * (1 + b.Margin)}, nil
	}
	now, err := performatives.Decode[bestBid](c.Terms)
	switch {
	case err != nil:
		return contractnet.Proposal{}, err
	case now.Leader == b.Name:
		return contractnet.Proposal{Cost: now.Best}, nil
	case cost >= now.Best:
		return contractnet.Proposal{}, &performatives.Refusal{Code: performatives.CodeForbidden, Text: "not for less"}
	}
	return contractnet.Proposal{Cost: math.Max(cost, now.Best*underbid)}, nil
}

// jobResult is the result of a job, as the worker reports it.
type jobResult struct {
	Cost float64 `json:"cost"` // of travel and work, to the worker
}

// PerformAward moves the worker to the job.
func (b *bidder) PerformAward(ctx context.Context, a contractnet.Awarded) (performatives.InformResult, error) {
	job, err := performatives.Decode[Job](a.Call.Task.Parameters)
	if err != nil {
		return performatives.InformResult{}, err
	}
	var d jobResult
	err = a.Agent.Do(ctx, func(actors.Agent) {
		d.Cost = b.cost(b.point, job)
		b.point = job.point
	})
	return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(d)}, err
}
