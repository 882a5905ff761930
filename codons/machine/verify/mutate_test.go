package verify

import (
	"errors"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/machine"
	p "github.com/ribosome-agents/ribosome/performatives"
)

// TestLike compares what a mutant leaves unused with what the table itself does. Only a pair that
// the table has in use tells the mutant apart.
func TestLike(t *testing.T) {
	of := func(step, cause string, pairs ...machine.Pair) unused {
		return unused{steps: []string{step}, causes: []string{cause}, pairs: pairs}
	}
	lost, late := machine.Pair{Initiator: "lost", Responder: "done"}, machine.Pair{Initiator: "late", Responder: "done"}
	original := of("step", "cause", lost)
	for name, c := range map[string]struct {
		mutant unused
		want   bool
	}{
		"the same":             {original, true},
		"another step":         {of("other", "cause", lost), false},
		"another cause":        {of("step", "other", lost), false},
		"another pair":         {of("step", "cause", lost, late), false},
		"a pair after a cause": {of("step", "cause", machine.Pair{Initiator: "lost", Responder: "done", After: []machine.Cause{machine.Lost()}}), true},
		"no pair":              {of("step", "cause"), true},
	} {
		if got := c.mutant.like(&original); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if !c.mutant.like(nil) {
			t.Errorf("%s: the table itself is not like itself", name)
		}
	}
}

// TestSuiteComparesWhatIsUnused has a suite check a table as a mutant of one that takes other steps.
func TestSuiteComparesWhatIsUnused(t *testing.T) {
	table := note()
	for _, r := range machine.Roles() {
		table.Rows = append(table.Rows, machine.For(r, map[machine.Role]machine.State{machine.Initiator: "told", machine.Responder: "heard"}[r]).
			When(machine.OtherRequests()).Stay(machine.Refuse(p.CodeConversationEnded)))
	}
	m := table.MustCompile()
	if _, err := (Suite{}).check(m, nil); err != nil {
		t.Error(err)
	}
	for _, original := range []*unused{{steps: []string{"responder in idle on receive CFP"}}, {causes: []string{"lost, idle after loss of a message"}}} {
		if _, err := (Suite{}).check(m, original); !errors.Is(err, errUnlike) {
			t.Errorf("%v: got %v", original, err)
		}
	}
}
