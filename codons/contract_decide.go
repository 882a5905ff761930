package codons

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidding is what a decision about proposals is made on.
type Bidding struct {
	Call  Call  // the latest
	Bids  []Bid // all that are valid, in the order of the bidders; never empty
	Open  int   // how many may be awarded at most
	Again bool  // another round is allowed
}

// Selection is a decision about proposals. The zero Selection rejects all.
type Selection struct {
	Award []performatives.AgentID // whose bids win
	// Revise are those who may bid again, on the terms of Call. Its zero value is the
	// call as it was; ResultBy and Round are the codon's.
	Revise []performatives.AgentID
	Call   Call
}

// LowestCost is the decision that is made unless [WithDecision] has another: it
// awards the proposals of the lowest cost, as many as are wanted. Of equal ones,
// those of earlier bidders win.
func LowestCost(_ context.Context, b Bidding) Selection {
	bids := slices.Clone(b.Bids)
	slices.SortStableFunc(bids, func(a, b Bid) int {
		switch {
		case a.Proposal.Cost < b.Proposal.Cost:
			return -1
		case a.Proposal.Cost > b.Proposal.Cost:
			return 1
		}
		return 0
	})
	var v Selection
	for _, bid := range bids[:min(b.Open, len(bids))] {
		v.Award = append(v.Award, bid.Bidder)
	}
	return v
}

// decide is the [decider] of a contract net.
func (t *Tender) decide(ctx context.Context, r *machine.Rule, at []machine.State) ([]order, error) {
	out := make([]order, len(at))
	about := r.About(at)
	open := openAwards(r)
	if open == 0 { // those who won have delivered
		for _, i := range about {
			out[i].command = commandDecline
		}
		return out, nil
	}
	b := Bidding{Call: t.call, Open: open, Again: t.call.Round < t.with.rounds}
	for _, i := range about {
		b.Bids = append(b.Bids, t.members[i].bid(at[i]))
	}
	v := t.with.decide(ctx, b)
	if err := v.check(b); err != nil {
		return nil, err
	}
	again := t.revise(v)
	for _, i := range about {
		out[i] = t.order(t.members[i], v, again)
	}
	return out, nil
}

// openAwards is how many awards a rule allows: none when it is not about awards.
func openAwards(r *machine.Rule) int {
	for _, c := range r.Say {
		if c.Command == commandAward {
			return c.Max
		}
	}
	return 0
}

// revise begins another round, if the verdict has one.
func (t *Tender) revise(v Selection) *revision {
	if len(v.Revise) == 0 {
		return nil
	}
	call := v.Call
	if call.Task.TaskType == "" {
		call.Task = t.call.Task
	}
	if call.Terms.IsZero() {
		call.Terms = t.call.Terms
	}
	call.ResultBy, call.Round = t.call.ResultBy, t.call.Round+1
	t.call = call
	return &revision{call, t.proposalsBy()}
}

// order is what a verdict says to one bidder. Who neither wins nor bids again may
// still be needed, should a winner fail.
func (t *Tender) order(m *tendered, v Selection, again *revision) order {
	id := m.conversation.peer
	switch {
	case slices.ContainsFunc(v.Award, id.Is):
		return order{commandAward, award{Acceptance{m.last.Proposal}, t.deliverBy()}}
	case slices.ContainsFunc(v.Revise, id.Is):
		return order{commandRevise, *again}
	case t.with.reserve && len(v.Award) > 0:
		return order{command: commandHold}
	}
	return order{command: commandDecline}
}

// deliverBy is until when a winner of now has to deliver.
func (t *Tender) deliverBy() time.Time {
	by := time.Now().Add(t.with.results)
	if t.with.results <= 0 || by.After(t.call.ResultBy) {
		return t.call.ResultBy
	}
	return by
}

// check says what is wrong with a verdict.
func (v Selection) check(b Bidding) error {
	if len(v.Revise) > 0 && !b.Again {
		return fmt.Errorf("the decision calls for another round after round %d, the last", b.Call.Round)
	}
	if len(v.Award) > b.Open {
		return fmt.Errorf("the decision awards %d bids, and at most %d may be", len(v.Award), b.Open)
	}
	named := slices.Concat(v.Award, v.Revise)
	for i, id := range named {
		if slices.ContainsFunc(named[:i], id.Is) {
			return fmt.Errorf("the decision names %q twice", id)
		}
		if !slices.ContainsFunc(b.Bids, func(bid Bid) bool { return bid.Bidder.Is(id) }) {
			return fmt.Errorf("the decision names %q, who has no valid bid", id)
		}
	}
	return nil
}
