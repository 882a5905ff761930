package codons

import (
	"strconv"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// ContractNetCoordination returns the rules of a caller and many bidders: a decision
// is due once nobody is left to answer the call, and no award is under way. Then
// each proposal is accepted or rejected, and of all bidders together at most winners
// do the task, at least one.
//
// With reserve, a proposal that loses may also be held, and decided about again when
// a winner fails or is lost, or lapses; all that are held are rejected once the
// winners have delivered. A winner that was silent to the end may have done the task
// nevertheless: then it is done twice.
func ContractNetCoordination(winners int, reserve bool) machine.Coordination {
	return tender{contractNet, winners, reserve, false}.coordination()
}

// IteratedContractNetCoordination is [ContractNetCoordination] where a proposal may
// also be answered by a revised call.
func IteratedContractNetCoordination(winners int, reserve bool) machine.Coordination {
	return tender{iteratedContractNet, winners, reserve, true}.coordination()
}

// tender is what the rules of the two contract nets depend on.
type tender struct {
	machine           *machine.Machine
	winners           int
	reserve, iterated bool
}

// open are the states of the initiator in which a proposal awaits its answer.
func (t tender) open() []machine.State {
	if t.reserve {
		return []machine.State{stateProposed, stateHeld}
	}
	return []machine.State{stateProposed}
}

// settled reports whether nothing is under way on which a decision would wait.
func settled(c machine.Census) bool {
	return c.Count(machine.Idle, stateCalled, stateAwarded, stateCancelling) == 0
}

func (t tender) coordination() machine.Coordination {
	winners := max(t.winners, 1)
	c := machine.Coordination{Name: t.machine.Name(), Machine: t.machine, Unbidden: []string{commandCancel}}
	for won := range winners {
		c.Rules = append(c.Rules, t.award(won, winners-won))
	}
	c.Rules = append(c.Rules, machine.Rule{
		Name: "release", Doc: "the winners have delivered: nobody else is needed",
		When: func(c machine.Census) bool { return settled(c) && c.Count(stateCompleted) >= winners },
		Of:   t.open(),
		Say:  []machine.Choice{{Command: commandDecline}},
	})
	c.Never = []machine.Never{{
		Name: "more winners than wanted",
		When: func(initiator, _ machine.Census) bool { return initiator.Count(stateAwarded, stateCompleted) > winners },
	}}
	if !t.reserve {
		c.Rules = append(c.Rules, noReserve)
	}
	if !t.reserve && !t.iterated {
		c.Never = append(c.Never, machine.Never{
			Name: "more do the task than wanted",
			When: func(_, responder machine.Census) bool { return responder.Count(stateWorking, stateCompleted) > winners },
		})
	}
	return c
}

// noReserve says that nothing is held: a command of a rule comes from rules only,
// and this one never is due.
var noReserve = machine.Rule{
	Name: "no reserve", Doc: "never: without a reserve nothing is held",
	When: func(machine.Census) bool { return false },
	Of:   []machine.State{stateProposed},
	Say:  []machine.Choice{{Command: commandHold}},
}

// award is the decision about all proposals when so many have delivered already.
func (t tender) award(won, open int) machine.Rule {
	r := machine.Rule{
		Name: commandAward, Doc: "nobody is left to answer the call",
		When: func(c machine.Census) bool { return settled(c) && c.Count(stateCompleted) == won },
		Of:   t.open(),
		Say:  []machine.Choice{{Command: commandAward, Max: open}, {Command: commandDecline}},
	}
	if won > 0 {
		r.Name, r.Doc = commandAward+" after "+strconv.Itoa(won), "a winner failed, and so many have delivered"
	}
	if t.reserve {
		r.Say = append(r.Say, machine.Choice{Command: commandHold})
	}
	if t.iterated {
		r.Say = append(r.Say, machine.Choice{Command: commandRevise})
	}
	return r
}

var (
	contractNet         = ContractNetTable().MustCompile()
	iteratedContractNet = IteratedContractNetTable().MustCompile()
)
