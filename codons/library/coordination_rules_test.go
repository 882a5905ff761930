package library

import (
	"slices"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/auction"
	"github.com/ribosome-agents/ribosome/codons/contractnet"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// awardSuite is the suite of a contract net of two bidders.
func awardSuite() coordinationSuite {
	s := contractNetSuite(contractnet.Coordination(1, false), 1, false, false)
	s.walks = s.walks[:1]
	return s
}

// TestMutateCoordination has each mistake in the rules of a contract net noticed. Without the
// duties, a rule that does less than it should goes unnoticed.
func TestMutateCoordination(t *testing.T) {
	racetest.Skip(t)
	s := awardSuite()
	r, err := s.mutate()
	if err != nil || r.Mutants+r.Same != len(coordinationMutants(s.coordination)) || len(r.Survivors) > 0 || r.Mutants < 5 {
		t.Errorf("%v, %v, survivors: %q", r, err, r.Survivors)
	}
	s.duties, s.possible = nil, nil
	r, err = s.mutate()
	if err != nil || !slices.Contains(r.Survivors, "rule award: without award") {
		t.Errorf("%v, survivors: %q", err, r.Survivors)
	}
}

// TestCoordinationMutants lists the mistakes in the rules of an auction.
func TestCoordinationMutants(t *testing.T) {
	var all []string
	for _, m := range coordinationMutants(auction.DutchCoordination()) {
		all = append(all, m.change)
	}
	for _, want := range []string{
		"no rule sell", "rule sell: always due", "rule lost: after accept a bid", "rule accept a bid: without accept",
		"rule next price: says reject in place of call", "rule accept a bid: says accept (at most 1) in place of accept (exactly 1)",
		"rule accept a bid: says accept (1 to 2) in place of accept (exactly 1)", "rule over: not about called",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no mutant is %q", want)
		}
	}
	if slices.Contains(all, "rule settle: after ") || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("a mutant comes twice: %q", all)
	}
}

// TestCoordinationSuiteFinds breaks the declarations of a suite, one at a time.
func TestCoordinationSuiteFinds(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name   string
		change func(*coordinationSuite)
		want   string
	}{
		{"a duty that the rules forget", func(s *coordinationSuite) {
			s.duties[1].when = func(c machine.Census) bool { return c.Count(machine.Idle, "called", standard.StateCancelling) == 0 }
			s.duties[1].of = []machine.State{"proposed", "awarded"}
		}, "no rule is due for a member in awarded"},
		{"another command", func(s *coordinationSuite) { s.duties[1].say = []string{"award"} }, "the decisions of rule award say award, decline, want award"},
		{"a decision that is too early", func(s *coordinationSuite) { s.duties[0].when = func(machine.Census) bool { return true } }, "rule award is due for a member in proposed"},
		{"a duty of no state", func(s *coordinationSuite) { s.duties[1].when = func(machine.Census) bool { return false } }, "no group comes to a state of the duty each proposal is decided"},
		{"what never comes", func(s *coordinationSuite) {
			s.possible[0].when = func(i, _ machine.Census) bool { return i.Count("awarded") == 2 }
		}, "no group comes to this: as many work as are wanted"},
		{"too many members", func(s *coordinationSuite) { s.walks[0].members = 4 }, "a group of 4 cannot be explored"},
		{"a faulty rule", func(s *coordinationSuite) { s.coordination.Name = "" }, "has no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := awardSuite()
			c.change(&s)
			if err := s.check(s.coordination, explored{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, err := s.mutate(); err == nil {
				t.Error("a faulty suite is mutated")
			}
		})
	}
}

// TestANeglectedDutyIsAViolation has a walk show the way to a state in which a rule does too
// little.
func TestANeglectedDutyIsAViolation(t *testing.T) {
	racetest.Skip(t)
	s := awardSuite()
	s.duties[1].say = []string{"award"}
	err := s.check(s.coordination, explored{})
	found, ok := err.(*verify.GroupCounterexample) //nolint:errorlint // it is not wrapped
	if !ok || found.Problem != verify.Neglected || len(found.Path) == 0 || found.Path[len(found.Path)-1] == "" {
		t.Errorf("got %v", err)
	}
}
