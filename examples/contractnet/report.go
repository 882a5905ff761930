package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/performatives"
)

// report is the outcome of the queue.
type report struct {
	Iterated bool      `json:"iterated"`
	Jobs     []outcome `json:"jobs"`
	Price    float64   `json:"price"`   // the sum of the winners' bids
	Cost     float64   `json:"cost"`    // the sum of the winners' costs
	Optimum  float64   `json:"optimum"` // the least possible sum of costs
	Ratio    float64   `json:"ratio"`   // of cost to optimum; 0 when nothing was done
	Undone   int       `json:"undone"`
}

// outcome is the outcome of one job.
type outcome struct {
	Job    string  `json:"job"`
	Skill  string  `json:"skill"`
	Bids   []offer `json:"bids"`
	Winner string  `json:"winner,omitempty"`
	Rounds int     `json:"rounds,omitempty"`
	Price  float64 `json:"price,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
}

// offer is the latest bid of a worker.
type offer struct {
	Worker string  `json:"worker"`
	Price  float64 `json:"price"`
}

// add adds the outcome of a job.
func (r *report) add(j Job, all contractnet.Allocation) error {
	o := outcome{Job: j.Name, Skill: j.Skill, Bids: []offer{}}
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
	return nil
}

func (r *report) sum() {
	for _, o := range r.Jobs {
		r.Price += o.Price
		r.Cost += o.Cost
		if o.Winner == "" {
			r.Undone++
		}
	}
	if r.Optimum > 0 {
		r.Ratio = r.Cost / r.Optimum
	}
}

// undone returns an error if there are jobs that no worker did.
func (r *report) undone() error {
	if r.Undone == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d jobs were left undone, because no worker has the skill; give one to a worker of the file", r.Undone, len(r.Jobs))
}

func (o *options) print(w io.Writer, r *report) error {
	write := r.table
	if o.json {
		write = r.object
	}
	if err := write(w); err != nil && !errors.Is(err, syscall.EPIPE) { // as with head, which closes the pipe early
		return fmt.Errorf("the output is not complete: %w", err)
	}
	return nil
}

func (r *report) object(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (r *report) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "job\tskill\twinner\tprice\tcost\tbids") // Flush returns the error
	for _, o := range r.Jobs {
		var bids []string
		for _, b := range o.Bids {
			bids = append(bids, fmt.Sprintf("%s %.2f", b.Worker, b.Price))
		}
		winner, price, cost := o.Winner, fmt.Sprintf("%.2f", o.Price), fmt.Sprintf("%.2f", o.Cost)
		if winner == "" {
			winner, price, cost = "nobody", "-", "-"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Job, o.Skill, winner, price, cost, strings.Join(bids, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\npaid     %10.2f\ncost     %10.2f  of the jobs, to the workers\n"+
		"optimum  %10.2f  the least it could be for the same jobs in the same order, to someone who knew them all\n"+
		"ratio    %10.3f  of cost to optimum\n", r.Price, r.Cost, r.Optimum, r.Ratio)
	return err
}
