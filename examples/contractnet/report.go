package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
)

// report is the outcome of the queue.
type report struct {
	Jobs  []outcome
	Price float64 // the sum of the winners' bids
	Cost  float64 // the sum of the winners' costs
}

// outcome is the outcome of one job.
type outcome struct {
	Job    string
	Skill  string
	Bids   []offer
	Winner string
	Rounds int
	Price  float64
	Cost   float64
}

// offer is the latest bid of a worker.
type offer struct {
	Worker string
	Price  float64
}

// add adds the outcome of a job.
func (r *report) add(j Job, all contractnet.Allocation) error {
	o := outcome{Job: j.Name, Skill: j.Skill}
	bid := func(b contractnet.Bid) {
		if b.Round > 0 {
			o.Bids = append(o.Bids, offer{string(b.Bidder), b.Proposal.Cost})
		}
	}
	for _, w := range all.Awards {
		d, err := performatives.Decode[jobResult](w.Result.Details)
		if err != nil {
			return fmt.Errorf("%s: the result of %s: %w", j.Name, w.Bidder, err)
		}
		o.Winner, o.Rounds, o.Price, o.Cost = string(w.Bidder), w.Round, w.Proposal.Cost, d.Cost
		bid(w.Bid)
	}
	for _, l := range all.Lost {
		bid(l.Bid)
	}
	slices.SortStableFunc(o.Bids, func(a, b offer) int { return cmp.Compare(a.Price, b.Price) })
	r.Jobs = append(r.Jobs, o)
	r.Price, r.Cost = r.Price+o.Price, r.Cost+o.Cost
	return nil
}

// print prints the report.
func (r *report) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "job\tskill\twinner\tprice\tcost\tbids") // Flush returns the error
	for _, o := range r.Jobs {
		var bids []string
		for _, b := range o.Bids {
			bids = append(bids, fmt.Sprintf("%s %.2f", b.Worker, b.Price))
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.2f\t%s\n", o.Job, o.Skill, o.Winner, o.Price, o.Cost, strings.Join(bids, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npaid  %10.2f\ncost  %10.2f  of the jobs, to the workers\n", r.Price, r.Cost)
	return err
}
