package codontest

import (
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/internal/racetest"
)

func TestExploreMutants(t *testing.T) {
	racetest.Skip(t)
	Mutate(t, reviewOf(nil))
}

// A table without retries has no mutants worth checking: it does not pass itself.
func TestMutateWantsATableThatPasses(t *testing.T) {
	c := reviewOf(func(d *codons.Definition) { d.Standard = standard.Deadline })
	problems := mutate(t.Logf, c, options{})
	if len(problems) != 1 || !strings.Contains(problems[0], "without a mistake") {
		t.Errorf("got %q", problems)
	}
}

func TestExploreReasonWithoutASurvivor(t *testing.T) {
	racetest.Skip(t)
	o := newOptions([]Option{Survives("no row of this table", "a test")})
	problems := mutate(t.Logf, reviewOf(nil), o)
	if len(problems) != 1 || !strings.Contains(problems[0], "noticed or unknown: no row of this table") {
		t.Errorf("got %q", problems)
	}
}
