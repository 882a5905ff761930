package verify

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync" //nolint:depguard // mutants are checked at once; each check is pure

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Suite is the checks of one table: those that a mutant of it has to fail.
type Suite struct {
	Table machine.Table

	// Groups are the coordinations of the table. Each is explored with two members.
	Groups []machine.Coordination

	// MaxStates is the largest number of joint states over the worst network: see [Network].
	// Suite.Mutate gives a mutant thirty times the states of the table, and at least 100,000: some
	// mistakes send ever new messages, and have no end of them.
	MaxStates int

	// All adds the mutants of [Mutants] that are more than a deleted row or a dropped effect.
	All bool
}

// unused is what no conversation of a table does. A mutant that does more or less is noticed.
type unused struct {
	steps, causes []string       // over the worst network, as in Result
	pairs         []machine.Pair // there, and in the fair runs
	states        int            // of the worst network
}

var errUnlike = errors.New("verify: other steps, causes or pairs are unused than in the table without the mistake")

// check returns what no conversation of m does, and its first fault. The cheap checks come first:
// the rules, the networks of [Explore], the fair runs, the groups. m is a mutant of the table of
// original, or that table itself where original is nil.
func (s Suite) check(m *machine.Machine, original *unused) (unused, error) {
	if err := CheckRules(m); err != nil {
		return unused{}, err
	}
	worst, err := Explore(m, Network{Strict: true, MaxStates: s.MaxStates})
	if err != nil {
		return unused{}, err
	}
	found := unused{slices.Sorted(slices.Values(worst.Unexercised)), worst.UnusedCauses, worst.UnusedPairs, worst.States}
	if !found.like(original) {
		return found, errUnlike
	}
	calm, err := Explore(m, Calm())
	if err != nil {
		return found, err
	}
	if len(calm.UnusedPairs) > 0 {
		return found, fmt.Errorf("verify: %s: no conversation over a calm network ends in %v, which is not rough", m.Name(), calm.UnusedPairs)
	}
	for _, r := range Runs(m) { // after the explorations, which find most mutants in a few states
		result, err := r.explore(m)
		if err != nil {
			return found, err
		}
		found.pairs = append(found.pairs, result.UnusedPairs...)
		if !found.like(original) {
			return found, errUnlike
		}
	}
	for _, c := range s.Groups {
		c.Machine = m
		for _, n := range []Network{Calm(), {NoTimeouts: true}} {
			if _, err := ExploreGroup(c, 2, n); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// like reports whether a mutant leaves unused what the original leaves unused, which is nil for the
// original itself.
func (u unused) like(original *unused) bool {
	return original == nil || slices.Equal(u.steps, original.steps) && slices.Equal(u.causes, original.causes) &&
		!slices.ContainsFunc(u.pairs, func(p machine.Pair) bool {
			return !slices.ContainsFunc(original.pairs, func(o machine.Pair) bool { return endOf(o) == endOf(p) })
		})
}

// Mutated is the result of [Suite.Mutate].
type Mutated struct {
	Mutants   int      // the mutants whose machine differs from that of the table
	Same      int      // the mutants with the same machine as the table, which no check can tell apart from it
	Survivors []string // the changes of the mutants that pass all checks, in the order of [Mutants]
}

// Noticed returns the share of mutants that a check noticed, 1 where there are none.
func (r Mutated) Noticed() float64 {
	if r.Mutants == 0 {
		return 1
	}
	return 1 - float64(len(r.Survivors))/float64(r.Mutants)
}

// String returns the numbers in one line.
func (r Mutated) String() string {
	return fmt.Sprintf("%d mutants, %d survivors, %d identical: %.1f%% noticed", r.Mutants, len(r.Survivors), r.Same, 100*r.Noticed())
}

// Mutate checks each mutant of the table, as many at once as there are processors. The table itself
// has to pass: a fault of it is the error.
func (s Suite) Mutate() (Mutated, error) {
	m, err := s.Table.Compile()
	if err != nil {
		return Mutated{}, err
	}
	original, err := s.check(m, nil)
	if err != nil {
		return Mutated{}, err
	}
	const times, least = 30, 100_000
	s.MaxStates = min(max(times*original.states, least), Network{MaxStates: s.MaxStates}.withDefaults().MaxStates)
	var (
		mutants  = Mutants(s.Table, s.All)
		verdicts = make([]verdict, len(mutants))
		does     = behaviour(m)
		work     = make(chan int)
		workers  sync.WaitGroup
	)
	for range goruntime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range work {
				verdicts[i] = s.try(mutants[i].Table, does, &original)
			}
		})
	}
	for i := range mutants {
		work <- i
	}
	close(work)
	workers.Wait()
	var result Mutated
	for i, mutant := range mutants {
		switch verdicts[i] {
		case noticed:
			result.Mutants++
		case same:
			result.Same++
		case survives:
			result.Mutants++
			result.Survivors = append(result.Survivors, mutant.Change)
		}
	}
	return result, nil
}

// verdict is what the checks say of a mutant.
type verdict uint8

const (
	noticed  verdict = iota
	same             // it does the same as the table
	survives         // it passes all checks
)

// try checks one mutant.
func (s Suite) try(t machine.Table, does []string, original *unused) verdict {
	m, err := t.Compile()
	if err != nil {
		return noticed
	}
	if slices.Equal(behaviour(m), does) {
		return same
	}
	if _, err := s.check(m, original); err != nil {
		return noticed
	}
	return survives
}

// behaviour returns what a machine does on each event, in words and in no order of the table. It
// leaves out effects that change nothing: the Disarm of a timer that the same row arms afterwards,
// or that ends with the conversation.
func behaviour(m *machine.Machine) []string {
	var all []string
	for t := range m.Transitions() {
		do := slices.Clone(t.Do)
		for i := len(do) - 1; i >= 0; i-- {
			again := slices.Contains(do[i:], machine.Arm(do[i].Name))
			if do[i].Kind == machine.EffectDisarm && (again || m.Terminal(t.To)) {
				do = slices.Delete(do, i, i+1)
			}
		}
		all = append(all, fmt.Sprint(t.Role, t.From, t.On, t.To, do))
	}
	slices.Sort(all)
	return all
}
