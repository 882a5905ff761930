package machine

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// awardOne is the coordination of a contract net: once all have answered, at most
// one proposal is taken.
func awardOne() Coordination {
	return Coordination{
		Name: "award-one", Machine: contractNet().MustCompile(),
		Rules: []Rule{{
			Name: "award", Doc: "nobody is left to answer: at most one proposal is taken",
			When: func(c Census) bool { return c.Count(Idle, called) == 0 },
			Of:   []State{proposed},
			Say:  []Choice{{Command: "award", Max: 1}, {Command: "decline"}},
		}},
		Never: []Never{
			{Name: "two are awarded", When: func(i, _ Census) bool { return i.Count(awarded, completed) > 1 }},
			{Name: "two work", When: func(_, r Census) bool { return r.Count(working, completed) > 1 }},
		},
		Unbidden: []string{"cancel"},
	}
}

// sellOne is the coordination of an auction: whoever bids first gets it.
func sellOne() Coordination {
	return Coordination{
		Name: "sell-one", Machine: auction().MustCompile(),
		Rules: []Rule{
			{
				Name: "close", Doc: "it is sold", When: func(c Census) bool { return c.Count("sold") > 0 },
				Of: []State{"opened", "calling", "bid"}, Say: []Choice{{Command: "decline"}},
			},
			{
				Name: "sell", Doc: "somebody bids", When: func(c Census) bool { return c.Count(Idle) == 0 },
				Of: []State{"bid"}, Say: []Choice{{Command: "award", Min: 1, Max: 1}, {Command: "decline"}},
			},
			{
				Name: "call", Doc: "nobody bids yet: the price falls, or nobody gets it", When: func(c Census) bool { return c.Count(Idle) == 0 },
				Of: []State{"opened", "calling"}, Say: []Choice{{Command: "call"}, {Command: "decline"}},
			},
		},
		Never: []Never{{Name: "sold twice", When: func(i, r Census) bool { return max(i.Count("sold"), r.Count("sold")) > 1 }}},
	}
}

func TestExploreGroup(t *testing.T) {
	for _, c := range []Coordination{awardOne(), sellOne()} {
		for n := 1; n <= maxMembers; n++ {
			for _, net := range []Network{{}, Calm()} {
				r, err := ExploreGroup(c, n, net)
				t.Log(c.Name, r)
				if err != nil {
					t.Error(err)
				}
				if n > 1 && len(r.Unused) > 0 {
					t.Errorf("%s with %d: rules that are never due: %s", c.Name, n, r.Unused)
				}
			}
		}
	}
}

// TestExploreGroupFinds breaks the contract net once for each problem.
func TestExploreGroupFinds(t *testing.T) {
	rule := func(change func(*Rule)) func(*Coordination, *Table) {
		return func(c *Coordination, _ *Table) { change(&c.Rules[0]) }
	}
	for _, c := range []struct {
		name    string
		members int
		net     Network
		change  func(*Coordination, *Table)
		problem Problem
		want    string // a part of the counterexample
	}{
		{
			"a command that comes too late has no row", 1,
			Network{},
			func(_ *Coordination, t *Table) {
				for i, r := range t.Rows {
					if r.Role == Initiator && len(r.On) == 4 && r.On[1] == Command("award") {
						t.Rows[i].On = []Symbol{r.On[0], r.On[2], r.On[3]}
					}
				}
			},
			Unhandled, "no row of the initiator in lapsed for command award, which is on its way to member 1",
		},
		{
			"all are awarded", 2,
			Network{},
			rule(func(r *Rule) { r.Say = r.Say[:1]; r.Say[0].Max = 0 }),
			Forbidden, "two are awarded: the initiator's members are awarded, awarded",
		},
		{
			"a rule that looks at once who has proposed", 2,
			Network{},
			rule(func(r *Rule) { r.When = func(Census) bool { return true } }),
			Forbidden, "two are awarded",
		},
		{
			"an award that must be", 3,
			Network{},
			rule(func(r *Rule) { r.Say[1].Min, r.Say[0].Min = 1, 1 }),
			Undecidable, "rule award is due, and allows no decision about",
		},
		{
			"a rule that waits for a proposal of everyone", 2, Calm(),
			rule(func(r *Rule) { r.When = func(c Census) bool { return c.Count(proposed) == c.Len() } }),
			Stuck, "nothing that is sure to happen from here ends all members",
		},
		{
			"a pair that disagrees", 2,
			Network{},
			func(_ *Coordination, t *Table) { t.Agree = t.Agree[1:] },
			Disagreement, "the initiator ends completed and the responder completed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			group, table := awardOne(), contractNet()
			c.change(&group, &table)
			group.Machine = table.MustCompile()
			_, err := ExploreGroup(group, c.members, c.net)
			if problem := problemOf(err); problem != c.problem || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s with %q", err, c.problem, c.want)
			}
		})
	}
}

