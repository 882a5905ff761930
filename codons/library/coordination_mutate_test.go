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
	suite     coordinationSuite
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
func contractNetSuite(c machine.Coordination, winners int, reserve, iterated bool) coordinationSuite {
	open := some(machine.Idle, "called", "awarded", standard.StateCancelling)
	undecided := []machine.State{"proposed"}
	say := []string{"award", standard.CommandDecline}
	working := []possible{{
		name: "as many work as are wanted",
		when: func(i, r machine.Census) bool {
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
	suite := coordinationSuite{
		coordination: c,
		walks:        []groupWalk{{members: 2, network: verify.Calm()}, {members: 3, network: verify.Calm()}},
		duties: []duty{
			{name: "no decision while one is under way or awaited", when: open, of: []machine.State{"proposed", "held"}},
			{
				name: "each proposal is decided when all have answered",
				when: func(c machine.Census) bool { return !open(c) && !done(c) },
				of:   undecided, say: say,
			},
		},
		possible: working,
	}
	if reserve || iterated {
		suite.duties = append(suite.duties, duty{
			name: "nobody is held when the winners have delivered",
			when: func(c machine.Census) bool { return !open(c) && done(c) },
			of:   undecided, say: []string{standard.CommandDecline},
		})
	}
	return suite
}

// scatterSuite returns the duties of one that gathers two answers of three.
func scatterSuite() coordinationSuite {
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
	return coordinationSuite{
		coordination: scatter.Coordination(enough, least),
		walks:        []groupWalk{{members: 3, network: verify.Calm()}},
		duties: []duty{
			{name: "two answers are enough", when: have, of: live, say: []string{standard.CommandCancel}},
			{name: "two answers do not come any more", when: func(c machine.Census) bool { return !reached(c) }, of: live, say: []string{standard.CommandCancel}},
			{name: "two answers may come", when: func(c machine.Census) bool { return !have(c) && reached(c) }, of: live},
		},
	}
}

// auctionWalks are the groups of an auction.
func auctionWalks() []groupWalk {
	return []groupWalk{{members: 2, network: verify.Calm()}, {members: 2, network: verify.Network{NoTimeouts: true}}}
}

// englishSuite returns the duties of an auctioneer whose price rises.
func englishSuite() coordinationSuite {
	open := some(machine.Idle, "called", standard.StateCancelling)
	when := func(f func(c machine.Census) bool) func(machine.Census) bool {
		return func(c machine.Census) bool { return !open(c) && f(c) }
	}
	bids := func(n, most int) func(machine.Census) bool {
		return when(func(c machine.Census) bool {
			return c.Count("proposed") >= n && c.Count("proposed") <= most && c.Count("leading") == 0
		})
	}
	return coordinationSuite{
		coordination: auction.EnglishCoordination(),
		walks:        auctionWalks(),
		duties: []duty{
			{name: "the round is open", when: open, of: []machine.State{"proposed", "waiting", "outbid", "leading", "won"}},
			{name: "a higher bid", when: when(some("proposed")), of: []machine.State{"leading"}, say: []string{"outbid"}},
			{name: "the only bid of the round", when: bids(1, 1), of: []machine.State{"proposed"}, say: []string{"accept"}},
			{name: "several bids of the round", when: bids(2, 3), of: []machine.State{"proposed"}, say: []string{"accept", "reject"}},
			{
				name: "the leader is lost", when: when(func(c machine.Census) bool { return c.Count("proposed", "leading") == 0 }),
				of: []machine.State{"outbid"}, say: []string{"restore"},
			},
			{
				name: "another price, or none",
				when: when(func(c machine.Census) bool {
					return c.Count("proposed") == 0 && (c.Count("leading") > 0 || c.Count("outbid") == 0)
				}),
				of: []machine.State{"waiting", "outbid"}, say: []string{"call", "over"},
			},
			{
				name: "only the leader is left", when: when(func(c machine.Census) bool { return c.Count("proposed", "waiting", "outbid") == 0 }),
				of: []machine.State{"leading"}, say: []string{"sell", "over"},
			},
			{
				name: "sold", when: when(func(c machine.Census) bool { return c.Count("proposed", "waiting", "outbid", "leading") == 0 }),
				of: []machine.State{"won"}, say: []string{"settle"},
			},
		},
	}
}

// dutchSuite returns the duties of an auctioneer whose price falls.
func dutchSuite() coordinationSuite {
	open := some(machine.Idle, "called", standard.StateCancelling)
	taken := some("leading")
	bids := func(n, most int) func(machine.Census) bool {
		return func(c machine.Census) bool {
			return c.Count("proposed") >= n && c.Count("proposed") <= most && c.Count("leading", "won", "sold") == 0
		}
	}
	return coordinationSuite{
		coordination: auction.DutchCoordination(),
		walks:        auctionWalks(),
		duties: []duty{
			{name: "the first bid", when: bids(1, 1), of: []machine.State{"proposed"}, say: []string{"accept"}},
			{name: "two bids at once", when: bids(2, 3), of: []machine.State{"proposed"}, say: []string{"accept", "reject"}},
			{name: "a bid after the first", when: taken, of: []machine.State{"proposed"}, say: []string{"reject"}},
			{
				name: "the price is taken", when: func(c machine.Census) bool { return taken(c) && c.Count("proposed") == 0 },
				of: []machine.State{"waiting", "called"}, say: []string{"over"},
			},
			{name: "the round is open", when: func(c machine.Census) bool { return open(c) && !taken(c) }, of: []machine.State{"waiting", "won"}},
			{
				name: "not all have answered", when: func(c machine.Census) bool { return open(c) && c.Count("waiting", "called", "proposed") == 0 },
				of: []machine.State{"leading"},
			},
			{
				name: "another price, or none", when: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "leading") == 0 },
				of: []machine.State{"waiting"}, say: []string{"call", "over"},
			},
			{
				name: "only the winner is left", when: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "waiting") == 0 },
				of: []machine.State{"leading"}, say: []string{"sell", "over"},
			},
			{
				name: "sold", when: func(c machine.Census) bool { return !open(c) && c.Count("proposed", "waiting", "leading") == 0 },
				of: []machine.State{"won"}, say: []string{"settle"},
			},
		},
	}
}
