package library

import (
	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/scatter"
	"github.com/ribosome-agents/ribosome/codons/standard"
)

// ruled is a coordination of the library and the survivors of its mutation, with the reason.
type ruled struct {
	name      string
	suite     verify.CoordinationSuite
	survivors map[string]string
}

const (
	oneWinner  = "there is never more than one bid that was accepted, so no group has two of them (Never)"
	othersOver = "the others have ended before the sale, so none of them is awaited"
)

// coordinations returns the suites of the rules that bind several conversations.
func coordinations() []ruled {
	return []ruled{
		{name: "rules of contract-net, one winner", suite: contractNetSuite(contractnet.Coordination(1, false), 1, false, false)},
		{name: "rules of contract-net, two winners", suite: contractNetSuite(contractnet.Coordination(2, false), 2, false, false)},
		{name: "rules of contract-net, one winner and a reserve", suite: contractNetSuite(contractnet.Coordination(1, true), 1, true, false)},
		{name: "rules of contract-net, two winners and a reserve", suite: contractNetSuite(contractnet.Coordination(2, true), 2, true, false)},
		{name: "rules of iterated-contract-net, one winner", suite: contractNetSuite(contractnet.IteratedCoordination(1, false), 1, false, true)},
		{name: "rules of iterated-contract-net, one winner and a reserve", suite: contractNetSuite(contractnet.IteratedCoordination(1, true), 1, true, true)},
		{name: "rules of scatter-gather, a quorum of two", suite: scatterSuite()},
		{name: "rules of dutch-auction", suite: dutchSuite(), survivors: map[string]string{
			"rule accept a bid: always due":                                 "no bidder has a bid open when another one has won: the sale waits for all that were called",
			"rule sell: after settle":                                       oneWinner,
			"rule sell: says sell (at most 2) in place of sell (at most 1)": oneWinner,
			"rule settle: always due":                                       othersOver,
		}},
		{name: "rules of english-auction", suite: englishSuite(), survivors: map[string]string{
			"rule sell: after settle": oneWinner,
			"rule sell: says sell (at most 2) in place of sell (at most 1)": oneWinner,
			"rule settle: always due": othersOver,
		}},
	}
}

// some returns the condition that at least one member is in one of those states.
func some(in ...machine.State) func(machine.Census) bool {
	return func(c machine.Census) bool { return c.Count(in...) > 0 }
}

// contractNetSuite returns the duties of a caller.
func contractNetSuite(c machine.Coordination, winners int, reserve, iterated bool) verify.CoordinationSuite {
	open := some(machine.Idle, "called", "awarded", standard.StateCancelling)
	undecided := []machine.State{"proposed"}
	say := []string{"award", standard.CommandDecline}
	possible := []verify.Possible{{
		Name: "as many work as are wanted",
		When: func(i, r machine.Census) bool {
			return i.Count("awarded") == winners && r.Count(standard.StateWorking) == winners
		},
	}}
	if reserve {
		undecided, say = append(undecided, "held"), append(say, "hold")
	}
	if iterated {
		say = append(say, "revise")
	}
	done := func(c machine.Census) bool { return c.Count(standard.StateCompleted) >= winners }
	suite := verify.CoordinationSuite{
		Coordination: c,
		Walks:        []verify.GroupWalk{{Members: 2, Network: verify.Calm()}, {Members: 3, Network: verify.Calm()}},
		Duties: []verify.Duty{
			{Name: "no decision while one is under way or awaited", When: open, Of: []machine.State{"proposed", "held"}},
			{
				Name: "each proposal is decided when all have answered",
				When: func(c machine.Census) bool { return !open(c) && !done(c) },
				Of:   undecided, Say: say,
			},
		},
		Possible: possible,
	}
	if reserve || iterated {
		suite.Duties = append(suite.Duties, verify.Duty{
			Name: "nobody is held when the winners have delivered",
			When: func(c machine.Census) bool { return !open(c) && done(c) },
			Of:   undecided, Say: []string{standard.CommandDecline},
		})
	}
	return suite
}

// scatterSuite returns the duties of one that gathers two answers of three.
func scatterSuite() verify.CoordinationSuite {
	const enough, least = 2, 2
	live := []machine.State{delegation.StateRequested, delegation.StateInputGiven, standard.StateWorking, delegation.StateInputNeeded}
	have := func(c machine.Census) bool {
		return c.Count(standard.StateCompleted, delegation.StateDeclining) >= enough
	}
	lost := []machine.State{
		standard.StateCancelling, standard.StateCancelled, standard.StateFailed, standard.StateRejected, standard.StateRefused,
		standard.StateNotUnderstood, standard.StateTimedOut, standard.StateAbandoned, standard.StateMisread,
	}
	reached := func(c machine.Census) bool { return c.Len()-c.Count(lost...) >= least }
	return verify.CoordinationSuite{
		Coordination: scatter.Coordination(enough, least),
		Walks:        []verify.GroupWalk{{Members: 3, Network: verify.Calm()}},
		Duties: []verify.Duty{
			{Name: "two answers are enough", When: have, Of: live, Say: []string{standard.CommandCancel}},
			{Name: "two answers do not come any more", When: func(c machine.Census) bool { return !reached(c) }, Of: live, Say: []string{standard.CommandCancel}},
			{Name: "two answers may come", When: func(c machine.Census) bool { return !have(c) && reached(c) }, Of: live},
		},
	}
}

