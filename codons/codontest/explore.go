package codontest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/machine/verify"
)

// Explore checks the rows of a codon's table by the rules of [verify.CheckRules]. It walks every joint state of both sides of a codon's table, over the worst network,
// over one that delivers, and in the fair runs of [verify.ExploreFair], and compares the table's
// monitor with an oracle. A violation
// fails the test with the shortest sequence of events that leads to it. Steps that no
// conversation takes, and pairs of Agree in which none ends, fail the test too, unless
// [Unexercised] and [Unused] name them.
func Explore(t testing.TB, c *codons.Codon, opts ...Option) {
	t.Helper()
	for _, problem := range explore(t.Logf, c, newOptions(opts)) {
		t.Error(problem)
	}
}

// explore returns the faults of the table.
func explore(logf func(string, ...any), c *codons.Codon, o options) (problems []string) {
	if c.Machine() == nil {
		return []string{fmt.Sprintf("codontest: %s has no table of its own to explore", c.Name())}
	}
	worst, err := verify.Explore(c.Machine(), verify.Network{Strict: true})
	logf("%s, the worst network: %s", c.Name(), worst)
	if err != nil {
		return []string{err.Error()}
	}
	if err := verify.CheckRules(c.Machine()); err != nil {
		problems = append(problems, err.Error())
	}
	problems = slices.Concat(problems, compare("step", worst.Unexercised, o.unexercised))
	for _, cause := range worst.UnusedCauses {
		problems = append(problems, "codontest: no conversation needs the cause: "+cause)
	}
	calm, err := verify.Explore(c.Machine(), verify.Calm())
	logf("%s, a network that delivers: %s", c.Name(), calm)
	if err != nil {
		return append(problems, "over a network that delivers: "+err.Error())
	}
	for _, pair := range calm.UnusedPairs {
		problems = append(problems, fmt.Sprintf("codontest: no conversation over a network that delivers ends in %s: the pair is Rough", pairs([]machine.Pair{pair})[0]))
	}
	fair, err := verify.ExploreFair(c.Machine())
	problems = append(problems, compare("pair", pairs(slices.Concat(worst.UnusedPairs, fair.UnusedPairs)), pairs(o.unused))...)
	logf("%s, fair runs: %s", c.Name(), fair)
	if err != nil {
		problems = append(problems, err.Error())
	}
	report, err := verify.CheckMonitor(c.Machine(), verify.MonitorCheck{Traces: 100, Walks: 200, Mutate: 20}, rand.New(rand.NewPCG(1, 2)).IntN)
	logf("%s, the monitor: %s", c.Name(), report)
	if err != nil {
		problems = append(problems, err.Error())
	}
	return problems
}

// compare returns the differences between what no conversation does and what the options
// name.
func compare(what string, got, named []string) (problems []string) {
	for _, s := range got {
		if !slices.Contains(named, s) {
			problems = append(problems, fmt.Sprintf("codontest: unused %s: %s", what, s))
		}
	}
	for _, s := range named {
		if !slices.Contains(got, s) {
			problems = append(problems, fmt.Sprintf("codontest: the options name a %s as unused, and it is used or unknown: %s", what, s))
		}
	}
	return problems
}

// pairs writes pairs as an option names them.
func pairs(all []machine.Pair) []string {
	var texts []string
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("the initiator %s, the responder %s", p.Initiator, p.Responder))
	}
	return texts
}
