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

// Explore checks the rows of a codon's table by the rules of [verify.CheckRules]. It walks every
// joint state of both sides of a codon's table, over the worst network, over one that delivers, and
// in the fair runs of [verify.ExploreFair], and compares the table's monitor with an oracle. A
// violation fails the test with the shortest sequence of events to it, for up to five places of the
// table, and with the missing rows and pairs as Go. Steps of the definition's own rows taken by no
// conversation, and own pairs of Agree reached by none, fail the test too, unless [Unexercised] and
// [Unused] name them.
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
		return faultsOf(c.Table, err, maxMissing, func(m *machine.Machine) error {
			_, err := verify.Explore(m, verify.Network{Strict: true})
			return err
		})
	}
	if err := verify.CheckRules(c.Machine()); err != nil {
		problems = append(problems, err.Error())
	}
	own := c.Own()
	problems = slices.Concat(problems, compare("step", common(worst.Unexercised, steps(own.Rows)), o.unexercised))
	for _, cause := range common(worst.UnusedCauses, causes(own.Agree)) {
		problems = append(problems, "codontest: no conversation needs the cause: "+cause)
	}
	calm, err := verify.Explore(c.Machine(), verify.Calm())
	logf("%s, a network that delivers: %s", c.Name(), calm)
	if err != nil {
		return append(problems, "over a network that delivers: "+err.Error())
	}
	for _, pair := range common(pairs(calm.UnusedPairs), pairs(own.Agree)) {
		problems = append(problems, fmt.Sprintf("codontest: no conversation over a network that delivers ends in %s: the pair is Rough", pair))
	}
	fair, err := verify.ExploreFair(c.Machine())
	unused := common(pairs(slices.Concat(worst.UnusedPairs, fair.UnusedPairs)), pairs(own.Agree))
	problems = append(problems, compare("pair", unused, pairs(o.unused))...)
	logf("%s, fair runs: %s", c.Name(), fair)
	if err != nil {
		problems = append(problems, faultsOf(c.Table, err, maxShown, func(m *machine.Machine) error {
			_, err := verify.ExploreFair(m)
			return err
		})...)
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
			problems = append(problems, fmt.Sprintf("codontest: the options name a %s as unused, and it is used, standard or unknown: %s", what, s))
		}
	}
	return problems
}

// common returns the texts of got that are among own: what the definition itself has. The standard
// rows and pairs, and what no conversation uses of them, are explained by package codons.
func common(got, own []string) []string {
	return slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !slices.Contains(own, s) })
}

// steps writes the steps of rows as an exploration does.
func steps(rows []machine.Row) (texts []string) {
	for _, r := range rows {
		for _, from := range r.From {
			for _, on := range r.On {
				texts = append(texts, fmt.Sprintf("%s in %s on %s", r.Role, from, on))
			}
		}
	}
	return texts
}

// causes writes the causes of pairs as an exploration does.
func causes(all []machine.Pair) (texts []string) {
	for _, p := range all {
		for _, c := range p.After {
			texts = append(texts, fmt.Sprintf("%s, %s after %s", p.Initiator, p.Responder, c))
		}
	}
	return texts
}

// pairs writes pairs as an option names them.
func pairs(all []machine.Pair) []string {
	var texts []string
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("the initiator %s, the responder %s", p.Initiator, p.Responder))
	}
	return texts
}
