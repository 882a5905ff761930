package verify

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestExploreGroup(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []machine.Coordination{tabletest.AwardOne(), tabletest.SellOne()} {
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

// TestExploreGroupFinds changes the contract net so that it has each problem, one at a
// time.
func TestExploreGroupFinds(t *testing.T) {
	racetest.Skip(t)
	rule := func(change func(*machine.Rule)) func(*machine.Coordination, *machine.Table) {
		return func(c *machine.Coordination, _ *machine.Table) { change(&c.Rules[0]) }
	}
	for _, c := range []struct {
		name    string
		members int
		net     Network
		change  func(*machine.Coordination, *machine.Table)
		problem Problem
		want    string // a part of the counterexample
	}{
		{
			"a late command without a row", 1,
			Network{},
			func(_ *machine.Coordination, t *machine.Table) {
				for i, r := range t.Rows {
					if r.Role == machine.Initiator && len(r.On) == 4 && r.On[1] == machine.Commanded("award") {
						t.Rows[i].On = []machine.Symbol{r.On[0], r.On[2], r.On[3]}
					}
				}
			},
			Unhandled, "no row of the initiator in lapsed for command award, which is on its way",
		},
		{
			"a rule that awards every member", 2,
			Network{},
			rule(func(r *machine.Rule) { r.Say = r.Say[:1]; r.Say[0].Max = 0 }),
			Forbidden, "two are awarded: the initiator's members are awarded, awarded",
		},
		{
			"a rule that is always due", 2,
			Network{},
			rule(func(r *machine.Rule) { r.When = func(machine.Census) bool { return true } }),
			Forbidden, "two are awarded",
		},
		{
			"a rule that requires an award", 3,
			Network{},
			rule(func(r *machine.Rule) { r.Say[1].Min, r.Say[0].Min = 1, 1 }),
			Undecidable, "rule award is due, and allows no decision about",
		},
		{
			"a rule that waits for a proposal of every member", 2, Calm(),
			rule(func(r *machine.Rule) { r.When = func(c machine.Census) bool { return c.Count("proposed") == c.Len() } }),
			Stuck, "the events that must occur from here do not end all members",
		},
		{
			"a pair that disagrees", 2,
			Network{},
			func(_ *machine.Coordination, t *machine.Table) { t.Agree = t.Agree[1:] },
			Disagreement, "the initiator ends completed and the responder completed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			group, table := tabletest.AwardOne(), tabletest.ContractNet()
			c.change(&group, &table)
			group.Machine = table.MustCompile()
			_, err := ExploreGroup(group, c.members, c.net)
			if problem := problemOf(err); problem != c.problem || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s with %q", err, c.problem, c.want)
			}
		})
	}
}

// TestExploreGroupFindsASecondSale sells to all that have bid.
func TestExploreGroupFindsASecondSale(t *testing.T) {
	c := tabletest.SellOne()
	c.Rules[1].Say[0] = machine.Choice{Command: "award"}
	c.Rules[0].Of = []machine.State{"opened", "calling"} // a sale does not decline the other bids
	_, err := ExploreGroup(c, 2, Calm())
	if problemOf(err) != Forbidden || !strings.Contains(err.Error(), "sold twice: the initiator's members are sold, sold") {
		t.Errorf("got %v", err)
	}
}

// problemOf returns the problem of a violation.
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

// TestUnbiddenCommandsAreNoWayOut has a rule that is never due. A group does not end by
// an unbidden cancel, and ends by a cancel that is an ordinary command of the agent.
func TestUnbiddenCommandsAreNoWayOut(t *testing.T) {
	c := tabletest.AwardOne()
	c.Rules[0].When = func(machine.Census) bool { return false }
	if _, err := ExploreGroup(c, 1, Calm()); problemOf(err) != Stuck {
		t.Errorf("got %v", err)
	}
	c.Unbidden = nil // then cancel is an ordinary command, like start
	if _, err := ExploreGroup(c, 1, Calm()); err != nil {
		t.Error(err)
	}
}

// TestABoundIsNoDeadEnd lets a call overtake another call: then the bid is stale, and
// only a third call could go on, which is beyond Network.Repeat.
func TestABoundIsNoDeadEnd(t *testing.T) {
	c := tabletest.SellOne()
	c.Rules[2].Say = c.Rules[2].Say[:1]
	if _, err := ExploreGroup(c, 1, Calm()); err != nil {
		t.Error(err)
	}
}

func TestGroupCounterexampleReads(t *testing.T) {
	c := tabletest.AwardOne()
	c.Rules[0].Say = []machine.Choice{{Command: "award"}}
	_, err := ExploreGroup(c, 2, Calm())
	want := `verify: award-one with 2 members: forbidden state: two are awarded: the initiator's members are awarded, awarded, the responders proposed, proposed
   1  idle/idle, called/idle
   2  called/idle, called/idle
   3  called/idle, called/considering
   4  called/considering, called/considering
   5  called/considering, called/proposed
   6  called/proposed, called/proposed
   7  called/proposed, proposed/proposed
   8  proposed/proposed, proposed/proposed
   9  rule award: proposed/proposed ← award, proposed/proposed ← award
  10  proposed/proposed ← award, awarded/proposed
  11  awarded/proposed, awarded/proposed`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestExploreGroupRefuses(t *testing.T) {
	for _, n := range []int{-1, 0, maxMembers + 1} {
		if _, err := ExploreGroup(tabletest.AwardOne(), n, Network{}); err == nil {
			t.Errorf("a group of %d is explored", n)
		}
	}
	if _, err := ExploreGroup(tabletest.AwardOne(), 2, Network{MaxStates: 1100}); err == nil || !strings.Contains(err.Error(), "more than 1100 states of a group of 2") {
		t.Errorf("got %v", err)
	}
	if _, err := ExploreGroup(machine.Coordination{}, 1, Network{}); err == nil || !strings.Contains(err.Error(), "the coordination has no machine") {
		t.Errorf("got %v", err)
	}
}

func TestExploreGroupIsDeterministic(t *testing.T) {
	a, _ := ExploreGroup(tabletest.SellOne(), 2, Network{})
	b, _ := ExploreGroup(tabletest.SellOne(), 2, Network{})
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %v and %v", a, b)
	}
}

// firstAnswer returns a coordination that asks all members, and hangs up on the others
// when one has answered.
func firstAnswer() machine.Coordination {
	table := tabletest.Ping()
	table.Rows = append(
		table.Rows,
		machine.For(machine.Initiator, "asked").When(machine.Commanded("hang up")).Goto("lost"),
		machine.For(machine.Initiator, "done", "lost").When(machine.Commanded("hang up")).Stay(machine.Drop("late")),
	)
	return machine.Coordination{
		Name: "first", Machine: table.MustCompile(),
		Rules: []machine.Rule{{
			Name: "enough", When: func(c machine.Census) bool { return c.Count("done") > 0 },
			Of: []machine.State{"asked"}, Say: []machine.Choice{{Command: "hang up"}},
		}},
	}
}
