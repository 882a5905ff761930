package contractnet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// Bidding is the input of a decision about proposals.
type Bidding struct {
	Call  Call  // of the latest round
	Bids  []Bid // all valid ones, in the order of the bidders; never empty
	Open  int   // the largest number of awards, at least 1
	Again bool  // another round is allowed
}

// Selection is a decision about proposals. The zero Selection rejects all.
type Selection struct {
	Award []performatives.AgentID // the bidders that win
	// Revise names the bidders that may bid again, on the terms of Call. A Call without a
	// task has the task of the round before, and one without terms the terms of that
	// round. ResultBy and Round are ignored: the package sets them.
	Revise []performatives.AgentID
	Call   Call
}

// LowestCost is the decision of a call without [WithDecision]: it awards the b.Open
// proposals of the lowest cost. Of equal ones, those of earlier bidders win.
func LowestCost(_ context.Context, b Bidding) Selection {
	bids := slices.Clone(b.Bids)
	slices.SortStableFunc(bids, func(a, b Bid) int { return cmp.Compare(a.Proposal.Cost, b.Proposal.Cost) })
	var s Selection
	for _, bid := range bids[:min(b.Open, len(bids))] {
		s.Award = append(s.Award, bid.Bidder)
	}
	return s
}

// check returns an error that says which rule the selection breaks, or nil.
func (s Selection) check(b Bidding) error {
	if len(s.Revise) > 0 && !b.Again {
		return fmt.Errorf("the decision calls for another round after round %d, the last", b.Call.Round)
	}
	if len(s.Award) > b.Open {
		return fmt.Errorf("the decision awards %d bids, and at most %d may be", len(s.Award), b.Open)
	}
	named := slices.Concat(s.Award, s.Revise)
	for i, id := range named {
		if slices.ContainsFunc(named[:i], id.Is) {
			return fmt.Errorf("the decision names %q twice", id)
		}
		if !slices.ContainsFunc(b.Bids, func(bid Bid) bool { return bid.Bidder.Is(id) }) {
			return fmt.Errorf("the decision names %q, which has no valid bid", id)
		}
	}
	return nil
}

// decide is the [group.Decider] of a contract net.
func (t *Tender) decide(ctx context.Context, r *machine.Rule, at []machine.State) ([]codons.Command, error) {
	commands := make([]codons.Command, len(at))
	about := r.About(at)
	open := openAwards(r)
	if open == 0 { // the rule releases the reserve
		for _, i := range about {
			commands[i].Name = standard.CommandDecline
		}
		return commands, nil
	}
	b := Bidding{Call: t.call, Open: open, Again: t.call.Round < t.with.rounds}
	for _, i := range about {
		b.Bids = append(b.Bids, t.members[i].bid(at[i]))
	}
	s := t.with.decide(ctx, b)
	if err := s.check(b); err != nil {
		return nil, err
	}
	again := t.revise(s)
	for _, i := range about {
		commands[i] = t.command(t.members[i], s, again)
	}
	return commands, nil
}

// openAwards returns how many awards a rule allows: 0 when the rule is not about awards.
func openAwards(r *machine.Rule) int {
	for _, c := range r.Say {
		if c.Command == commandAward {
			return c.Max
		}
	}
	return 0
}

// revise begins another round and returns its call, or nil when the selection has none.
func (t *Tender) revise(s Selection) *revision {
	if len(s.Revise) == 0 {
		return nil
	}
	call := s.Call
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

// command returns the command of one bidder's conversation. With a reserve, a bid that
// neither wins nor is revised is held.
func (t *Tender) command(m *initiatorSide, s Selection, again *revision) codons.Command {
	id := m.Request().Receiver()
	switch {
	case slices.ContainsFunc(s.Award, id.Is):
		return codons.Command{Name: commandAward, Data: award{Acceptance{m.last.Proposal}, t.deliverBy()}}
	case slices.ContainsFunc(s.Revise, id.Is):
		return codons.Command{Name: commandRevise, Data: *again}
	case t.with.reserve && len(s.Award) > 0:
		return codons.Command{Name: commandHold}
	}
	return codons.Command{Name: standard.CommandDecline}
}

// deliverBy returns the time by which a bid that wins now has to deliver.
func (t *Tender) deliverBy() time.Time {
	by := time.Now().Add(t.with.results)
	if t.with.results <= 0 || by.After(t.call.ResultBy) {
		return t.call.ResultBy
	}
	return by
}