// problemOf returns what an exploration found.
func problemOf(err error) Problem {
	var group *GroupCounterexample
	var pair *Counterexample
	switch {
	case errors.As(err, &group):
		return group.Problem
	case errors.As(err, &pair):
		return pair.Problem
	}
	return ""
}

// TestUnbiddenCommandsAreNoWayOut has a rule that is never due and an agent that
// may cancel, or not.
func TestUnbiddenCommandsAreNoWayOut(t *testing.T) {
	c := awardOne()
	c.Rules[0].When = func(Census) bool { return false }
	if _, err := ExploreGroup(c, 1, Calm()); problemOf(err) != Stuck {
		t.Errorf("got %v", err)
	}
	c.Unbidden = nil // then it is the agent's part, like start
	if _, err := ExploreGroup(c, 1, Calm()); err != nil {
		t.Error(err)
	}
}

// TestABoundIsNoDeadEnd lets a call overtake another: then the bid is stale, and
// nothing but a third call, beyond the bound, goes on from there.
func TestABoundIsNoDeadEnd(t *testing.T) {
	c := sellOne()
	c.Rules[2].Say = c.Rules[2].Say[:1]
	if _, err := ExploreGroup(c, 1, Calm()); err != nil {
		t.Error(err)
	}
}

func TestGroupCounterexampleReads(t *testing.T) {
	c := awardOne()
	c.Rules[0].Say = []Choice{{Command: "award"}}
	_, err := ExploreGroup(c, 2, Calm())
	want := `machine: award-one with 2 members: forbidden state: two are awarded: the initiator's members are awarded, awarded, the responders proposed, proposed
   1  member 1  initiator  command start                     idle → called  sends CFP
   2  member 2  initiator  command start                     idle → called  sends CFP
   3  member 2  responder  receive CFP                       idle → considering
   4  member 1  responder  receive CFP                       idle → considering
   5  member 1  responder  command propose                   considering → proposed  sends PROPOSE
   6  member 2  responder  command propose                   considering → proposed  sends PROPOSE
   7  member 2  initiator  receive PROPOSE                   called → proposed
   8  member 1  initiator  receive PROPOSE                   called → proposed
   9  rule award: member 1 award, member 2 award
  10  member 1  initiator  command award                     proposed → awarded  sends ACCEPT_PROPOSAL
  11  member 2  initiator  command award                     proposed → awarded  sends ACCEPT_PROPOSAL`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestExploreGroupRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, maxMembers + 1} {
		if _, err := ExploreGroup(awardOne(), n, Network{}); err == nil {
			t.Errorf("a group of %d is explored", n)
		}
	}
	if _, err := ExploreGroup(awardOne(), 2, Network{MaxStates: 1100}); err == nil || !strings.Contains(err.Error(), "more than 1100 states of a group of 2") {
		t.Errorf("got %v", err)
	}
	var fault *CoordinationError
	if _, err := ExploreGroup(Coordination{}, 1, Network{}); !errors.As(err, &fault) {
		t.Errorf("got %v", err)
	}
}

func TestExploreGroupIsDeterministic(t *testing.T) {
	a, _ := ExploreGroup(sellOne(), 2, Network{})
	b, _ := ExploreGroup(sellOne(), 2, Network{})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %v and %v", a, b)
	}
}

// firstAnswer asks many and hangs up on the others when one has answered.
func firstAnswer() Coordination {
	table := ping()
	table.Rows = append(
		table.Rows,
		For(Initiator, "asked").When(Command("hang up")).Goto("lost"),
		For(Initiator, "done", "lost").When(Command("hang up")).Stay(Drop("late")),
	)
	return Coordination{
		Name: "first", Machine: table.MustCompile(),
		Rules: []Rule{{
			Name: "enough", When: func(c Census) bool { return c.Count("done") > 0 },
			Of: []State{"asked"}, Say: []Choice{{Command: "hang up"}},
		}},
	}
}
