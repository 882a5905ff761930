package tabletest

import "github.com/ribosome-agents/ribosome/codons/machine"

// AwardOne returns the coordination of a contract net: when all members have answered,
// at most one proposal is awarded.
func AwardOne() machine.Coordination {
	return machine.Coordination{
		Name: "award-one", Machine: ContractNet().MustCompile(),
		Rules: []machine.Rule{{
			Name: "award", Doc: "every member has answered: at most one proposal is awarded",
			When: func(c machine.Census) bool { return c.Count(machine.Idle, called) == 0 },
			Of:   []machine.State{proposed},
			Say:  []machine.Choice{{Command: "award", Max: 1}, {Command: "decline"}},
		}},
		Never: []machine.Ban{
			{Name: "two are awarded", When: func(i, _ machine.Census) bool { return i.Count(awarded, completed) > 1 }},
			{Name: "two work", When: func(_, r machine.Census) bool { return r.Count(working, completed) > 1 }},
		},
		Unbidden: []string{"cancel"},
	}
}

// SellOne returns the coordination of an auction: the first bid wins.
func SellOne() machine.Coordination {
	return machine.Coordination{
		Name: "sell-one", Machine: Auction().MustCompile(),
		Rules: []machine.Rule{
			{
				Name: "close", Doc: "it is sold", When: func(c machine.Census) bool { return c.Count("sold") > 0 },
				Of: []machine.State{"opened", "calling", "bid"}, Say: []machine.Choice{{Command: "decline"}},
			},
			{
				Name: "sell", Doc: "a member has bid", When: func(c machine.Census) bool { return c.Count(machine.Idle) == 0 },
				Of: []machine.State{"bid"}, Say: []machine.Choice{{Command: "award", Min: 1, Max: 1}, {Command: "decline"}},
			},
			{
				Name: "call", Doc: "no member has bid: the price falls, or the lot is not sold", When: func(c machine.Census) bool { return c.Count(machine.Idle) == 0 },
				Of: []machine.State{"opened", "calling"}, Say: []machine.Choice{{Command: "call"}, {Command: "decline"}},
			},
		},
		Never: []machine.Ban{{Name: "sold twice", When: func(i, r machine.Census) bool { return max(i.Count("sold"), r.Count("sold")) > 1 }}},
	}
}
