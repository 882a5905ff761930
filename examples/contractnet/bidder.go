package main

import (
	"context"
	"math"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// bidder is the agent of a worker. Where it is belongs to its own actor, and moves
// with each job that it does, and so do its costs.
type bidder struct{ Worker }

// Describe is what discovery sees.
func (b *bidder) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: b.Skills}
}

// standing is how the bids of a round stand: the terms of a revised call.
type standing struct {
	Best   float64 `json:"best"`
	Leader string  `json:"leader"`
}

// underbid is the part of the best price that the next bid tries.
const underbid = 0.95

// ConsiderCall bids the cost and a margin. In a further round, whoever leads repeats
// its bid, and the others bid less, though never less than their cost.
func (b *bidder) ConsiderCall(ctx context.Context, c codons.Called) (codons.Proposal, error) {
	job, err := performatives.Decode[Job](c.Task.Parameters)
	if err != nil {
		return codons.Proposal{}, err
	}
	if !b.can(job) {
		return codons.Proposal{}, &performatives.Refusal{Code: performatives.CodeIncapable, Text: "no skill in " + job.Skill}
	}
	var cost float64
	if err := c.Agent.Do(ctx, func(actors.Agent) { cost = b.cost(b.place, job) }); err != nil {
		return codons.Proposal{}, err
	}
	if len(c.Previous) == 0 {
		return codons.Proposal{Cost: cost * (1 + b.Margin)}, nil
	}
	now, err := performatives.Decode[standing](c.Terms)
	switch {
	case err != nil:
		return codons.Proposal{}, err
	case now.Leader == b.Name:
		return codons.Proposal{Cost: now.Best}, nil
	case cost >= now.Best:
		return codons.Proposal{}, &performatives.Refusal{Code: performatives.CodeForbidden, Text: "not for less"}
	}
	return codons.Proposal{Cost: math.Max(cost, now.Best*underbid)}, nil
}

// done is what a worker says of a job.
type done struct {
	Cost float64 `json:"cost"` // what it has cost the worker
}

// PerformAward goes where the job is and does it.
func (b *bidder) PerformAward(ctx context.Context, a codons.Awarded) (performatives.InformResult, error) {
	job, err := performatives.Decode[Job](a.Call.Task.Parameters)
	if err != nil {
		return performatives.InformResult{}, err
	}
	var d done
	err = a.Agent.Do(ctx, func(actors.Agent) {
		d.Cost = b.cost(b.place, job)
		b.place = job.place
	})
	return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(d)}, err
}