// auctionWalks are the groups of an auction.
func auctionWalks() []verify.GroupWalk {
	return []verify.GroupWalk{{Members: 2, Network: verify.Calm()}, {Members: 2, Network: verify.Network{NoTimeouts: true}}}
}

// englishSuite returns the duties of an auctioneer whose price rises.
func englishSuite() verify.CoordinationSuite {
	open := some(machine.Idle, "called", standard.StateCancelling)
	when := func(f func(c machine.Census) bool) func(machine.Census) bool {
		return func(c machine.Census) bool { return !open(c) && f(c) }
	}
	bids := func(n, most int) func(machine.Census) bool {
		return when(func(c machine.Census) bool {
			return c.Count("proposed") >= n && c.Count("proposed") <= most && c.Count("leading") == 0
		})
	}
	return verify.CoordinationSuite{
		Coordination: auction.EnglishCoordination(),
		Walks:        auctionWalks(),
		Duties: []verify.Duty{
			{Name: "the round is open", When: open, Of: []machine.State{"proposed", "waiting", "outbid", "leading", "won"}},
			{Name: "a higher bid", When: when(some("proposed")), Of: []machine.State{"leading"}, Say: []string{"outbid"}},
			{Name: "the only bid of the round", When: bids(1, 1), Of: []machine.State{"proposed"}, Say: []string{"accept"}},
			{Name: "several bids of the round", When: bids(2, 3), Of: []machine.State{"proposed"}, Say: []string{"accept", "reject"}},
			{
				Name: "the leader is lost", When: when(func(c machine.Census) bool { return c.Count("proposed", "leading") == 0 }),
				Of: []machine.State{"outbid"}, Say: []string{"restore"},
			},
			{
				Name: "another price, or none",
				When: when(func(c machine.Census) bool {
					return c.Count("proposed") == 0 && (c.Count("leading") > 0 || c.Count("outbid") == 0)
				}),
				Of: []machine.State{"waiting", "outbid"}, Say: []string{"call", "over"},
			},
			{
				Name: "only the leader is left", When: when(func(c machine.Census) bool { return c.Count("proposed", "waiting", "outbid") == 0 }),
				Of: []machine.State{"leading"}, Say: []string{"sell", "over"},
			},
			{
				Name: "sold", When: when(func(c machine.Census) bool { return c.Count("proposed", "waiting", "outbid", "leading") == 0 }),
				Of: []machine.State{"won"}, Say: []string{"settle"},
			},
		},
	}
}

// dutchSuite returns the duties of an auctioneer whose price falls.
func dutchSuite() verify.CoordinationSuite {
	open := some(machine.Idle, "called", standard.StateCancelling)
	taken := some("leading")
	bids := func(n, most int) func(machine.Census) bool {
		return func(c machine.Census) bool {
			return c.Count("proposed") >= n && c.Count("proposed") <= most && c.Count("leading", "won", "sold") == 0
		}
	}
	return verify.CoordinationSuite{
		Coordination: auction.DutchCoordination(),
		Walks:        auctionWalks(),
		Duties: []verify.Duty{
			{Name: "the first bid", When: bids(1, 1), Of: []machine.State{"proposed"}, Say: []string{"accept"}},
			{Name: "two bids at once", When: bids(2, 3), Of: []machine.State{"proposed"}, Say: []string{"accept", "reject"}},
			{Name: "a bid after the first", When: taken, Of: []machine.State{"proposed"}, Say: []string{"reject"}},
			{
				Name: "the price is taken", When: func(c machine.Census) bool { return taken(c) && c.Count("proposed") == 0 },
				Of: []machine.State{"waiting", "called"}, Say: []string{"over"},
			},
			{Name: "the round is open", When: func(c machine.Census) bool { return open(c) && !taken(c) }, Of: []machine.State{"waiting", "won"}},
			{
				Name: "not all have answered", When: func(c machine.Census) bool { return open(c) && c.Count("waiting", "called", "proposed") == 0 },
				Of: []machine.State{"leading"},
			},
			{
				Name: "another price, or none", When: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "leading") == 0 },
				Of: []machine.State{"waiting"}, Say: []string{"call", "over"},
			},
			{
				Name: "only the winner is left", When: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "waiting") == 0 },
				Of: []machine.State{"leading"}, Say: []string{"sell", "over"},
			},
			{
				Name: "sold", When: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "waiting", "leading") == 0 },
				Of: []machine.State{"won"}, Say: []string{"settle"},
			},
		},
	}
}
