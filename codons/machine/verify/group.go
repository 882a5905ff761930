package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons/machine"
)

// maxMembers is the size of the largest group that is explored.
const maxMembers = 3

// GroupResult is the summary of an exploration of a group.
type GroupResult struct {
	States    int            // states of the group; the order of its members makes no difference
	Decisions map[string]int // for each rule, the number of decisions in all states
	Unused    []string       // rules that were never due, in their order
}

// String returns the numbers in one line.
func (r GroupResult) String() string {
	decisions := 0
	for _, n := range r.Decisions {
		decisions += n
	}
	return fmt.Sprintf("%d group states, %d decisions, %d of %d rules used",
		r.States, decisions, len(r.Decisions), len(r.Decisions)+len(r.Unused))
}

// ExploreGroup walks every state of a group of n members, n from 1 to 3. Each member is
// a pair as in [Explore], over the same network, and each of its events can occur at any
// moment; but the commands of the rules come only from the rules. A rule that is due is
// decided at any later moment or never, in every way that it allows. After a decision,
// the command of each member is pending and arrives at any later moment, in whatever
// state the member is by then. The next decision waits until all have arrived.
// ExploreGroup checks that
//
//   - the pair by itself passes [Explore];
//   - every command that arrives has a row;
//   - a rule that is due allows at least one decision;
//   - no condition of Never holds;
//   - all members can still end, on a calm network without unbidden commands: then the
//     rules and the responders suffice.
//
// The set of members is fixed during a walk; a member that never begins has the same
// effect as a smaller group. Each side also has to end by its own timers, in case a
// stopped agent decides no rule any more: the exploration of the pair checks that.
//
// The walk is exhaustive and exact. Three reductions make it feasible and lose nothing:
// one pair is explored once; its joint states are merged where no group can tell them
// apart (they are branching bisimilar); and members are interchangeable. Commands beyond
// Network.Repeat are not decided, and a group that has reached this bound counts as ended.
//
// A violation is a [*GroupCounterexample], or the [*Counterexample] of the pair. The
// faults of the coordination are those of [CheckCoordination].
func ExploreGroup(c machine.Coordination, n int, net Network) (GroupResult, error) {
	if err := checkMembers(c, n); err != nil {
		return GroupResult{}, err
	}
	p, err := NewGroups(c, net)
	if err != nil {
		return GroupResult{}, err
	}
	return p.Explore(c, n, nil)
}

// Groups are the groups of one coordination over one network: their pair, which was explored once.
type Groups struct{ pairs *pairs }

// NewGroups explores the pair of a coordination. Each of its groups can then be explored, also by
// other rules for the same table, as long as these have no further commands.
func NewGroups(c machine.Coordination, net Network) (*Groups, error) {
	if err := CheckCoordination(c); err != nil {
		return nil, err
	}
	p, err := newPairs(c, net.withDefaults())
	return &Groups{p}, err
}

// GroupState is a state of a group.
type GroupState struct {
	Initiator, Responder []machine.State // of each member
	Deciding             bool            // a command of a decision is on its way
}

// Explore is [ExploreGroup] for a group of n members by the rules of c. It calls check, unless that
// is nil, with each state of the group. A text that check returns is the detail of a violation,
// [Neglected].
func (p *Groups) Explore(c machine.Coordination, n int, check func(GroupState) string) (GroupResult, error) {
	if err := checkMembers(c, n); err != nil {
		return GroupResult{}, err
	}
	if err := CheckCoordination(c); err != nil {
		return GroupResult{}, err
	}
	g := &group{pairs: p.pairs, coordination: c, n: n, check: check, decisions: map[string]int{}, excused: map[int32]bool{}}
	if err := g.walk(); err != nil {
		return g.result(), err
	}
	return g.result(), g.checkEnds()
}

// checkMembers returns an error for a group that is too large, or empty.
func checkMembers(c machine.Coordination, n int) error {
	if n < 1 || n > maxMembers {
		return fmt.Errorf("verify: %s: a group of %d cannot be explored, only 1 to %d", c.Name, n, maxMembers)
	}
	return nil
}

// group is one exploration.
type group struct {
	*pairs
	coordination machine.Coordination
	n            int
	check        func(GroupState) string // see Groups.Explore; nil for none

	visits[members, *machine.Rule]                // the rule of a decision
	edges                          []edge         // without the transitions that an end must not depend on
	excused                        map[int32]bool // nodes that have reached Network.Repeat
	decisions                      map[string]int
}

// member is one member: its class, and the action of its pending command, noAction for
// none.
type member struct {
	class   int32
	pending uint8
}

// members is the members of a group, sorted.
type members [maxMembers]member

func (g *group) result() GroupResult {
	r := GroupResult{States: len(g.nodes), Decisions: g.decisions}
	for _, rule := range g.coordination.Rules {
		if g.decisions[rule.Name] == 0 {
			r.Unused = append(r.Unused, rule.Name)
		}
	}
	return r
}

// GroupCounterexample is a violation by a group, with a shortest path to it.
type GroupCounterexample struct {
	Coordination string
	Members      int
	Problem      Problem
	Detail       string

	// Path has the states of all members after each transition of the group, in no order of the
	// members, such as "proposed/proposed, called/idle": the initiator's state of each first. A
	// decision is that of a rule, "rule award: proposed/proposed ← award, …": each member has its
	// command then.
	Path []string
}

// Error lists the path, a transition a line.
func (c *GroupCounterexample) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "verify: %s with %d members: %s: %s", c.Coordination, c.Members, c.Problem, c.Detail)
	for i, step := range c.Path {
		fmt.Fprintf(&b, "\n%4d  %s", i+1, step)
	}
	return b.String()
}

func (g *group) counterexample(p Problem, at int32, detail string) error {
	c := &GroupCounterexample{Coordination: g.coordination.Name, Members: g.n, Problem: p, Detail: detail}
	for ; g.nodes[at].from >= 0; at = g.nodes[at].from {
		step := g.text(g.nodes[at].at)
		if rule := g.nodes[at].via; rule != nil {
			step = "rule " + rule.Name + ": " + step
		}
		c.Path = append(c.Path, step)
	}
	slices.Reverse(c.Path)
	return c
}

// text returns the states of the members, and the commands that are on their way to them.
func (g *group) text(m members) string {
	words := make([]string, g.n)
	for i, m := range m[:g.n] {
		words[i] = fmt.Sprintf("%s/%s", g.stateOf(m.class, machine.Initiator), g.stateOf(m.class, machine.Responder))
		if m.pending != noAction {
			words[i] += " ← " + g.commands[m.pending-1]
		}
	}
	return strings.Join(words, ", ")
}
