package verify

import (
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/internal/tabletest"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// awardSuite is the suite of a small contract net.
func awardSuite() CoordinationSuite {
	open := func(c machine.Census) bool { return c.Count(machine.Idle, "called") > 0 }
	return CoordinationSuite{
		Coordination: tabletest.AwardOne(),
		Walks:        []GroupWalk{{2, Calm()}, {2, Network{}}},
		Duties: []Duty{
			{Name: "a bidder is awaited", When: open, Of: []machine.State{"proposed"}},
			{
				Name: "all have answered", When: func(c machine.Census) bool { return !open(c) },
				Of: []machine.State{"proposed"}, Say: []string{"award", "decline"},
			},
		},
		Possible: []Possible{{Name: "a bidder works", When: func(i, r machine.Census) bool { return i.Count("awarded") == 1 && r.Count("working") == 1 }}},
	}
}

// TestMutateCoordination has each mistake in the rule of a contract net noticed. Without the
// duties, a rule that does less than it should goes unnoticed.
func TestMutateCoordination(t *testing.T) {
	s := awardSuite()
	r, err := s.Mutate()
	if err != nil || r.Mutants+r.Same != len(CoordinationMutants(s.Coordination)) || len(r.Survivors) > 0 || r.Mutants < 5 {
		t.Errorf("%v, %v, survivors: %q", r, err, r.Survivors)
	}
	s.Duties, s.Possible = nil, nil
	r, err = s.Mutate()
	if err != nil || !slices.Contains(r.Survivors, "rule award: without award") {
		t.Errorf("%v, survivors: %q", err, r.Survivors)
	}
}

// TestCoordinationMutants lists the mistakes in the rules of an auction.
func TestCoordinationMutants(t *testing.T) {
	var all []string
	for _, m := range CoordinationMutants(tabletest.SellOne()) {
		all = append(all, m.Change)
	}
	for _, want := range []string{
		"no rule sell", "rule sell: always due", "rule close: after sell", "rule sell: without award",
		"rule call: says award in place of call", "rule sell: says award (at most 1) in place of award (exactly 1)",
		"rule sell: says award (1 to 2) in place of award (exactly 1)", "rule call: not about calling",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no mutant is %q", want)
		}
	}
	if slices.Contains(all, "rule call: after ") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("a mutant comes twice: %q", all)
	}
}

// TestSuiteFinds breaks the declarations of a suite, one at a time.
func TestSuiteFinds(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name   string
		change func(*CoordinationSuite)
		want   string
	}{
		{"a duty that the rules forget", func(s *CoordinationSuite) { s.Duties[1].Of = []machine.State{"proposed", "awarded"} }, "no rule is due for a member in awarded"},
		{"another command", func(s *CoordinationSuite) { s.Duties[1].Say = []string{"award"} }, "the decisions of rule award say award, decline, want award"},
		{"a decision that is too early", func(s *CoordinationSuite) { s.Duties[0].When = func(machine.Census) bool { return true } }, "rule award is due for a member in proposed"},
		{"a duty of no state", func(s *CoordinationSuite) { s.Duties[1].When = func(machine.Census) bool { return false } }, "no group comes to a state of the duty all have answered"},
		{"what never comes", func(s *CoordinationSuite) {
			s.Possible[0].When = func(i, _ machine.Census) bool { return i.Count("awarded") == 2 }
		}, "no group comes to this: a bidder works"},
		{"too many members", func(s *CoordinationSuite) { s.Walks[1].Members = 4 }, "a group of 4 cannot be explored"},
		{"a faulty rule", func(s *CoordinationSuite) { s.Coordination.Name = "" }, "has no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := awardSuite()
			c.change(&s)
			err := s.check(s.Coordination, map[Network]*pairs{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := s.Mutate(); err == nil {
				t.Error("a faulty suite is mutated")
			}
		})
	}
	if _, err := awardSuite().Mutate(); err != nil {
		t.Error(err)
	}
}
