package verify

import (
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"sync" //nolint:depguard // mutants are checked at once; each check is pure

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// Suite is the checks of one table: those that a mutant of it has to fail.
type Suite struct {
	Table machine.Table

	// Unexercised and Unused are what no conversation does over the worst network, as
	// [Result] names it. A mutant that does more or less is noticed.
	Unexercised []string
	Unused      []machine.Pair

	UnusedCauses []string // as [Result.UnusedCauses] of the table

	// Groups are the coordinations of the table. Each is explored with two members.
	Groups []machine.Coordination

	// MaxStates is the largest number of joint states over the worst network: see [Network].
	// Suite.Mutate gives a mutant thirty times the states of the table, and at least 100,000: some
	// mistakes send ever new messages, and have no end of them.
	MaxStates int

	// All adds the mutants of [Mutants] that are more than a deleted row or a dropped effect.
	All bool
}

// check returns the first fault of the table, nil for none. The cheap checks come first: the rules,
// the networks of [Explore], the fair runs, the groups.
func (s Suite) check(m *machine.Machine) error {
	if err := CheckRules(m); err != nil {
		return err
	}
	worst, err := Explore(m, s.worst())
	if err != nil {
		return err
	}
	if err := s.compare(worst); err != nil {
		return err
	}
	calm, err := Explore(m, Calm())
	if err != nil {
		return err
	}
	if len(calm.UnusedPairs) > 0 {
		return fmt.Errorf("verify: %s: no conversation over a calm network ends in %v, which is not rough", m.Name(), calm.UnusedPairs)
	}
	for _, r := range Runs(m) { // after the explorations, which find most mutants in a few states
		result, err := r.explore(m)
		if err != nil {
			return err
		}
		if err := s.checkUnused(result.UnusedPairs); err != nil {
			return err
		}
	}
	for _, c := range s.Groups {
		c.Machine = m
		for _, n := range []Network{Calm(), {NoTimeouts: true}} {
			if _, err := ExploreGroup(c, 2, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// worst returns the worst network.
func (s Suite) worst() Network { return Network{Strict: true, MaxStates: s.MaxStates} }

// compare compares what no conversation does with what the suite names.
func (s Suite) compare(r Result) error {
	if got, want := slices.Sorted(slices.Values(r.Unexercised)), slices.Sorted(slices.Values(s.Unexercised)); !slices.Equal(got, want) {
		return fmt.Errorf("verify: %s: no conversation takes %q, want %q", s.Table.Name, got, want)
	}
	if !slices.Equal(r.UnusedCauses, s.UnusedCauses) {
		return fmt.Errorf("verify: %s: causes that no pair needs: %q", s.Table.Name, r.UnusedCauses)
	}
	return s.checkUnused(r.UnusedPairs)
}

// checkUnused finds a pair that the suite does not name.
func (s Suite) checkUnused(pairs []machine.Pair) error {
	named := func(p machine.Pair) bool {
		return slices.ContainsFunc(s.Unused, func(o machine.Pair) bool { return o.Initiator == p.Initiator && o.Responder == p.Responder })
	}
	for _, p := range pairs {
		if !named(p) {
			return fmt.Errorf("verify: %s: no conversation ends in %v", s.Table.Name, p)
		}
	}
	return nil
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
	if err := s.check(m); err != nil {
		return Mutated{}, err
	}
	worst, err := Explore(m, s.worst())
	if err != nil {
		return Mutated{}, err
	}
	const times, least = 30, 100_000
	s.MaxStates = min(max(times*worst.States, least), s.worst().withDefaults().MaxStates)
	var (
		result   Mutated
		mutants  = Mutants(s.Table, s.All)
		survives = make([]bool, len(mutants))
		original = behaviour(m)
		work     = make(chan int)
		lock     sync.Mutex
		workers  sync.WaitGroup
	)
	for range goruntime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range work {
				same, noticed := s.try(mutants[i].Table, original)
				lock.Lock()
				if same {
					result.Same++
				} else {
					result.Mutants++
					survives[i] = !noticed
				}
				lock.Unlock()
			}
		})
	}
	for i := range mutants {
		work <- i
	}
	close(work)
	workers.Wait()
	for i, mutant := range mutants {
		if survives[i] {
			result.Survivors = append(result.Survivors, mutant.Change)
		}
	}
	return result, nil
}

// try checks one mutant.
func (s Suite) try(t machine.Table, original map[event]outcome) (same, noticed bool) {
	m, err := t.Compile()
	if err != nil {
		return false, true
	}
	if maps.EqualFunc(behaviour(m), original, outcome.equal) {
		return true, false
	}
	s.Table = t
	return false, s.check(m) != nil
}

// event is the key by which a machine finds a transition.
type event struct {
	role machine.Role
	from machine.State
	on   machine.Symbol
}

// outcome is the effect of a transition: the next state and the effects of the row.
type outcome struct {
	to machine.State
	do []machine.Effect
}

func (o outcome) equal(p outcome) bool { return o.to == p.to && slices.Equal(o.do, p.do) }

// behaviour returns the outcomes of all events of a machine. It leaves out effects that change
// nothing: the Disarm of a timer that the same row arms afterwards, or that ends with the
// conversation.
func behaviour(m *machine.Machine) map[event]outcome {
	all := map[event]outcome{}
	for t := range m.Transitions() {
		do := slices.Clone(t.Do)
		for i := len(do) - 1; i >= 0; i-- {
			again := slices.Contains(do[i:], machine.Arm(do[i].Name))
			if do[i].Kind == machine.EffectDisarm && (again || m.Terminal(t.To)) {
				do = slices.Delete(do, i, i+1)
			}
		}
		all[event{t.Role, t.From, t.On}] = outcome{t.To, do}
	}
	return all
}
