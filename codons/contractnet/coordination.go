package contractnet

import (
	"strconv"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// Coordination returns the rules of a caller and many bidders. A decision is due when no
// bidder has an answer to the call open and no award is under way. The decision accepts or
// rejects each proposal. Invariant: awarded and completed bidders together are at most
// winners, which is at least 1.
//
// With reserve, a decision may also hold a proposal, and decides about it again when a
// winner fails, lapses or is lost. All held proposals are rejected when the winners have
// delivered. A winner that did not answer may have done the task: then it is done
// twice.
func Coordination(winners int, reserve bool) machine.Coordination {
	return rules{max(winners, 1), reserve, false}.of(Codon)
}

// IteratedCoordination is [Coordination] for [IteratedTable]: a decision may also answer a
// proposal by a revised call.
func IteratedCoordination(winners int, reserve bool) machine.Coordination {
	return rules{max(winners, 1), reserve, true}.of(IteratedCodon)
}

// rules are the parameters of a coordination.
type rules struct {
	winners           int
	reserve, iterated bool
}

func (r rules) of(c *codons.Codon) machine.Coordination {
	all := r.coordination()
	all.Name, all.Machine = c.Name(), c.Machine()
	return all
}

// coordination returns the rules, for a codon that has no machine yet.
func (r rules) coordination() machine.Coordination {
	c := machine.Coordination{Unbidden: []string{standard.CommandCancel}}
	if r.reserve || r.iterated {
		for won := range r.winners {
			c.Rules = append(c.Rules, r.award(won))
		}
		c.Rules = append(c.Rules, machine.Rule{
			Name: "release", Doc: "the winners have delivered: the other bids are not needed",
			When: func(c machine.Census) bool { return settled(c) && c.Count(standard.StateCompleted) >= r.winners },
			Of:   r.undecided(),
			Say:  []machine.Choice{{Command: standard.CommandDecline}},
		})
	} else { // one decision is about all proposals
		c.Rules = append(c.Rules, r.award(0))
	}
	if !r.reserve {
		c.Rules = append(c.Rules, noReserve)
	}
	c.Never = r.never()
	return c
}

// award is the rule of the decision when won bidders have delivered.
func (r rules) award(won int) machine.Rule {
	rule := machine.Rule{
		Name: commandAward, Doc: "each bidder has answered the call",
		When: func(c machine.Census) bool { return settled(c) && c.Count(standard.StateCompleted) == won },
		Of:   r.undecided(),
		Say:  []machine.Choice{{Command: commandAward, Max: r.winners - won}, {Command: standard.CommandDecline}},
	}
	if won > 0 {
		rule.Name, rule.Doc = commandAward+" after "+strconv.Itoa(won), "a winner failed, and so many have delivered"
	}
	if r.reserve {
		rule.Say = append(rule.Say, machine.Choice{Command: commandHold})
	}
	if r.iterated {
		rule.Say = append(rule.Say, machine.Choice{Command: commandRevise})
	}
	return rule
}

// undecided are the caller's states in which a proposal has no answer.
func (r rules) undecided() []machine.State {
	if r.reserve {
		return []machine.State{stateProposed, stateHeld}
	}
	return []machine.State{stateProposed}
}

// settled reports whether no conversation is in a state that a decision waits for.
func settled(c machine.Census) bool {
	return c.Count(machine.Idle, stateCalled, stateAwarded, standard.StateCancelling) == 0
}

// noReserve is the rule of commandHold in a coordination without a reserve. A command that
// no rule names would be free to come at any time; this rule is never due.
var noReserve = machine.Rule{
	Name: "no reserve", Doc: "never: without a reserve no proposal is held",
	When: func(machine.Census) bool { return false },
	Of:   []machine.State{stateProposed},
	Say:  []machine.Choice{{Command: commandHold}},
}

// never are the combinations of states that must not occur. With a reserve or with
// rounds, a bidder whose failure was lost may work beside its replacement.
func (r rules) never() []machine.Ban {
	all := []machine.Ban{{
		Name: "more winners than wanted",
		When: func(initiator, _ machine.Census) bool {
			return initiator.Count(stateAwarded, standard.StateCompleted) > r.winners
		},
	}}
	if !r.reserve {
		all = append(all, machine.Ban{
			Name: "a proposal is held without a reserve",
			When: func(initiator, _ machine.Census) bool { return initiator.Count(stateHeld) > 0 },
		})
	}
	if !r.reserve && !r.iterated {
		all = append(all, machine.Ban{
			Name: "more bidders do the task than wanted",
			When: func(_, responder machine.Census) bool {
				return responder.Count(standard.StateWorking, standard.StateCompleted) > r.winners
			},
		})
	}
	return all
}
