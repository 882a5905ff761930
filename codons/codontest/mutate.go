package codontest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// Mutate checks the mutants of a codon's table: in each, one row is deleted or one effect of a row
// is dropped, and the checks of [Explore] have to notice it, but for the one of the monitor. The
// declarations of the table stay, so a command that lost its row, or a report that is no longer
// made, is noticed. The table itself has to pass first, with [Unexercised] and [Unused] as for
// Explore. A mutant that passes all checks fails the test, unless [Survives] names it: either a
// declaration of the table is missing, or the row is not needed.
//
// It takes about a second for a small table, and minutes for one with rounds.
func Mutate(t testing.TB, c *codons.Codon, opts ...Option) {
	t.Helper()
	for _, problem := range mutate(t.Logf, c, newOptions(opts)) {
		t.Error(problem)
	}
}

// mutate returns the survivors without a reason, and the reasons without a survivor.
func mutate(logf func(string, ...any), c *codons.Codon, o options) (problems []string) {
	if c.Machine() == nil {
		return []string{fmt.Sprintf("codontest: %s has no table of its own to mutate", c.Name())}
	}
	if problems = explore(func(string, ...any) {}, c, o); problems != nil {
		return []string{"codontest: without a mistake: " + strings.Join(problems, "\n")}
	}
	result, err := verify.Suite{Table: c.Table, All: o.allMistakes}.Mutate()
	if err != nil {
		return []string{"codontest: without a mistake: " + err.Error()}
	}
	logf("%s: %s", c.Name(), result)
	survived := map[string]bool{}
	for _, change := range result.Survivors {
		survived[change] = true
		if reason, ok := o.survivors[change]; ok {
			logf("survives: %s: %s", change, reason)
		} else {
			problems = append(problems, "codontest: no check notices this mistake: "+change)
		}
	}
	for change := range o.survivors {
		if !survived[change] {
			problems = append(problems, "codontest: the options name a mistake that is noticed or unknown: "+change)
		}
	}
	return problems
}

// Survives names a mistake that [Mutate] need not notice, as it prints it, and the reason.
func Survives(mistake, reason string) Option {
	return func(o *options) {
		if o.survivors == nil {
			o.survivors = map[string]string{}
		}
		o.survivors[mistake] = reason
	}
}

// AllMistakes has [Mutate] try more mistakes: rows with one state or symbol less, that lead to
// another state, or that name another act, tag or timer.
func AllMistakes() Option { return func(o *options) { o.allMistakes = true } }
